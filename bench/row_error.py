"""Error of what is told of whole programs before they are timed: the table *Rows of groups* in docs/performance.md.

``python -m bench.row_error [--config base] [network ...]``

The programs of all strategies that the last choice chooses from are emitted and run on the cycle model, beside the sum of their
groups' costs and beside their groups walked in a row. Then the mixture of them that promises most, beside what they told of it.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

from bench.network_table import put_row
from bench.strategies import imported
from compiler.emit.places import APART
from compiler.fastest import contenders, of_strategies
from compiler.memory.storage import kin_of
from compiler.neighbours import Neighbours
from compiler.planning.behind import Row
from compiler.planning.plan import Plan
from compiler.search.cost import Evaluator
from compiler.search.splice import Path as Groups
from compiler.search.splice import splice
from compiler.stretches import stretches
from compiler.timing import program_ends
from compiler.xgraph.graph import XGraph
from isa.config import MachineConfig, preset

FEW = ("squeezenet", "mobilenet_v2", "googlenet", "resnet50_v1")
PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
TITLE = "Rows of groups"
COLUMNS = ("configuration", "network", "programs", "sums off by", "walked rows off by", "best mixture, as told, off by")


def measure(config: MachineConfig, name: str) -> list[str]:
    """A row of the table; of many programs the least and the greatest error."""
    graph = imported(name)
    evaluator = Evaluator(config, graph)
    neighbours = Neighbours(evaluator)
    near = contenders(evaluator, neighbours, of_strategies(evaluator))
    sums, walks = [], []
    for path in near:
        steps = neighbours.steps(path)
        plans = [step for step in steps if isinstance(step, Plan)]
        cycles = timed(config, graph, neighbours, path)
        row = Row(config, kin_of(graph))
        for plan in plans:
            row.add(plan)
        sums.append(sum(plan.cost.cycles for plan in plans) / cycles - 1)
        walks.append(row.end / cycles - 1)
    mixture = splice(near, neighbours.hoped)
    told = sum(neighbours.hoped(*pair) for pair in pairwise((0, *mixture)))
    off = told / timed(config, graph, neighbours, mixture) - 1
    cells = [f"{min(errors):+.1%} to {max(errors):+.1%}" for errors in (sums, walks)]
    return [config.name, name, str(len(near)), *cells, f"{off:+.2%}"]


def timed(config: MachineConfig, graph: XGraph, neighbours: Neighbours, path: Groups) -> int:
    whole = program_ends(config, graph, tuple(neighbours.steps(path)), APART)
    on_machine = [None if group is None else True for group in neighbours.unknown(path)]
    for part, ends in zip(stretches(on_machine), whole.ends, strict=True):
        neighbours.note(path, on_machine, part, [*ends.values()])
    return whole.cycles


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=FEW)
    parser.add_argument("--config", default="base")
    arguments = parser.parse_intermixed_args()
    config = preset(arguments.config)
    print(" | ".join(COLUMNS))
    for name in arguments.networks:
        row = measure(config, name)
        print(" | ".join(row), flush=True)
        put_row(TITLE, COLUMNS, row, 2, PAGE)


if __name__ == "__main__":
    main()
