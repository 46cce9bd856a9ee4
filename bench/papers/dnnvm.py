"""DNNVM: what fusion gains on ZU2, what a group costs by three evaluators, and throughput beside other designs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from bench.papers.table import NOT_IN, Table
from bench.strategies import imported, timed
from compiler.fusion.legal import OpSets
from compiler.fusion.templates import template_groups
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.programs.measured import on_cycle_model
from compiler.programs.timing import program_cycles
from compiler.search.cost import Evaluator
from compiler.zoo.macs import multiply_accumulates
from compiler.zoo.networks import networks as zoo
from isa.config import preset

NETWORKS = ("googlenet", "resnet50_v1")
STRATEGIES = ("naive", "greedy", "dnnvm", "dnnvm-as-written", "best")
TABLE_3 = {
    "vgg16_convolutions": (325.5, 331.5, 334.0, 1.03), "resnet50_v1": (195.4, 221.9, 228.7, 1.17),
    "resnet152_v1": (212.5, 233.0, 244.1, 1.15), "googlenet": (183.1, 204.6, 231.5, 1.26),
}  # fmt: skip
"""The GOPs/s of the baseline, of greedy fusion, and of the shortest path, and how many times as fast as the baseline that
is."""
TABLE_4 = {"vgg16_convolutions": (334.0, 1780.0), "resnet50_v1": (228.7, 680.0), "googlenet": (231.5, 700.0)}
"""The GOPs/s on ZU2, and on ZU9 with one image at a time."""
Rows = Iterator[tuple[str, ...]]


def tables(networks: Sequence[str]) -> Iterator[Table]:
    yield Table(
        "Table 2: evaluators of a group", ("network", "evaluator", "deviation", "ms a group", "paper"), _evaluators(networks),
        "The paper's board takes less than a second, its simulator more than ten minutes. `--evaluator rtl` is our board.",
    )
    yield Table(
        "Table 3: GOPs/s on zu2 by strategy", ("network", "", *STRATEGIES, "dnnvm / naive"), _fusion(networks),
        "Ours by the cycle model; the paper has no figures of its formulas alone, nor of `best`.",
    )
    yield Table(
        "Table 3: what the search takes", ("network", "operations", "groups of templates", "isomorphism ms", "dnnvm ms"),
        _search(networks),
    )  # fmt: skip
    yield Table(
        "Table 4: GOPs/s", ("network", "zu2", "paper's ZU2", "one core of zu9", "paper's ZU9, one image"), _designs(networks),
        "Figures of other designs are in the paper; `tilewright size --config zu2` prints what stands beside its table 5.",
    )


def _speed(name: str, config: str, strategy: str) -> float:
    machine, graph = preset(config), imported(name)
    partition, _ = timed(strategy, Evaluator(machine, graph), "cycles")
    cycles = program_cycles(machine, graph, plans_of(machine, graph, partition.groups))
    return 2 * multiply_accumulates(zoo()[name]()) * machine.clock_mhz / cycles / 1000


def _evaluators(networks: Sequence[str]) -> Rows:
    """How far sums over groups are off the cycle model's, which counts as the hardware does."""
    config = preset("zu2")
    for name in networks:
        graph = imported(name)
        partition, _ = timed("dnnvm", Evaluator(config, graph), "cycles")
        plans = [step for step in plans_of(config, graph, partition.groups) if isinstance(step, Plan)]
        measure = on_cycle_model(config)
        since = time.process_time()
        cycles = sum(measure(graph, plan) for plan in plans)
        each = 1000 * (time.process_time() - since) / len(plans)
        since = time.process_time()
        walked = sum(step.cost.cycles for step in plans_of(config, graph, partition.groups) if isinstance(step, Plan))
        quick = 1000 * (time.process_time() - since) / len(plans)
        yield name, "analytic", f"{walked / cycles - 1:+.1%}", f"{quick:.1f}", "5 to 10%, less than a minute"
        yield name, "cycle model", "0", f"{each:.1f}", "0"


def _fusion(networks: Sequence[str]) -> Rows:
    for name in networks:
        ours = [_speed(name, "zu2", strategy) for strategy in STRATEGIES]
        yield name, "ours", *(f"{speed:.1f}" for speed in ours), f"{ours[2] / ours[0]:.2f}x"
        if name in TABLE_3:
            *paper, gain = TABLE_3[name]
            yield name, "paper", *(f"{speed:.1f}" for speed in paper), NOT_IN, NOT_IN, f"{gain:.2f}x"


def _search(networks: Sequence[str]) -> Rows:
    for name in networks:
        graph = imported(name)
        sets = OpSets(graph)
        since = time.process_time()
        found = len(template_groups(sets))
        isomorphism = time.process_time() - since
        _, search = timed("dnnvm", Evaluator(preset("zu2"), graph), "cycles")
        yield name, str(len(sets.ops)), str(found), f"{1000 * isomorphism:.1f}", f"{1000 * search:.0f}"


def _designs(networks: Sequence[str]) -> Rows:
    for name in networks:
        paper = [f"{speed:.1f}" for speed in TABLE_4.get(name, ())] or [NOT_IN, NOT_IN]
        yield name, f"{_speed(name, 'zu2', 'best'):.1f}", paper[0], f"{_speed(name, 'zu9', 'best'):.1f}", paper[1]
