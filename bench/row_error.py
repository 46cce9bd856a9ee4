"""Error of what is told of whole programs before they are timed: the table *Rows of groups* in docs/performance.md.

    python -m bench.row_error [--config base zu2 zu9 nano] [network ...]

Of the partition that the search chose, before other schemes of its groups are tried, the program is run on the cycle model.
Beside its cycles stand the sum of its groups' costs, what the walk tells of its groups behind each other, and what the choice
was told when stretches had been timed. Then the same of all partitions that the choice began with, but for what is timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from unittest import mock

import compiler.programs.fastest
from bench.command import command
from bench.figures import listed, number
from bench.network_table import PERFORMANCE as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.strategies import LISTED, imported
from compiler.programs.fastest import Tried, contenders, fastest, of_strategies, sum_behind
from compiler.fusion.legal import Mask
from compiler.neighbours import Neighbours
from compiler.planning.plan import Plan
from compiler.search.cost import Evaluator
from compiler.programs.splice import Path as Groups
from compiler.programs.timing import program_cycles
from compiler.xgraph.ops import Cpu
from isa.config import PRESETS, MachineConfig, preset

FEW = ("squeezenet", "mobilenet_v2", "googlenet")
"""On ``nano``, where programs of the others are too long to be timed."""
TITLE = "Rows of groups"
KINDS = {
    "sum of costs": "by the sum of its groups' costs",
    "walked": "as told by walking neighbours",
    "after timing": "as told after timing",
}
"""Ways to tell what the chosen partition's program takes, as columns and in words."""
COLUMNS = (
    "configuration", "network", "cycles", *(f"chosen: {kind} off by" for kind in KINDS), "partitions",
    "their sums off by", "their walks off by",
)  # fmt: skip
ASKED = 3.0
"""Percent."""
NOT_TIMED = "not timed"


def watched(evaluator: Evaluator) -> tuple[list[Plan | Cpu], list[Tried]]:
    """What the search chooses, and what it was told meanwhile; nothing of a program that is too long to be timed."""
    made: list[Tried] = []

    class Watched(Tried):
        def __init__(self, evaluator: Evaluator, neighbours: Neighbours) -> None:
            super().__init__(evaluator, neighbours)
            made.append(self)

    with mock.patch.object(compiler.programs.fastest, "Tried", Watched):
        return fastest(evaluator), made


def path_of(neighbours: Neighbours, steps: Sequence[Plan | Cpu]) -> Groups:
    """The groups of a program."""
    made = [{layer.output for layer in step.group.layers} for step in steps if isinstance(step, Plan)]
    return neighbours.path([[op for op in neighbours.evaluator.sets.ops if op.output in outputs] for outputs in made])


def measure(config: MachineConfig, name: str) -> list[str]:
    """A row of the table; of many partitions the least and the greatest error."""
    evaluator = Evaluator(config, imported(name))
    sets = evaluator.sets
    chosen, tried = watched(evaluator)
    neighbours = Neighbours(evaluator)

    def walked(first: Mask, second: Mask) -> int:
        """The machine rests before and during a CPU part."""
        group = second & sets.everything
        return neighbours.walked(first & sets.everything, group) if group else 0

    def errors(path: Groups) -> tuple[int, list[float]]:
        """The program's cycles, and how far from them are the sum of costs and the walk."""
        steps = neighbours.steps(path)
        cycles = program_cycles(config, evaluator.graph, steps)
        told = sum(step.cost.cycles for step in steps if isinstance(step, Plan)), sum_behind(path, walked)
        return cycles, [each / cycles - 1 for each in told]

    path = path_of(neighbours, chosen)
    cycles, own = errors(path)
    cells = [f"{error:+.2%}" for error in own]
    cells.append(f"{tried[0].told[path] / cycles - 1:+.2%}" if tried else NOT_TIMED)
    # An evaluator that knows no merged groups yet, as when the choice begins.
    fresh = Evaluator(config, evaluator.graph)
    near = contenders(fresh, neighbours, of_strategies(fresh)) if tried else []
    found = [errors(each)[1] for each in near]
    ranges = [f"{min(each):+.1%} to {max(each):+.1%}" for each in zip(*found, strict=True)] or [NOT_TIMED] * 2
    return [config.name, name, f"{cycles:,}", *cells, str(len(near)), *ranges]


def told() -> str:
    """What the table says, one way to tell at a time."""
    rows = rows_of(TITLE, PAGE)
    lines = [f"How far what is told of the chosen partition is from its program's cycles; asked are {ASKED:.0f} %:", ""]
    for kind, how in KINDS.items():
        off = {_name(row): abs(number(row[_column(kind)])) for row in rows if row[_column(kind)] != NOT_TIMED}
        worst = max(off, key=lambda name: off[name])
        above = sorted((name for name in off if off[name] > ASKED), key=lambda name: -off[name])
        lines.append(
            f"- {how}: {off[worst]:.2f} % at worst ({worst}), {median(off.values()):.2f} % in the median of {len(off)} rows; "
            f"above what is asked: {listed(above)}."
        )
    return "\n".join(lines)


def _name(row: dict[str, str]) -> str:
    return f"{row['network']} on `{row['configuration']}`"


def _column(kind: str) -> str:
    return f"chosen: {kind} off by"


def main() -> None:
    parser = command("row_error", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--config", nargs="+", choices=[*PRESETS], default=["base", "zu2", "zu9", "nano"])
    arguments = parser.parse_intermixed_args()
    print(" | ".join(COLUMNS))
    for config in arguments.config:
        for name in arguments.networks or (FEW if config == "nano" else LISTED["cycles"]):
            row = measure(preset(config), name)
            print(" | ".join(row), flush=True)
            put_row(TITLE, COLUMNS, row, 2, PAGE)
            put_text(TITLE, told(), PAGE)


if __name__ == "__main__":
    main()
