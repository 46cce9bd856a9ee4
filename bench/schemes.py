"""Schemes chosen for whole programs, as two tables and a sentence in docs/results/papers.md.

    python -m bench.schemes order [network ...] [--config base zu2 zu9] [--schemes 4]     what neighbours cost each other
    python -m bench.schemes flow [network ...] [--config base zu2 zu9] [--schemes 2]      and whoever reads what
    python -m bench.schemes random                                        PBQP where it must guess

The partition is that of strategy ``best``. In ``order`` the cycle model times programs in which all pairs of schemes of
neighbouring groups occur; dynamic programming, PBQP and HiGHS choose by these costs, and *after* is what effort ``full`` makes
of the same partition, which learns from fewer programs about more schemes. In ``flow`` a group and another that reads its
result, but does not come next, have costs together, too: what changing both schemes takes beyond changing each.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from statistics import mean, median
from typing import TypeVar

import numpy as np

from bench.command import command
from bench.figures import listed, number, paragraph
from bench.network_table import PAPERS as PAGE
from bench.network_table import put_row, put_text, rows_of, text_of
from bench.papers.scheme_optimum import Proof, prove
from bench.strategies import imported
from compiler.papers.neocpu import dynamic, pbqp
from compiler.papers.neocpu.problem import Costs, Problem, Solution
from compiler.papers.neocpu.search import problem_of
from compiler.planning.plan import Plan
from compiler.planning.running_order import needs_of
from compiler.programs.fastest import fastest
from compiler.programs.pair_costs import Choices, PairCosts
from compiler.programs.program_schemes import Steps, chosen, measured, others_of, with_schemes
from compiler.programs.timing import program_cycles
from compiler.search.cost import Evaluator
from compiler.search.effort import EFFORTS
from compiler.xgraph.ops import Cpu
from isa.config import preset
from sim.cycle.timing import END_TAIL

TITLE, FLOW = "Schemes", "Schemes and data flow"
AT_RANDOM = "`python -m bench.schemes random`"
T = TypeVar("T")
SOLVED = ("own best", "dynamic programming", "PBQP", "HiGHS", "proved", "PBQP's share of the gain", "ms: table, PBQP, HiGHS")


class Bench:
    """One network on one machine, with its partition and the schemes of its groups."""

    def __init__(self, network: str, config: str, schemes: int) -> None:
        self.graph = imported(network)
        self.evaluator = Evaluator(preset(config), self.graph)
        self.steps: Steps = fastest(self.evaluator)
        self.plans = [step for step in self.steps if isinstance(step, Plan)]
        self.rows = [[plan, *others_of(self.evaluator, plan, schemes)] for plan in self.plans]
        self.told: PairCosts = measured(self.evaluator, self.steps, self.rows)

    def cycles(self, choices: tuple[int, ...]) -> int:
        return program_cycles(self.evaluator.config, self.graph, chosen(self.steps, self.rows, choices))

    def apart(self) -> Iterator[tuple[int, int]]:
        """Yields pairs of groups of which the second reads what the first makes and does not come next, between the same CPU
        parts."""
        segment = [sum(isinstance(step, Cpu) for step in self.steps[: self.steps.index(plan)]) for plan in self.plans]
        names = [[op for op in self.evaluator.sets.ops if op.output in _made(plan)] for plan in self.plans]
        for second, needs in enumerate(needs_of(self.graph, [*names, *([s] for s in self.steps if isinstance(s, Cpu))])):
            if second < len(self.plans):
                yield from ((first, second) for first in sorted(needs) if _far(first, second, segment))


def every(schemes: Sequence[Sequence[int]]) -> Iterator[Choices]:
    """Yields programs in which all pairs of these schemes of neighbours occur."""
    most = range(max(map(len, schemes), default=0))
    found = (tuple(own[(a, b)[n % 2] % len(own)] for n, own in enumerate(schemes)) for a, b in product(most, most))
    yield from dict.fromkeys(found)


def _made(plan: Plan) -> set[str]:
    return {layer.output for layer in plan.group.layers}


def _far(first: int, second: int, segment: list[int]) -> bool:
    return first + 1 < second < len(segment) and segment[first] == segment[second]


def by_order(network: str, config: str, schemes: int) -> None:
    bench = Bench(network, config, schemes)
    told = bench.told
    told.ask(*told.star(), *every([range(len(row)) for row in bench.rows]))
    problem = problem_of(told.tables())
    tail = END_TAIL * len(told.first)
    off = max(abs(problem.cost(choices) + tail - cycles) / cycles for choices, cycles in told.whole.items())
    cells, found = solved(problem)
    told.ask(found.choices)
    before = told.whole[told.own]
    full = Evaluator(bench.evaluator.config, bench.graph, effort=EFFORTS["full"])
    since = time.process_time()
    after = program_cycles(full.config, full.graph, with_schemes(full, bench.steps, full.effort.schemes))
    seconds = time.process_time() - since
    columns = ("configuration", "network", "groups", "schemes", "edges", *SOLVED, "program: before", "by this choice",
        "sums off at most", "after", "s", "less")  # fmt: skip
    row = [config, network, *sizes(problem), *cells, f"{before:,}", f"{told.whole[found.choices]:,}", f"{off:.2%}",
        f"{after:,}", f"{seconds:.0f}", f"{1 - after / before:.2%}"]  # fmt: skip
    put_row(TITLE, columns, row, 2, PAGE)
    print(" | ".join(row), flush=True)


def by_flow(network: str, config: str, schemes: int) -> None:
    bench = Bench(network, config, schemes)
    told = bench.told
    told.ask(*told.star(), *every([range(len(row)) for row in bench.rows]))
    order = problem_of(told.tables())
    flow = {pair: together(bench, *pair) for pair in bench.apart()}
    problem = Problem(order.nodes, {**order.edges, **flow})
    cells, found = solved(problem)
    _, chain = solved(order)
    asked = told.own, chain.choices, found.choices
    told.ask(*asked)
    columns = ("configuration", "network", "groups", "schemes", "edges", "of them data flow", "guesses", *SOLVED,
        "neighbours together: mean, most", "others together: mean, most", "program: before", "chosen by order alone",
        "by both")  # fmt: skip
    row = [config, network, *sizes(problem), str(len(flow)), "no" if pbqp.solve(problem).exact else "yes", *cells,
        spread([beyond(costs) for costs in order.edges.values()]), spread([*flow.values()]),
        *(f"{told.whole[choices]:,}" for choices in asked)]  # fmt: skip
    put_row(FLOW, columns, row, 2, PAGE)
    print(" | ".join(row), flush=True)


def together(bench: Bench, first: int, second: int) -> Costs:
    """The cycles of changing both schemes beyond those of changing each, in the program of the others' best."""

    def changed(one: int, other: int) -> int:
        return bench.cycles(tuple({first: one, second: other}.get(n, 0) for n in range(len(bench.rows))))

    both = np.array([[changed(i, j) for j in range(len(bench.rows[second]))] for i in range(len(bench.rows[first]))], float)
    return beyond(both)


