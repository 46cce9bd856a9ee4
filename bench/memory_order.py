"""Orders of least memory, as in tables II to VI of memory-aware scheduling; rows go into docs/results/memory.md.

``python -m bench.memory_order [--programme | --parts | --arenas FILE ...] [network ...]``

Without an option, for each network twice: the float32 model, each node's result a tensor of its own (activations and sums in
the place of an operand that nobody else reads), the input in use until its last reader; and the int8 program on ``base``,
one operation to a group, where what counts is WORK as the program really stores it (concat's parts lie in their target, inputs
and outputs in regions of their own). ``--programme``: HiGHS' integer programme on the float32 graph, fused and not, with and
without pruning, ten seconds each at most. ``--parts``: the loss of ordering the float32 graph in parts. ``--arenas``: instances
of allocation, one block a line.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.command import command
from bench.memory_tasks import even_cuts, float_tasks, greedy, machine_tasks
from bench.network_table import MEMORY as PAGE
from bench.network_table import put_row, put_text, rows_of
from compiler.memory.arena import arrange
from compiler.memory.blocks import Block
from compiler.memory.exact_order import least_order
from compiler.memory.fuse import fuse
from compiler.memory.least_order import memory_order
from compiler.memory.stretches import cheap_cuts, ordered_parts
from compiler.memory.tasks import Tasks, members
from compiler.papers.memory_scheduling.pieces import reverse_post_order
from compiler.papers.memory_scheduling.programme import solve
from compiler.zoo.networks import networks

NETWORKS = (
    "nasnet_a", "amoebanet_a", "darts", "randwire0", "randwire1", "randwire2", "hrnet_w18_small", "hrnet_w18_small_v2",
    "hrnet_w32", "inception_resnet_v2", "nasnet_a_cifar", "amoebanet_a_cifar", "darts_cifar", "nasnet_a_large",
)  # fmt: skip
SECONDS = 10.0
"""The seconds for one integer programme. One of more than ``MOST_TASKS`` tasks is left out: it would not be built in that
time."""
MOST_TASKS = 120
PARTS = (2, 4, 6)
PART_STATES = 100_000


def exactly(piece: Tasks) -> Sequence[int]:
    return least_order(piece, PART_STATES, range(len(piece))).tasks


def arena_bytes(tasks: Tasks, order: Sequence[int]) -> int:
    place = {task: time for time, task in enumerate(order)}
    blocks = []
    for use in tasks.uses:
        times = [place[task] for task in members(use.tasks)]
        begin, end = 0 if use.given else min(times), len(tasks) if use.outlives else max(times) + 1
        blocks.append(Block(begin, end, use.size))
    return arrange(blocks).total


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    since = time.process_time()
    return call(), time.process_time() - since


def put(title: str, columns: Sequence[str], row: Sequence[object], keys: int) -> None:
    print(" | ".join(map(str, row)), flush=True)
    put_row(title, columns, [str(cell) for cell in row], keys, PAGE)


def order_row(name: str, kind: str, tasks: Tasks) -> None:
    given = range(len(tasks))
    order, seconds = timed(lambda: memory_order(tasks, given))
    plain, plain_seconds = timed(lambda: least_order(tasks))
    arena, arena_seconds = timed(lambda: arena_bytes(tasks, order.tasks))
    columns = ("network", "bytes", "tasks", "fused", "as given", "reverse post-order", "greedy", "ours", "bound", "s",
        "without fusion", "bound without fusion", "s without fusion", "arena", "s for the arena")  # fmt: skip
    row = [
        name, kind, len(tasks), len(fuse(tasks).tasks), tasks.peak(given), tasks.peak(reverse_post_order(tasks)),
        tasks.peak(greedy(tasks)), order.peak, order.bound, f"{seconds:.2f}", plain.peak, plain.bound, f"{plain_seconds:.2f}",
        arena, f"{arena_seconds:.2f}",
    ]  # fmt: skip
    put("Peaks of orders", columns, row, 2)


def order_text() -> None:
    rows = rows_of("Peaks of orders", PAGE)
    proved = sum(row["ours"] == row["bound"] for row in rows)
    below = sum(row["arena"] == row["ours"] for row in rows)
    slowest = max(rows, key=lambda row: float(row["s"]))
    texts = [
        f"Of {len(rows)} peaks {proved} are proved to be the least; the arena is as large as the peak in {below}.",
        f"The slowest is {slowest['network']} ({slowest['bytes']}) with {slowest['s']} s.",
    ]
    for kind in ("float32", "int8"):
        for rival in ("as given", "reverse post-order", "greedy"):
            less = [1 - int(row["ours"]) / int(row[rival]) for row in rows if row["bytes"] == kind]
            mean = sum(less) / len(less)
            texts.append(f"Of {kind} ours needs {mean:.1%} less than {rival} on average, at most {max(less):.1%}.")
    put_text("Peaks of orders", " ".join(texts), PAGE)


def programme_rows(name: str, whole: Tasks) -> None:
    columns = ("network", "graph", "tasks", "pruned", "variables", "peak", "bound", "s", "ours")
    ours = memory_order(whole, range(len(whole))).peak
    for graph, tasks in (("fused", fuse(whole).tasks), ("as it is", whole)):
        if len(tasks) > MOST_TASKS:
            print(f"{name} {graph}: {len(tasks)} tasks", flush=True)
            continue
        known = reverse_post_order(tasks)
        for pruned in (True, False):
            key = name, graph, len(tasks), "yes" if pruned else "no"
            since = time.perf_counter()
            found = solve(tasks, known, pruned=pruned, seconds=SECONDS)
            seconds = f"{time.perf_counter() - since:.1f}"
            put("Integer programme", columns, (*key, found.variables, found.order.peak, found.order.bound, seconds, ours), 4)


def part_rows(name: str, whole: Tasks) -> None:
    columns = ("network", "parts", "cut evenly", "s", "cut where least is in use", "s of these", "the least")
    tasks = fuse(whole).tasks
    known = reverse_post_order(tasks)
    least = memory_order(tasks, known).peak
    for parts in PARTS:
        cells: list[object] = [name, parts]
        for cuts in (even_cuts(tasks, parts), cheap_cuts(tasks, known, -(-len(tasks) // parts))):
            order, seconds = timed(partial(ordered_parts, tasks, known, cuts, exactly))
            cells += [tasks.peak(order), f"{seconds:.2f}"]
        put("Orders in parts", columns, (*cells, least), 2)


def part_text() -> None:
    rows = rows_of("Orders in parts", PAGE)
    texts = []
    for column in ("cut evenly", "cut where least is in use"):
        losses = [int(row[column]) / int(row["the least"]) - 1 for row in rows]
        lossless = losses.count(0.0)
        texts.append(f"{column.capitalize()}: {lossless} of {len(rows)} lose nothing, the others up to {max(losses):.1%}.")
    put_text("Orders in parts", " ".join(texts), PAGE)


def arena_row(path: Path) -> None:
    with path.open() as file:
        blocks = [Block(int(row["lower"]), int(row["upper"]), int(row["size"])) for row in csv.DictReader(file)]
    arena, seconds = timed(lambda: arrange(blocks))
    put("Arenas", ("instance", "blocks", "largest live set", "arena", "s"),
        (path.stem.split(".")[0], len(blocks), arena.bound, arena.total, f"{seconds:.2f}"), 1)  # fmt: skip


def main() -> None:
    parser = command("memory_order", __doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--programme", action="store_true")
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--arenas", nargs="+", type=Path, default=())
    asked = parser.parse_args()
    for path in asked.arenas:
        arena_row(path)
    for name in () if asked.arenas else asked.networks:
        model = networks()[name]()
        if asked.programme:
            programme_rows(name, float_tasks(model))
        elif asked.parts:
            part_rows(name, float_tasks(model))
        else:
            order_row(name, "float32", float_tasks(model))
            order_row(name, "int8", machine_tasks(model))
    if asked.parts:
        part_text()
    elif not asked.programme and not asked.arenas:
        order_text()


if __name__ == "__main__":
    main()
