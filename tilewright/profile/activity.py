"""Every instruction of a program with its time, its waits, and the bytes that it moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from isa.codec import Op, decode
from isa.config import MachineConfig
from isa.dispatched import check_program
from isa.errors import TilewrightError
from isa.instructions import Buffer, Unit
from isa.program import MachineStep, Program
from sim.cycle.costs import WindowCost
from sim.cycle.model import CycleModel, CycleResult
from sim.cycle.program import Program as Columns
from sim.cycle.program import from_words
from sim.rtl.machine import TraceEvent

MOVES = (Unit.LOAD, Unit.SAVE)
ISSUE = "issue"
"""A cause of waits: the instruction was not there yet (fetch, dispatch, queue)."""
INSIDE = "inside"
"""A cause of waits within an instruction's own time: banks that meet, DRAM, the pipeline's length."""


@dataclass(frozen=True)
class Timing:
    """The time of each instruction, by the cycle model or on the RTL."""

    source: str
    cycles: int
    events: Sequence[TraceEvent]
    """The events. Word offsets count from the program's first word, cycles from the first machine step's start."""
    steps: Sequence[int]
    """The cycles of each machine step. ``cycles`` is the sum of the slowest step of each phase."""


@dataclass(eq=False)
class Activity:
    """One instruction in a run."""

    number: int
    pc: int
    op: Op
    unit: Unit
    layer: str
    tile: int | None
    start: int
    finish: int
    givers: tuple[int, ...]
    """The numbers of the instructions whose tokens it took."""
    step: int
    """The number of its machine step, from 0."""
    work: int
    """The cycles that its unit needs for it if nothing is in the way."""
    read: int = 0
    written: int = 0
    """The bytes of DRAM that it writes; ``read`` has those that it asks for."""
    waits: dict[str, int] = field(default_factory=dict)
    """The cycles in which its unit stood still before or within it, by cause: a unit's name, ``issue``, ``inside``."""


def modelled(program: Program) -> Timing:
    """The timing of all machine steps by the cycle model, one phase right after the other."""
    cycles, events, steps = 0, [], []
    timed = runs(program)
    for phase in program.phases:
        if not isinstance(phase, tuple):
            continue
        for step, result in islice(timed, len(phase)):
            for e in result.trace:
                assert e.finish is not None, "the model finishes what it starts"
                events.append(TraceEvent(e.unit, e.pc + step.first_word, e.start + cycles, e.finish + cycles))
            steps.append(result.cycles)
        cycles += max(steps[-len(phase) :])
    return Timing("cycle model", cycles, events, steps)


def runs(program: Program) -> Iterator[tuple[MachineStep, CycleResult]]:
    """Runs each machine step on the cycle model. That takes programs to be right, so a ``MachineFault`` is raised here for what
    stops the machine."""
    model = CycleModel(program.config)
    for step in machine_steps(program):
        words = program.words[step.first_word : step.first_word + step.words]
        check_program(words, program.config)
        yield step, model.run(words)


def machine_steps(program: Program) -> list[MachineStep]:
    return [step for step in program.run_order if isinstance(step, MachineStep)]


def activities(program: Program, timing: Timing) -> list[Activity]:
    """The activities in program order, START and END left out."""
    when = {event.pc: event for event in timing.events}
    found: list[Activity] = []
    steps = machine_steps(program)
    for number, step in enumerate(steps):
        columns = from_words(program.config, program.words[step.first_word : step.first_word + step.words])
        found += _of_step(program, number, step, columns, when, len(found))
    _explain(found, [step.core for step in steps])
    return found


def _of_step(
    program: Program, step_number: int, step: MachineStep, columns: Columns, when: Mapping[int, TraceEvent], first: int
) -> list[Activity]:
    numbers: dict[int, int] = {}
    found: list[Activity] = []
    for index, (unit, pc, cost) in enumerate(zip(columns.units, columns.pcs, columns.costs, strict=True)):
        if unit is None or cost is None:
            continue
        at = pc + step.first_word
        event = when.get(at)
        if event is None or event.finish is None:
            raise TilewrightError(f"timing: the instruction at word {at} has no start and end; measure the whole program")
        numbers[index] = first + len(found)
        op, _ = decode(program.words, at)
        record = program.origin(at)
        layer, tile = (record.layer, record.tile) if record is not None and record.pc == at else (op.name.lower(), None)
        read, written = moved_bytes(program.config, op)
        work = cost.groups * cost.group if isinstance(cost, WindowCost) else cost.active
        givers = tuple(numbers[giver] for giver in columns.givers[index])
        found.append(
            Activity(
                numbers[index], at, op, Unit(unit), layer, tile, event.start, event.finish, givers, step_number, work, read,
                written,
            )
        )  # fmt: skip
    return found


def _explain(found: Sequence[Activity], cores: Sequence[int]) -> None:
    """Sets why each unit stood still: for the last token, else for the instruction on its way. ``cores``: those of the
    steps."""
    free: dict[tuple[int, Unit], int] = {}
    for item in found:
        unit = cores[item.step], item.unit
        before = free.get(unit, 0)
        gap = max(0, item.start - before)
        last = max((found[giver] for giver in item.givers), key=lambda giver: giver.finish, default=None)
        for_token = max(0, min(gap, last.finish + 1 - before)) if last is not None else 0
        inside = max(0, item.finish - max(item.start, before) - item.work)
        named = {last.unit.name: for_token} if last is not None else {}
        item.waits = {cause: n for cause, n in {**named, ISSUE: gap - for_token, INSIDE: inside}.items() if n}
        free[unit] = max(before, item.finish)


def moved_bytes(config: MachineConfig, op: Op) -> tuple[int, int]:
    """The DRAM bytes that an instruction asks for, and those that it writes."""
    if op.name == "LOADP":
        return op["count"] * config.buffer_dram_bytes(Buffer(op["buffer"]).name, bool(op["int4"])), 0
    if op.name in ("LOAD", "LOADW"):
        row = op["pixels"] * op["run"] if op["step"] > op["run"] and op["valid"] else op["valid"]
        return (op["rows"] if op.name == "LOAD" else 1) * row, 0
    return 0, op["rows"] * op["pixels"] * op["run"] if op.name == "SAVE" else 0
