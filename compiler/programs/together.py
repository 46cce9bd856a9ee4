"""Programs in which several cores share each image. Between two groups all cores wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.planning.grouping import make_group
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.planning.running_order import ordered_groups
from compiler.planning.shards import plan_shards
from compiler.programs.frugal import Frugal, placed
from compiler.search.crew import crew_allowed
from compiler.search.effort import Effort
from compiler.search.partition import partition_by
from compiler.search.progress import Progress, unheard
from compiler.search.sharding import Sharding
from compiler.search.strategies import STRATEGIES, within_reach
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op
from isa.config import MachineConfig
from isa.cores import dram_bytes, with_cores
from isa.errors import TilewrightError


def check_shared(config: MachineConfig, cores: int, objective: str, others: Sequence[str]) -> None:
    """Refuses more cores than the chip holds, and options that do not go together with cores. ``others``: their names."""
    with_cores(config, cores)
    if objective != CYCLES.name:
        raise TilewrightError(f"cores {cores}: objective {objective!r}; cores share an image for objective {CYCLES.name} alone")
    if others:
        raise TilewrightError(f"cores {cores}: not together with {', '.join(others)}; leave either out")


def shared_steps(
    config: MachineConfig, graph: XGraph, cores: int, strategy: str, effort: Effort, progress: Progress | None = None
) -> Frugal:  # fmt: skip
    """The program that a strategy makes of a graph for so many cores, in the order of the graph.

    No whole programs are timed, for no group overlaps another. Maps that groups of two phases use at different times share
    bytes. The outputs of a group never lie over its inputs, for its shards run at the same time.
    """
    with crew_allowed() as crew:
        evaluator = Sharding(config, graph, effort=effort, crew=crew, cores=cores)
        evaluator.told = progress or unheard
        found = partition_by(STRATEGIES[within_reach(strategy, evaluator)], graph, evaluator, CYCLES)
        on_cpu = [(op,) for op in graph.ops if isinstance(op, Cpu)]
        steps = [_step(config, graph, cores, group) for group in ordered_groups(graph, [*found.groups, *on_cpu])]
    if not any(isinstance(step, Plan) and step.cores for step in steps):
        raise TilewrightError(f"cores {cores}: no group of {graph.name} is faster on several; leave it out")
    return replace(placed(graph, steps), left_out=found.left_out)


def _step(config: MachineConfig, graph: XGraph, cores: int, group: Sequence[Op]) -> Plan | Cpu:
    """Plans a group with its own parameters. (An evaluator takes those of any group of the same shape; they cost as much.)"""
    first = group[0]
    return first if isinstance(first, Cpu) else plan_shards(config, make_group(config, graph, group), cores, dram_bytes(config))
