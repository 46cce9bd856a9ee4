"""Memory-aware scheduling: peaks and seconds of orders, what fusion and pruning save, and what partitions lose."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from bench.memory_order import exactly
from bench.memory_tasks import even_cuts, float_tasks
from bench.papers.table import NOT_IN, Table
from compiler.memory.fuse import fuse
from compiler.memory.least_order import ordering_of
from compiler.memory.stretches import ordered_parts
from compiler.memory.tasks import Tasks
from compiler.papers.memory_scheduling import programme
from compiler.papers.memory_scheduling.pieces import in_pieces, reverse_post_order
from compiler.zoo.networks import networks as zoo

NETWORKS = ("darts", "nasnet_a", "hrnet_w18_small")
SECONDS = 10.0
MOST_TASKS = 120
"""The most tasks of a programme that is built at all."""
PIECES = (1, 2, 4, 6)
TABLE_2 = {
    "nasnet_a": (4405, 3943, 3943), "amoebanet_a": (10510, 7732, 7732), "darts": (1764, 1764, 1764),
    "randwire0": (5494, 4538, 4538), "randwire1": (6927, 6210, 6210), "randwire2": (5255, 4777, 4777),
    "hrnet_w18_small": (7936, 7936, 6368), "hrnet_w18_small_v2": (7936, 7752, 6432), "hrnet_w32": (7936, 7808, 7296),
}  # fmt: skip
"""The KB of reverse post-order, of HMCOS, and of the paper."""
TABLE_3 = {
    "nasnet_a": "4.62", "amoebanet_a": "0.11", "darts": "0.09", "randwire0": "23", "randwire1": "17.09", "randwire2": "1.22",
    "hrnet_w18_small": "0.96", "hrnet_w18_small_v2": "5.01", "hrnet_w32": "3.20",
}  # fmt: skip
TABLE_5 = {"nasnet_a": "4013, 3943", "amoebanet_a": "7962, 7732", "darts": "1764, 1764", "hrnet_w18_small": "7168, 6368"}
ORDERS = ("pieces", "least")
Rows = Iterator[tuple[str, ...]]


def tables(networks: Sequence[str]) -> Iterator[Table]:
    tasks = {name: float_tasks(zoo()[name]()) for name in networks}
    drawn = "Networks are drawn anew from the papers that define them, so bytes differ; float32, KB."
    yield Table(
        "Tables II and III: peaks, and seconds",
        ("network", "reverse post-order", *(f"--order {name}" for name in ORDERS), *(f"s, {name}" for name in ORDERS),
            "paper: reverse post-order, HMCOS, theirs", "paper's s"),
        _peaks(tasks), drawn,
    )  # fmt: skip
    yield Table(
        "Table IV: variables and seconds of the integer programme",
        ("network", "tasks", "fused", "variables", "pruned", "fused", "both", "s, both"), _programmes(tasks),
        "The paper, all together: NASNet 590 variables and 1.47 s, Randwire 1809 and 1.75, HRNet 277 and 0.96.",
    )
    yield Table(
        "Table V: peaks of partitions", ("network", "least", "cut evenly", "cut by bytes", "paper: evenly, by bytes"),
        _partitions(tasks), drawn,
    )  # fmt: skip
    yield Table(
        "Table VI: peaks by how many tasks a piece has", ("network", *(f"1/{count}" for count in PIECES)), _sizes(tasks),
        "The paper: HRNet loses nothing up to five parts and 0.5% with six; NASNet never. Each piece by exact search here.",
    )


def _kb(count: int) -> str:
    return f"{count / 1024:.0f}"


def _timed(call: Callable[[], Sequence[int]]) -> tuple[Sequence[int], str]:
    since = time.process_time()
    found = call()
    return found, f"{time.process_time() - since:.2f}"


def _peaks(all_tasks: dict[str, Tasks]) -> Rows:
    for name, tasks in all_tasks.items():
        first = reverse_post_order(tasks)
        peaks, seconds = [], []
        for order in ORDERS:
            found, taken = _timed(partial(ordering_of(order), tasks, first))
            peaks.append(_kb(tasks.peak(found)))
            seconds.append(taken)
        paper = ", ".join(map(str, TABLE_2[name])) if name in TABLE_2 else NOT_IN
        yield name, _kb(tasks.peak(first)), *peaks, *seconds, paper, TABLE_3.get(name, NOT_IN)


def _programmes(all_tasks: dict[str, Tasks]) -> Rows:
    for name, tasks in all_tasks.items():
        fused = fuse(tasks).tasks
        cells = []
        for graph, pruned in ((tasks, False), (tasks, True), (fused, False)):
            small = len(graph) <= MOST_TASKS
            cells.append(str(programme.variables(graph, pruned)) if small else f"more than {MOST_TASKS} tasks")
        since = time.perf_counter()
        both = programme.solve(fused, reverse_post_order(fused), seconds=SECONDS) if len(fused) <= MOST_TASKS else None
        taken = f"{time.perf_counter() - since:.1f}"
        yield name, str(len(tasks)), str(len(fused)), *cells, str(both.variables) if both else NOT_IN, taken if both else NOT_IN


def _partitions(all_tasks: dict[str, Tasks]) -> Rows:
    for name, tasks in all_tasks.items():
        fused = fuse(tasks).tasks
        first = reverse_post_order(fused)
        even = ordered_parts(fused, first, even_cuts(fused, 4), exactly)
        by_bytes = in_pieces(fused, -(-len(fused) // 4), exactly)
        least = ordering_of("least")(fused, first)
        yield name, *(_kb(fused.peak(order)) for order in (least, even, by_bytes)), TABLE_5.get(name, NOT_IN)


def _sizes(all_tasks: dict[str, Tasks]) -> Rows:
    for name, tasks in all_tasks.items():
        fused = fuse(tasks).tasks
        most = [-(-len(fused) // count) for count in PIECES]
        yield name, *(_kb(fused.peak(in_pieces(fused, size, exactly))) for size in most)
