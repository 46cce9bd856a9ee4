"""What no program can undercut, beside what ``best`` finds: the table *Bounds of programs* in docs/results/cycles.md.

    python -m bench.least_cycles [network ...] [--config base zu2 zu9]

Power-of-two scales. *Above*: cycles of the program, by the cycle model, above the bound of ``compiler/search/least_cycles.py``,
which holds for every program of the network on this machine.
"""

from __future__ import annotations

from statistics import median

from bench.command import command
from bench.figures import paragraph
from bench.network_table import CYCLES as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.networks import imported, known, sources, utilisation
from compiler.driver import compile_graph
from compiler.search.cost import Evaluator
from compiler.search.least_cycles import least_cycles
from compiler.zoo.exports import exports
from isa.config import PRESETS, MachineConfig, preset
from isa.instructions import Unit
from tilewright.running import estimated_cycles

FEW = (
    "squeezenet", "mobilenet_v2", "googlenet", "resnet50_v1", "vgg16_convolutions", "efficientnet_lite0", "mobilenet_v3_large",
)  # fmt: skip
TITLE = "Bounds of programs"
COLUMNS = (
    "configuration", "network", "CONV beats", "POOL beats", "MISC beats", "DRAM beats", "with parameters", "cycles at least",
    "utilisation at most", "cycles", "utilisation", "above", "because",
)  # fmt: skip


def row_of(name: str, config: MachineConfig) -> list[str]:
    model = imported({**exports(), **sources()}[name]())
    compiled = compile_graph(model, config, strategy="best")
    cycles = estimated_cycles(compiled.program)
    least = least_cycles(Evaluator(config, compiled.imported.graph))
    beats = [str(least.beats.get(unit, 0)) for unit in (Unit.CONV, Unit.POOL, Unit.MISC)]
    return [
        config.name, name, *beats, str(least.bus), str(least.parameters), str(least.cycles),
        f"{utilisation(compiled, least.cycles):.3f}", str(cycles), f"{utilisation(compiled, cycles):.3f}",
        f"{cycles / least.cycles - 1:.1%}", least.reason,
    ]  # fmt: skip


def text() -> str:
    """The sentences about the table."""
    above: dict[str, list[float]] = {}
    for row in rows_of(TITLE, PAGE):
        above.setdefault(row["configuration"], []).append(int(row["cycles"]) / int(row["cycles at least"]) - 1)
    told = [f"{median(found):.1%} on `{config}` ({min(found):.1%} to {max(found):.1%})" for config, found in above.items()]
    what = "In the median a program takes at most so much more than the fastest that there can be:"
    return paragraph(what, f"{', '.join(told)}.")


def main(arguments: list[str] | None = None) -> None:
    parser = command("least_cycles", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--config", nargs="+", choices=list(PRESETS), default=["base", "zu2", "zu9"])
    given = parser.parse_args(arguments)
    every = {**exports(), **sources()}
    names = known(given.networks, every, parser) or [name for name in FEW if name in every]
    print(" | ".join(COLUMNS))
    for config in given.config:
        for name in names:
            row = row_of(name, preset(config))
            print(" | ".join(row), flush=True)
            put_row(TITLE, COLUMNS, row, 2, PAGE)
    put_text(TITLE, text(), PAGE)


if __name__ == "__main__":
    main()
