"""Seconds of what is written in C++ and in Python: the table *Libraries in C++* in docs/results/compilation.md.

    python -m bench.native_speed [--config base] [--repeat 3] NETWORK ...

The program is that of one operation per group. What both find must be equal. The best of ``--repeat`` runs; the first of all,
in which the masks of banks are made, which is Python for both, does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import TypeVar

from bench.command import command
from bench.network_table import COMPILATION as PAGE
from bench.network_table import put_row
from bench.strategies import imported
from compiler.driver import steps_of
from compiler.emit.program import machine_segments, pending_segments
from compiler.instructions import scheduled as plain
from compiler.instructions.native import engine as scheduler
from compiler.programs.natives import LIBRARIES
from isa.config import preset
from isa.errors import TilewrightError
from sim.cycle.control import executed
from sim.cycle.native.engine import native_execution
from sim.cycle.program import from_ops

TITLE = "Libraries in C++"
COLUMNS = (
    "configuration", "network", "instructions", "cycle model: Python s", "cycle model: C++ s", "cycle model: times",
    "scheduling: Python s", "scheduling: C++ s", "scheduling: times",
)  # fmt: skip
Found = TypeVar("Found")


def both(what: str, python: Callable[[], Found], native: Callable[[], Found], repeat: int) -> list[str]:
    """The seconds of Python and of C++, and their ratio."""
    if python() != native():
        raise TilewrightError(f"{what}: Python and C++ differ; this is an error of the library")
    seconds = [min(_seconds(way) for _ in range(repeat)) for way in (python, native)]
    return [f"{seconds[0]:.3f}", f"{seconds[1]:.3f}", f"{seconds[0] / seconds[1]:.0f}"]


def _seconds(way: Callable[[], object]) -> float:
    before = process_time()
    way()
    return process_time() - before


def measure(network: str, configuration: str, repeat: int) -> list[str]:
    """A row of the table."""
    config, graph = preset(configuration), imported(network)
    steps = steps_of(config, graph, "naive", "cycles")
    segments, pending = machine_segments(config, graph, steps), pending_segments(config, graph, steps)
    execution = native_execution(config)
    library = scheduler.LIBRARY.loaded()
    if execution is None or library is None:
        raise TilewrightError("libraries: they are not built; run `python -m compiler.programs.natives`")
    programs = [from_ops(config, [op for op, _ in segment]) for segment in segments]
    cycles = both(
        "cycle model", lambda: [executed(config, one) for one in programs], lambda: [execution(one) for one in programs], repeat
    )
    order = both(
        "scheduling", lambda: [plain.scheduled(one.program, one.spaces) for one in pending],
        lambda: [scheduler.found_by(library, one.program, one.spaces) for one in pending], repeat,
    )  # fmt: skip
    return [configuration, network, f"{sum(map(len, segments)):,}", *cycles, *order]


def main() -> None:
    parser = command("native_speed", __doc__)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--config", default="base")
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    for library in LIBRARIES:
        library.built()
    print(" | ".join(COLUMNS))
    for network in arguments.networks:
        row = measure(network, arguments.config, arguments.repeat)
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 2, PAGE)


if __name__ == "__main__":
    main()