def beyond(costs: Costs) -> Costs:
    more: Costs = costs - costs[:, :1] - costs[:1] + costs[0, 0]
    return more


def spread(tables: list[Costs]) -> str:
    """The mean and the greatest cost, over all pairs in which both are changed."""
    values = [abs(float(cost)) for costs in tables for cost in costs[1:, 1:].flat]
    return f"{mean(values):,.0f}, {max(values):,.0f}" if values else ""


def sizes(problem: Problem) -> list[str]:
    """The groups, the schemes of all of them, and the edges."""
    return [str(len(problem.nodes)), str(sum(map(len, problem.nodes))), str(len(problem.edges))]


def solved(problem: Problem) -> tuple[list[str], Solution]:
    """The cells of ``SOLVED``, and the best choice that was found."""
    table, first = timed(lambda: dynamic.solve(problem))
    reduced, second = timed(lambda: pbqp.solve(problem))
    proof, third = timed(lambda: prove(problem))
    own = problem.cost([0] * len(problem.nodes))
    best = min((found for found in (table, reduced, proof.solution) if found), key=lambda found: found.cost)
    cells = [f"{own:,.0f}", f"{table.cost:,.0f}" if table else "too large", f"{reduced.cost:,.0f}",
        f"{proof.solution.cost:,.0f}" if proof.solution else "none found", "yes" if proved(proof) else "no",
        f"{share(own, reduced.cost, best.cost):.1%}", f"{first:.0f}, {second:.0f}, {third:.0f}"]  # fmt: skip
    return cells, best


