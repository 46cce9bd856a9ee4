"""NeoCPU: what each of its steps gains, and how near to the optimum its global search comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.papers.scheme_optimum import prove
from bench.papers.table import NOT_IN, Table
from bench.strategies import imported, timed
from compiler.emit.blocked import NONE_BLOCKED, Blocked, blockable
from compiler.emit.places import Sharing
from compiler.papers.neocpu.layouts import best_layouts, layout_problem
from compiler.papers.neocpu.search import with_all_schemes
from compiler.papers.neocpu.solving import is_chain, solved
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.programs.timing import program_cycles
from compiler.search.cost import Evaluator
from compiler.xgraph.ops import Cpu
from isa.config import preset

NETWORKS = ("squeezenet", "resnet18")
CONFIG = "base"
TABLE_3 = {
    "resnet50": (5.34, 8.22, 12.25), "vgg19": (8.33, 9.33, 10.54), "densenet": (4.08, 5.51, 6.89),
    "inception_v3": (7.41, 9.11, 11.85),
}  # fmt: skip
"""How many times as fast as the baseline a network is: with layouts of each convolution, without transforms, with global
search."""
Steps = Sequence[Plan | Cpu]
Rows = Iterator[tuple[str, ...]]


def tables(networks: Sequence[str]) -> Iterator[Table]:
    made = {name: _program(name) for name in networks}
    yield Table(
        "Table 3: times as fast as the baseline",
        ("network", "layouts by each group alone", "chosen together", "schemes chosen together", "paper"), _gains(made),
        "The machine's own layout is the baseline: it suits the array, where NCHW does not suit a CPU; so the gains are small.",
    )
    yield Table(
        "Section 3.3.2: the global search of layouts", ("network", "maps", "graph", "solved by", "proved", "above the optimum"),
        _optimum(made), "The paper finds at least 88% of the optimum by PBQP.",
    )  # fmt: skip


def _program(name: str) -> tuple[Evaluator, Steps]:
    evaluator = Evaluator(preset(CONFIG), imported(name))
    partition, _ = timed("neocpu", evaluator, "cycles")
    return evaluator, plans_of(evaluator.config, evaluator.graph, partition.groups)


def _gains(made: dict[str, tuple[Evaluator, Steps]]) -> Rows:
    for name, (evaluator, steps) in made.items():
        config, graph = evaluator.config, evaluator.graph

        def cycles(steps: Steps, blocked: Blocked = NONE_BLOCKED, evaluator: Evaluator = evaluator) -> int:
            return program_cycles(evaluator.config, evaluator.graph, steps, Sharing(blocked=blocked))

        baseline = cycles(steps)
        maps = blockable(graph, steps, config.ic_p)
        problem = layout_problem(evaluator, steps, maps)
        alone = frozenset(map_ for map_, costs in zip(maps, problem.nodes, strict=True) if costs[1] < costs[0])
        schemes = with_all_schemes(evaluator, steps)
        found = (
            cycles(steps, Blocked(alone, config.ic_p)), cycles(steps, best_layouts(evaluator, steps)),
            cycles(schemes, best_layouts(evaluator, schemes)),
        )  # fmt: skip
        paper = ", ".join(map(str, TABLE_3[name])) if name in TABLE_3 else NOT_IN
        yield name, *(f"{baseline / each:.4f}" for each in found), paper


def _optimum(made: dict[str, tuple[Evaluator, Steps]]) -> Rows:
    for name, (evaluator, steps) in made.items():
        maps = blockable(evaluator.graph, steps, evaluator.config.ic_p)
        problem = layout_problem(evaluator, steps, maps)
        found, proof = solved(problem), prove(problem)
        chain = is_chain(problem)
        yield (
            name, str(len(maps)), "chain" if chain else "no chain", "dynamic programming" if chain else "PBQP",
            "yes" if found.exact else "no", f"{found.cost - proof.bound:.0f} cycles",
        )  # fmt: skip
