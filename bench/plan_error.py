"""Error of the planner's estimate against the cycle model.

``python -m bench.plan_error [--config base] [--groups 100] [network ...]``

Groups of different shapes, as the search grows them, are planned, walked, emitted alone and run on the cycle model.
"""

from __future__ import annotations

import argparse
import random

import numpy as np

from bench.strategies import imported
from compiler.fusion.grow import grow
from compiler.planning.plan import Plan
from compiler.planning.walk import Way, walk
from compiler.search.cost import OBJECTIVES, Evaluator
from compiler.search.optimus import MOST_OPS, most_of_a_size, saving_over_alone
from compiler.timing import program_cycles
from compiler.xgraph.graph import XGraph
from isa.config import MachineConfig, preset

FEW = ("squeezenet", "mobilenet_v2", "googlenet", "resnet50_v1")


def plans(config: MachineConfig, graph: XGraph, count: int) -> list[Plan]:
    """Of groups of different shapes, some of each size."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=FEW)
    parser.add_argument("--config", default="base")
    parser.add_argument("--groups", type=int, default=100)
    arguments = parser.parse_intermixed_args()
    config = preset(arguments.config)
    print("configuration, network: groups, median |error| %, 90 % within, greatest, mean error %")
    for name in arguments.networks:
        graph = imported(name)
        errors = 100 * np.array([error(config, graph, plan) for plan in plans(config, graph, arguments.groups)])
        size = np.abs(errors)
        print(
            f"{config.name}, {name}: {len(errors)}, {np.median(size):.2f}, {np.percentile(size, 90):.1f}, {size.max():.1f}, "
            f"{errors.mean():+.2f}", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