def timed(solve: Callable[[], T]) -> tuple[T, float]:
    """The result, and the milliseconds that it took."""
    since = time.process_time()
    return solve(), 1000 * (time.process_time() - since)


def proved(proof: Proof) -> bool:
    return proof.solution is not None and proof.solution.exact


def share(own: float, found: float, best: float) -> float:
    """The share of the best choice's gain."""
    return (own - found) / (own - best) if own > best else 1.0


def at_random(problems: int = 100, nodes: int = 14, choices: int = 5, neighbours: int = 6) -> None:
    """Measures PBQP on graphs on which it must guess. NeoCPU's 88 % are of networks on which its dynamic programming ends."""
    shares = []
    for seed in range(problems):
        rng = random.Random(seed)
        edges = rng.sample([*combinations(range(nodes), 2)], nodes * neighbours // 2)
        problem = Problem(
            tuple(np.array([float(rng.randrange(1000)) for _ in range(choices)]) for _ in range(nodes)),
            {pair: np.array([[float(rng.randrange(1000)) for _ in range(choices)] for _ in range(choices)]) for pair in edges},
        )
        alone = problem.cost([int(np.argmin(costs)) for costs in problem.nodes])
        table = dynamic.solve(problem)
        assert table is not None, "fourteen nodes have no table that is too large"
        shares.append(share(alone, pbqp.solve(problem).cost, table.cost))
    text = (
        f"{AT_RANDOM}: on {problems} random problems of {nodes} nodes with {choices} choices, each with\n"
        f"{neighbours} neighbours in the mean, it gets {mean(shares):.1%} of the optimum's gain in the\n"
        f"mean and {min(shares):.1%} at worst; {sum(each == 1 for each in shares)} times it finds the optimum."
    )
    put_text(FLOW, f"{flow_rows_told()}\n{text}", PAGE)
    print(text)


def flow_told() -> str:
    """The sentences about the rows of ``flow``, and the last ones of ``random``."""
    _, _, last = text_of(FLOW, PAGE).partition(AT_RANDOM)
    return "\n".join([flow_rows_told(), *([AT_RANDOM + last] if last else [])])


def flow_rows_told() -> str:
    rows = {f"{row['network']} on `{row['configuration']}`": row for row in rows_of(FLOW, PAGE)}
    guessed = [f"{name} {row[SOLVED[5]]}" for name, row in rows.items() if row["guesses"] == "yes"]
    shorter = [name for name, row in rows.items() if number(row["by both"]) < number(row["chosen by order alone"])]
    return paragraph(
        f"Rows in which these costs make the program shorter: {listed(shorter)}.",
        f"Where PBQP must guess, it gets of the optimum's gain: {listed(guessed)}; it is exact in the other rows.",
    )


def order_told() -> str:
    """The sentences about the rows of ``order``."""
    rows = rows_of(TITLE, PAGE)
    less = sorted(number(row["less"]) for row in rows)
    off = max(number(row["sums off at most"]) for row in rows)
    shares = min(number(row[SOLVED[5]]) for row in rows)
    proofs = sum(row["proved"] == "yes" for row in rows)
    return (
        f"Effort `full` takes {less[0]:.2f}% to {less[-1]:.2f}% fewer cycles than the same partition with each group's own\n"
        f"best schemes, {median(less):.2f}% in the median. Sums of pairs are off by {off:.2f}% at most; PBQP gets at\n"
        f"least {shares:.1f}% of the optimum's gain, and the optimum is proved in {proofs} of {len(rows)} rows."
    )


def main() -> None:
    parser = command("schemes", __doc__)
    parser.add_argument("table", choices=("order", "flow", "random"))
    parser.add_argument("networks", nargs="*", default=["squeezenet", "mobilenet_v2"])
    parser.add_argument("--config", nargs="+", default=["base", "zu2", "zu9"])
    parser.add_argument("--schemes", type=int, help="of each group, besides its best alone")
    arguments = parser.parse_intermixed_args()
    if arguments.table == "random":
        at_random()
        return
    for network, config in product(arguments.networks, arguments.config):
        if arguments.table == "order":
            by_order(network, config, arguments.schemes or 4)
        else:
            by_flow(network, config, arguments.schemes or 2)
    if arguments.table == "order":
        put_text(TITLE, order_told(), PAGE)
        print(order_told())
    else:
        put_text(FLOW, flow_told(), PAGE)
        print(flow_told())


if __name__ == "__main__":
    main()
