"""Error of the planner's estimate against the cycle model: the table *Planner* in docs/results/cycle-model.md.

``python -m bench.plan_error [--config base zu2 zu9] [--groups 60] [network ...]``

Groups of different shapes, as the search grows them, are planned, walked, emitted alone and run on the cycle model.
"""

from __future__ import annotations

import random

import numpy as np

from bench.command import command
from bench.figures import number, paragraph
from bench.network_table import MODEL as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.strategies import imported
from compiler.fusion.grow import grow
from compiler.planning.plan import Plan
from compiler.planning.walk import Way, walk
from compiler.programs.timing import program_cycles
from compiler.search.cost import OBJECTIVES, Evaluator
from compiler.search.pricing import most_of_a_size, saving_over_alone
from compiler.tuned import MOST_OPS
from compiler.xgraph.graph import XGraph
from isa.config import PRESETS, MachineConfig, preset

FEW = ("squeezenet", "mobilenet_v2", "googlenet", "resnet50_v1")
TITLE = "Planner"
COLUMNS = ("configuration", "network", "median error", "90 % within", "greatest", "mean")


def plans(config: MachineConfig, graph: XGraph, count: int) -> list[Plan]:
    """The plans of groups of different shapes, some of each size."""
    evaluator = Evaluator(config, graph)
    sets = evaluator.sets
    worth = saving_over_alone(evaluator, OBJECTIVES["cycles"])
    shapes = {evaluator.shapes.key(mask): mask for mask in grow(sets, sets.joins, MOST_OPS, most_of_a_size(sets), worth).groups}
    chosen = random.Random(0).sample(sorted(shapes.values()), min(count, len(shapes)))
    found = (evaluator.plan(mask, OBJECTIVES["cycles"]) for mask in chosen)
    return [plan for plan in found if plan is not None]


def error(config: MachineConfig, graph: XGraph, plan: Plan) -> float:
    walks = (walk(config, p.group, Way(p.ranges, p.skew, p.placed), p.residence, p.loads) for p in plan.passes)
    walked = sum(each.cycles for each in walks if each)
    return walked / program_cycles(config, graph, [plan]) - 1


def measure(config: MachineConfig, name: str, groups: int) -> list[str]:
    """A row of the table."""
    graph = imported(name)
    errors = 100 * np.array([error(config, graph, plan) for plan in plans(config, graph, groups)])
    size = np.abs(errors)
    return [
        config.name, name, f"{np.median(size):.2f} %", f"{np.percentile(size, 90):.1f} %", f"{size.max():.1f} %",
        f"{errors.mean():+.2f} %",
    ]  # fmt: skip


def told() -> str:
    """The sentences about the table."""
    rows = rows_of(TITLE, PAGE)
    medians = [number(row["median error"]) for row in rows]
    worst = max(rows, key=lambda row: number(row["greatest"]))
    return paragraph(
        f"In the median of its groups the estimate is off by {min(medians):.2f} % to {max(medians):.2f} %",
        f"in {len(rows)} rows; the farthest off is a group of {worst['network']} on `{worst['configuration']}`,",
        f"by {worst['greatest']}.",
    )


def main() -> None:
    parser = command("plan_error", __doc__)
    parser.add_argument("networks", nargs="*", default=FEW)
    parser.add_argument("--config", nargs="+", choices=[*PRESETS], default=["base", "zu2", "zu9"])
    parser.add_argument("--groups", type=int, default=60)
    arguments = parser.parse_intermixed_args()
    print(" | ".join(COLUMNS))
    for config in map(preset, arguments.config):
        for name in arguments.networks:
            row = measure(config, name, arguments.groups)
            print(" | ".join(row), flush=True)
            put_row(TITLE, COLUMNS, row, 2, PAGE)
            put_text(TITLE, told(), PAGE)


if __name__ == "__main__":
    main()
