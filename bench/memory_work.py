"""WORK of whole networks before and after; and the least DRAM for feature maps. Rows go into docs/results/memory.md.

``python -m bench.memory_work [--strategy dnnvm] [network ...]``: on ``base``, with the groups of the search: bytes of WORK as
the search leaves it, in the order of least memory, and with outputs over inputs; what is taken (at most 1% slower), its
cycles, and the seconds that order and overlap took, beside those of the search. ``--strategy``: with the groups of one
strategy by its sums, not the best of all as whole programs, which takes minutes for the largest networks.

``python -m bench.memory_work --least [--config nano] [--bands 1 4 16] [network ...]``: the least DRAM for feature maps that is
found (inputs and outputs in it), by rows alone, and in column tiles and so many bands too; what a limit of 192 KiB answers; and
seconds.

``python -m bench.memory_work --within 192 [--config nano] [network ...]``: programs that keep to so many KiB, as
``compile --memory`` makes them, run on the functional simulator: output elements that differ from onnxruntime's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from bench.command import command
from bench.network_table import MEMORY as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.networks import differing, imported, sources
from compiler.driver import compile_graph
from compiler.emit.places import Sharing, places
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.programs.fastest import fastest
from compiler.programs.fitting import fitted
from compiler.programs.frugal import frugal, in_least_order
from compiler.programs.limit import least_memory
from compiler.programs.timing import program_cycles
from compiler.search.cost import Evaluator
from compiler.search.strategies import STRATEGIES
from compiler.tuned import BANDS, MOST_LOSS
from isa.config import preset
from isa.instructions import Region
from tilewright.running import estimated_cycles

LIMIT = 192 << 10
WORK, LEAST, WITHIN = "WORK of whole networks", "Least memory", "Within a limit"


def put(title: str, columns: tuple[str, ...], row: tuple[object, ...], keys: int) -> None:
    print(" | ".join(map(str, row)), flush=True)
    put_row(title, columns, [str(cell) for cell in row], keys, PAGE)


def work_row(name: str, strategy: str | None) -> None:
    config = preset("base")
    begun = time.perf_counter()
    model, known = fitted(imported(sources()[name]()), config, CYCLES)
    graph = model.graph
    evaluator = Evaluator(config, graph, None, known)
    if strategy is None:
        given = fastest(evaluator)
    else:
        given = plans_of(config, graph, STRATEGIES[strategy](graph, evaluator, CYCLES).groups)
    searched = time.perf_counter()
    chosen = frugal(config, graph, given, CYCLES)
    ended = time.perf_counter()
    moved = in_least_order(config, graph, given)
    ways = [(given, Sharing()), (moved, Sharing()), (moved, Sharing(overlap=True)), (chosen.steps, chosen.sharing)]
    work = [places(graph, steps, sharing)[1][Region.WORK] for steps, sharing in ways]
    before, after = (program_cycles(config, graph, steps, sharing) for steps, sharing in (ways[0], ways[-1]))
    columns = ("network", "groups", "chosen by", "as the search leaves it", "in the least order", "with overlap", "taken",
        "cycles", "loss", "search s", "order and overlap s")  # fmt: skip
    groups = sum(isinstance(step, Plan) for step in given)
    times = f"{searched - begun:.1f}", f"{ended - searched:.1f}"
    put(WORK, columns, (name, groups, strategy or "programs", *work, after, f"{after / before - 1:+.2%}", *times), 1)


def work_text() -> None:
    rows = rows_of(WORK, PAGE)
    some = [row for row in rows if int(row["as the search leaves it"])]
    less = [1 - int(row["taken"]) / int(row["as the search leaves it"]) for row in some]
    loss = max(float(row["loss"].rstrip("%")) for row in rows)
    slowest = max(rows, key=lambda row: float(row["order and overlap s"]))
    texts = [
        f"{len(rows) - len(some)} of {len(rows)} networks need no WORK.",
        f"Of the others {sum(part > 0 for part in less)} need less than before, {sum(less) / len(less):.1%} on average,",
        f"up to {max(less):.1%}; the greatest loss of cycles is {loss:.2f}% (allowed: {MOST_LOSS:.0%}).",
        f"Order and overlap take {slowest['order and overlap s']} s at most ({slowest['network']}).",
    ]
    put_text(WORK, " ".join(texts), PAGE)


def least_row(name: str, config_name: str, bands: Sequence[int]) -> None:
    config = preset(config_name)
    begun = time.perf_counter()
    model, known = fitted(imported(sources()[name]()), config, CYCLES)
    evaluator = Evaluator(config, model.graph, None, known)
    by_rows = least_memory(evaluator, CYCLES, (0,))
    least = min(by_rows, least_memory(evaluator, CYCLES, [count for count in bands if count]), key=lambda each: each.bytes)
    cycles = program_cycles(config, model.graph, least.steps, least.sharing)
    groups = sum(isinstance(step, Plan) for step in least.steps)
    in_bands = max(step.bands for step in least.steps if isinstance(step, Plan))
    fits = "yes" if least.bytes <= LIMIT else f"no, {least.bytes - LIMIT} bytes more"
    columns = ("network", "configuration", "least by rows", "least", "bands", "groups", "cycles", "within 192 KiB", "s")
    seconds = f"{time.perf_counter() - begun:.0f}"
    put(LEAST, columns, (name, config.name, by_rows.bytes, least.bytes, in_bands, groups, cycles, fits, seconds), 2)


def within_row(name: str, config_name: str, kib: int) -> None:
    begun = time.perf_counter()
    compiled = compile_graph(imported(sources()[name]()), preset(config_name), memory=kib << 10)
    seconds = time.perf_counter() - begun
    program = compiled.program
    taken = sum(program.region_bytes(region) for region in (Region.WORK, Region.INPUT, Region.OUTPUT))
    differ, elements, _ = differing(program)
    columns = ("network", "configuration", "KiB", "bytes of feature maps", "cycles", "elements that differ", "of", "compile s")
    put(WITHIN, columns, (name, config_name, kib, taken, estimated_cycles(program), differ, elements, f"{seconds:.0f}"), 3)


def main() -> None:
    parser = command("memory_work", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--least", action="store_true")
    parser.add_argument("--within", type=int, metavar="KIB")
    parser.add_argument("--bands", nargs="+", type=int, default=BANDS)
    parser.add_argument("--strategy", choices=[*STRATEGIES])
    parser.add_argument("--config", default="nano")
    asked = parser.parse_args()
    for name in asked.networks or (("resnet8_int8_qdq", "mobilenet_v2") if asked.least or asked.within else sources()):
        if asked.within:
            within_row(name, asked.config, asked.within)
        elif asked.least:
            least_row(name, asked.config, asked.bands)
        else:
            work_row(name, asked.strategy)
            work_text()


if __name__ == "__main__":
    main()
