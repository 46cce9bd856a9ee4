"""Compiles an imported model to a program, stage by stage, and measures the time of each stage."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import NamedTuple

import onnx

from compiler.emit.buffers import buffer_of
from compiler.emit.conversions import conversions_of
from compiler.emit.described import schedule_of
from compiler.emit.places import APART, Sharing
from compiler.emit.program import Emitted, Segment, emit_program, listed_cycles
from compiler.frontend.model import Model
from compiler.frontend.pipeline import ImportedModel
from compiler.fusion.legal import OpSets
from compiler.memory.least_order import ordering_of
from compiler.planning.objective import CYCLES
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.programs.collection import seldom_collected
from compiler.programs.decisions import decisions
from compiler.programs.fastest import fastest
from compiler.programs.fitting import fitted
from compiler.programs.frugal import ANY, Arrangement, Frugal, frugal
from compiler.programs.limit import least_memory, limited, refusal
from compiler.programs.program_schemes import in_schemes
from compiler.programs.timing import forget_programs
from compiler.programs.together import check_shared, shared_steps
from compiler.schedule.document import Schedule
from compiler.search.best import best
from compiler.search.cost import OBJECTIVES, Costs, Evaluator, Measure, Objective
from compiler.search.crew import crew_allowed
from compiler.search.database import Database
from compiler.search.decided import Decided
from compiler.search.effort import NORMAL, Effort, effort_of
from compiler.search.partition import NOTHING_LEFT_OUT, LeftOut, partition_by
from compiler.search.progress import Progress, unheard
from compiler.search.strategies import STRATEGIES, within_reach
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op, Port
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.names import nearest
from isa.program import WHOLE_MODEL, CpuGraph, CpuStep, HostTensor, MachineStep, Program

LEAST_MEMORY = "memory"
"""The objective of the least DRAM for feature maps, and then of the fewest cycles."""


@dataclass
class Stages:
    """Times the stages of a compilation."""

    progress: Progress | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    _name: str = ""
    _since: float = 0.0

    def begin(self, name: str) -> None:
        self.end()
        self._name, self._since = name, time.perf_counter()
        if self.progress is not None:
            self.progress(name)

    def end(self) -> None:
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + time.perf_counter() - self._since
        self._name = ""


@dataclass(frozen=True, eq=False)
class Compiled:
    """A program and what led to it."""

    program: Program
    imported: ImportedModel
    steps: Sequence[Plan | Cpu]
    seconds: dict[str, float]
    sharing: Sharing = APART
    """The maps that share bytes of WORK. Inputs and outputs do so only where a memory limit asks for it."""
    left_out: LeftOut = NOTHING_LEFT_OUT
    """What the strategy that chose the groups left out because of its limits."""

    @property
    def plans(self) -> list[Plan]:
        return [step for step in self.steps if isinstance(step, Plan)]

    @property
    def schedule(self) -> Schedule:
        """All decisions about the program. Given to the compiler again, they make the same program."""
        return schedule_of(self.program.config, self.imported.graph, self.steps, self.sharing)


@seldom_collected()
def compile_graph(
    imported: ImportedModel,
    config: MachineConfig,
    *,
    strategy: str = "best",
    objective: str = "cycles",
    groups: Sequence[Sequence[str]] | None = None,
    stages: Stages | None = None,
    database: Database | None = None,
    memory: int | None = None,
    schedule: Schedule | None = None,
    effort: str = "normal",
    measure: Measure | None = None,
    order: str = "least",
    cores: int = 1,
) -> Compiled:
    """Compiles a graph.

    ``groups`` (names of operations): replace those of a strategy; operations in none of them run alone. ``schedule``: decisions
    to follow; all others are searched. ``effort``: quick, normal or full (``compiler/search/effort.py``). ``database``: costs
    of groups from earlier compilations; new ones are added. ``memory``: the most bytes of DRAM for feature maps. ``measure``:
    tells the cycles of each group instead of the planner. ``order``: the method that finds the order of least memory
    (``compiler/memory/least_order.py``). ``cores``: the number of cores of a chip that share each image.
    """
    ordering_of(order)
    if groups is not None:
        _check_given(strategy, objective, schedule, measure)
    if cores > 1:
        check_choices(strategy, objective)
        others = {"groups": groups, "memory": memory, "schedule": schedule, "evaluator": measure}
        check_shared(config, cores, objective, [name for name, value in others.items() if value is not None])
    stages = stages or Stages()
    stages.begin("search")
    imported, known = fitted(imported, config, objective_of(objective), database)
    graph = imported.graph
    if cores > 1:
        found = shared_steps(config, graph, cores, strategy, effort_of(effort), stages.progress)
    elif groups is None:
        found = frugal_steps(
            config, graph, strategy, objective, database, known, memory, schedule, effort_of(effort), stages.progress,
            measure, order,
        )  # fmt: skip
    else:
        evaluator = Evaluator(config, graph, effort=effort_of(effort), order=order)
        named = plans_of(config, graph, named_groups(evaluator.sets, groups), objective_of(objective))
        found = _kept_to(evaluator, named, objective_of(objective), memory, free=False)
    stages.begin("emit")
    emitted = emit_program(config, graph, found.steps, found.sharing)
    forget_programs()
    stages.begin("pack")
    program = _program(config, imported, emitted)
    stages.end()
    return Compiled(program, imported, found.steps, dict(stages.seconds), found.sharing, found.left_out)


def steps_of(
    config: MachineConfig, graph: XGraph, strategy: str, objective: str, database: Database | None = None,
    known: Costs | None = None,
) -> list[Plan | Cpu]:  # fmt: skip
    """The steps that a strategy makes of a graph, in the order of least memory. ``best`` for cycles times whole programs, too.

    ``known``: costs of groups by their shape.
    """
    return frugal_steps(config, graph, strategy, objective, database, known).steps


def frugal_steps(
    config: MachineConfig, graph: XGraph, strategy: str, objective: str, database: Database | None = None,
    known: Costs | None = None, memory: int | None = None, schedule: Schedule | None = None, effort: Effort = NORMAL,
    progress: Progress | None = None, measure: Measure | None = None, order: str = "least",
) -> Frugal:  # fmt: skip
    """The steps as from ``steps_of``, with the bytes that they need. ``memory``: the most bytes of DRAM for feature maps."""
    check_choices(strategy, objective)
    wanted = objective_of(objective)
    with crew_allowed() as crew:
        # Known costs are not measured ones.
        costs: Costs = {} if known is None or measure is not None else known
        evaluator = Evaluator(config, graph, database, costs, effort=effort, crew=crew, measure=measure, order=order)
        evaluator.told = progress or unheard
        if schedule is not None:
            found = _as_decided(evaluator, strategy, objective, memory, schedule)
        elif objective == LEAST_MEMORY:
            found = least_memory(evaluator, wanted)
            if memory is not None and found.bytes > memory:
                raise refusal(evaluator, memory, found)
        else:
            steps, left_out, arrangement = _chosen(evaluator, strategy, wanted)
            kept = _kept_to(evaluator, steps, wanted, memory, free=strategy == "best", decided=arrangement)
            found = replace(kept, left_out=left_out)
    if database is not None:
        database.save()
    return found


class _Chosen(NamedTuple):
    steps: list[Plan | Cpu]
    left_out: LeftOut
    """What the strategy left out because of its limits."""
    arrangement: Arrangement = ANY


def _chosen(evaluator: Evaluator, strategy: str, objective: Objective) -> _Chosen:
    """The steps that a strategy makes of a graph, in an order in which they can run."""
    strategy = within_reach(strategy, evaluator)
    if strategy == "best" and objective is CYCLES:
        steps = in_schemes(evaluator, fastest(evaluator))
        return _Chosen(steps, partition_by(best, evaluator.graph, evaluator, CYCLES).left_out)
    found = STRATEGIES[strategy](evaluator.graph, evaluator, objective)
    groups = evaluator.whole(found.groups)
    steps = plans_of(evaluator.config, evaluator.graph, groups, objective, wanted=evaluator.wanted)
    if strategy == "neocpu" and objective is CYCLES and evaluator.effort.timed:
        steps = import_module("compiler.papers.neocpu.search").with_all_schemes(evaluator, steps)
        blocked = import_module("compiler.papers.neocpu.layouts").best_layouts(evaluator, steps)
        return _Chosen(steps, found.left_out, Arrangement(blocked=blocked))
    return _Chosen(steps, found.left_out)


def _as_decided(evaluator: Evaluator, strategy: str, objective: str, memory: int | None, schedule: Schedule) -> Frugal:
    """The program that follows a schedule. What the schedule leaves out is searched: other groups, plans, order and places."""
    if objective == LEAST_MEMORY:
        raise TilewrightError(f"objective {objective!r}: chooses all groups itself; leave the schedule out")
    config, graph, wanted = evaluator.config, evaluator.graph, objective_of(objective)
    decided = decisions(config, graph, schedule)
    if decided.whole and evaluator.measure is not None:
        raise nothing_to_weigh()
    around = Decided(
        config, graph, evaluator.database, evaluator.known, effort=evaluator.effort, told=evaluator.told, wanted=decided.wanted,
        crew=evaluator.crew, measure=evaluator.measure, order=evaluator.order,
    )  # fmt: skip
    left_out = NOTHING_LEFT_OUT
    if decided.whole:
        steps = plans_of(config, graph, decided.groups, wanted, wanted=decided.wanted, listed=schedule.listed)
    else:
        steps, left_out, _ = _chosen(around, strategy, wanted)
    found = _arranged(evaluator, steps, wanted, decided.arrangement)
    if memory is not None and found.bytes > memory:
        if decided.arrangement != ANY:
            raise refusal(around, memory, found)
        found = limited(around, wanted, steps, memory, free=False)
    return replace(found, left_out=left_out)


def _kept_to(
    evaluator: Evaluator, steps: Sequence[Plan | Cpu], objective: Objective, memory: int | None, free: bool,
    decided: Arrangement = ANY,
) -> Frugal:
    """The steps in an order and in places that keep to the limit. ``free``: other groups may be chosen if needed."""
    evaluator.told("search: order and places of feature maps")
    found = _arranged(evaluator, steps, objective, decided)
    if memory is None or found.bytes <= memory:
        return found
    return limited(evaluator, objective, steps, memory, free)


def _arranged(
    evaluator: Evaluator, steps: Sequence[Plan | Cpu], objective: Objective, decided: Arrangement = ANY
) -> Frugal:
    """The steps in the order and places that need the least DRAM."""
    config, graph, effort = evaluator.config, evaluator.graph, evaluator.effort
    if not effort.timed or effort.orders_timed:
        return frugal(config, graph, steps, objective, decided, effort.timed, order=evaluator.order)

    def scheduled(ways: Sequence[Frugal]) -> Iterator[int]:
        def cycles(number: int) -> int:
            return listed_cycles(config, graph, ways[number].steps, ways[number].sharing)

        # A helper schedules the given program, and this process keeps the other, which is most often emitted.
        second, first = evaluator.crew.team(cycles).each([1, 0])
        yield from (first, second)
        yield from map(cycles, range(2, len(ways)))

    return frugal(config, graph, steps, objective, decided, measure=scheduled, order=evaluator.order)


def _check_given(strategy: str, objective: str, schedule: Schedule | None, measure: Measure | None) -> None:
    """Refuses options that would choose groups, because all groups are given."""
    if measure is not None:
        raise nothing_to_weigh()
    if schedule is not None:
        raise TilewrightError("groups: a schedule is given, which has groups, too; leave one of them out")
    if strategy != "best":
        raise TilewrightError(f"groups: all are given, strategy {strategy!r} has none to choose; leave one of them out")
    if objective == LEAST_MEMORY:
        raise TilewrightError(f"groups: all are given, objective {objective!r} chooses groups; leave one of them out")


def nothing_to_weigh() -> TilewrightError:
    """The error for a measure where all groups are given."""
    return TilewrightError("evaluator: groups are decided already, nothing is left to weigh; leave it, or some of them, out")


def check_choices(strategy: str, objective: str) -> None:
    """Refuses unknown names, before any work is done."""
    if strategy not in STRATEGIES:
        hint = nearest(strategy, STRATEGIES)
        raise TilewrightError(f"strategy {strategy!r}: unknown{hint}; known are {', '.join(STRATEGIES)}")
    objective_of(objective)
    if objective == LEAST_MEMORY and strategy != "best":
        raise TilewrightError(f"objective {objective!r}: strategy {strategy} does not know it; expected strategy best")


def objective_of(name: str) -> Objective:
    """The objective for which groups are planned."""
    known = (*OBJECTIVES, LEAST_MEMORY)
    if name not in known:
        raise TilewrightError(f"objective {name!r}: unknown{nearest(name, known)}; known are {', '.join(known)}")
    return OBJECTIVES.get(name, CYCLES)


def named_groups(sets: OpSets, groups: Sequence[Sequence[str]]) -> list[list[Op]]:
    by_name = {op.name: op for op in sets.ops}
    named: set[str] = set()
    for name in (name for group in groups for name in group):
        if name not in by_name:
            raise TilewrightError(f"groups: no operation {name!r} on the machine; `tilewright compile --verbose` lists them")
        if name in named:
            raise TilewrightError(f"groups: operation {name!r} is in two groups; name it once")
        named.add(name)
    for group in groups:
        why = sets.why_not(sets.mask([by_name[name] for name in group]))
        if why:
            raise TilewrightError(f"groups: {', '.join(group)}: {why}")
    alone = [[op] for name, op in by_name.items() if name not in named]
    return [*([by_name[name] for name in group] for group in groups), *alone]


def _program(config: MachineConfig, imported: ImportedModel, emitted: Emitted) -> Program:
    graph = imported.graph
    parts = [step for step in emitted.segments if isinstance(step, Cpu)]
    shared = [*imported.inputs, *imported.outputs, *(port for part in parts for port in part.ports)]
    ports: dict[str, Port] = {port.onnx: port for port in shared}
    return Program(
        config=config,
        words=emitted.words,
        const=emitted.const,
        work_bytes=emitted.work_bytes,
        input_bytes=emitted.input_bytes,
        output_bytes=emitted.output_bytes,
        buffers=tuple(buffer_of(port, graph.tensors[port.tensor], emitted.views) for port in ports.values()),
        cpu_graphs=(*(CpuGraph(p.name, p.model) for p in parts), CpuGraph(WHOLE_MODEL, imported.oracle.SerializeToString())),
        debug=emitted.debug,
        steps=tuple(
            MachineStep(s.first_word, s.words, s.core) if isinstance(s, Segment) else CpuStep(s.name, conversions_of(s.model))
            for s in emitted.segments
        ),
        inputs=tuple(_host_tensor(v, imported.model) for v in imported.oracle.graph.input),
        outputs=tuple(_host_tensor(v, imported.model) for v in imported.oracle.graph.output),
    )


def _host_tensor(value: onnx.ValueInfoProto, model: Model | None) -> HostTensor:
    """The tensor of the host. ``model``: knows shapes that the value does not tell."""
    tensor = value.type.tensor_type
    known = model.shape(value.name) if model is not None else None
    shape = known if known is not None else tuple(dim.dim_value for dim in tensor.shape.dim)
    return HostTensor(value.name, shape, str(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)))
