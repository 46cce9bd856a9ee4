"""Hunts mutants with random programs, good and spoiled, with benches, and with the cycles and counters of the intact
machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, count
from pathlib import Path
from typing import Protocol

from isa.config import MachineConfig
from isa.faults import MachineFault
from isa.instructions import BY_NAME
from sim.mutants.equivalent import proved_equivalent
from sim.mutants.netlist import PLUSARG, Mutant, mutated, netlist_of
from sim.random.engines import Outcome, difference, functional, rtl
from sim.random.faulty import faulty_program, stops_alike
from sim.random.fields import field_scenarios
from sim.random.memories import Ending, endings, memory_of
from sim.random.program import RandomProgram, random_program
from sim.rtl.benches import BENCHES
from sim.rtl.machine import RtlMachine, RtlResult
from sim.rtl.play import counters_after, play, register_file
from sim.rtl.scenario import Scenario
from sim.rtl.tools import SimulatorError

PROGRAMS, CYCLES, SPOILED, BENCHES_STAGE = "programs", "cycles", "spoiled", "benches"
FIELDS, EQUIVALENT = "fields", "equivalent"
STAGES = (PROGRAMS, CYCLES, SPOILED, BENCHES_STAGE, FIELDS, EQUIVALENT)
"""The stages in the order in which survivors meet them. They compare results; times and counts; the faults of spoiled programs;
scenarios; and every bit of every field. The last one proves that there is nothing to be found."""
SPOILED_PROGRAMS = 240
PATIENCE = 20_000
"""The cycles that a mutant may take longer than the machine. It is also the limit of the watchdog."""
BENCH_LIMIT = 200_000
MOST_CYCLES = 1_000_000


@dataclass(frozen=True)
class Case:
    """A program, and what it must leave in its memory."""

    program: RandomProgram
    expected: Outcome
    allowed: set[Ending]
    """The endings that it may have instead, where its memory has a bad beat."""
    reference: RtlResult | None
    """The result of the machine without a mutant; None with a bad beat."""

    @property
    def limit(self) -> int:
        return MOST_CYCLES if self.reference is None else self.reference.cycles + PATIENCE


@dataclass
class Hunt:
    """A set of mutants of one configuration, and the programs and scenarios that hunt them. What is computed once is kept."""

    config: MachineConfig
    count: int
    seed: int
    programs: int
    modules: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    """The instructions that programs must have, and whose fields are turned, if mutants of a module can show in these alone."""
    cache: Path | str | None = None
    _cases: list[Case] = field(default_factory=list)
    _spoiled: list[Case] = field(default_factory=list)
    _fields: list[Scenario] = field(default_factory=list)
    _benches: list[tuple[str, Scenario]] = field(default_factory=list)
    _results: dict[tuple[tuple[str, ...], int], RtlResult] = field(default_factory=dict)
    """The results of the current mutant. The stage of cycles uses the runs that the stage of programs has made."""
    registers: str = ""
    counters: str = ""
    verilog: str = ""
    mutants: list[Mutant] = field(default_factory=list)

    def __post_init__(self) -> None:
        drawn = (random_program(self.config, seed) for seed in count())
        names = self.instructions
        self._drawn = (each for each in drawn if not names or any(op.name in names for op in each.ops))
        self.verilog, self.mutants = mutated(self.config, self.count, self.seed, self.cache, self.modules)

    def stage(self, name: str, mutant: Mutant) -> str | None:
        """Says how the mutant shows in this stage, or None."""
        if name == EQUIVALENT:
            return "proved" if proved_equivalent(netlist_of(self.config, self.cache), mutant) else None
        machine = self._machine(mutant.number)
        machine.build()  # What cannot be built has been found by nothing.
        stages: dict[str, Callable[[RtlMachine], str | None]] = {
            PROGRAMS: self._by_programs, CYCLES: self._by_cycles, SPOILED: self._by_spoiled, BENCHES_STAGE: self._by_benches,
            FIELDS: self._by_fields,
        }  # fmt: skip
        try:
            return stages[name](machine)
        except SimulatorError as error:
            return str(error).partition("\n")[0]

    def _machine(self, number: int) -> RtlMachine:
        return RtlMachine(self.config, cache=self.cache, verilog=self.verilog, check=True, plusargs=(f"+{PLUSARG}={number}",))

    def _by_programs(self, machine: RtlMachine) -> str | None:
        self._results.clear()
        for number in range(self.programs):
            case = self._case(number)
            try:
                self._results[machine.plusargs, number] = self._run(machine, case.program, case.limit)
                actual = Outcome(self._results[machine.plusargs, number].memory)
            except MachineFault as fault:
                actual = Outcome(fault=(fault.fault, fault.pc))
            wrong = difference(case.expected, actual, case.allowed)
            if wrong is not None:
                return f"program {number}: {wrong}"
        return None

    def _by_benches(self, machine: RtlMachine) -> str | None:
        if not self.registers:
            self.registers = register_file(self._machine(0))
        if register_file(machine) != self.registers:
            return "registers: other answers"
        twice = _twice(self.config)
        if not self.counters:
            self.counters = counters_after(self._machine(0), twice, BENCH_LIMIT)
        if counters_after(machine, twice, BENCH_LIMIT) != self.counters:
            return "programs in a row: other counters"
        self._benches = self._benches or [
            (f"bench {bench.name}, scenario {number}", scenario)
            for bench in BENCHES if bench.scenarios
            for number, scenario in enumerate(bench.scenarios(self.config))
        ]  # fmt: skip
        for name, scenario in self._benches:
            wrong = play(machine, scenario, BENCH_LIMIT)
            if wrong is not None:
                return f"{name}: {wrong}"
        return None

    def _by_fields(self, machine: RtlMachine) -> str | None:
        self._fields = self._fields or list(field_scenarios(self.config, names=self.instructions))
        for number, scenario in enumerate(self._fields):
            wrong = play(machine, scenario, BENCH_LIMIT)
            if wrong is not None:
                return f"fields, scenario {number}: {wrong}"
        return None

    def _by_cycles(self, machine: RtlMachine) -> str | None:
        for number in range(self.programs):
            case = self._case(number)
            reference = case.reference
            if reference is None:
                continue
            actual = self._results.get((machine.plusargs, number)) or self._run(machine, case.program, case.limit)
            for name in ("cycles", "read_beats", "write_beats", "counters", "trace"):
                if getattr(actual, name) != getattr(reference, name):
                    return f"program {number}: other {name.replace('_', ' ')}"
        return None

    def _by_spoiled(self, machine: RtlMachine) -> str | None:
        if not self._spoiled:
            programs = (faulty_program(self.config, number) for number in range(SPOILED_PROGRAMS))
            cases = (Case(p, functional(p), endings(p, memory_of(p)), None) for p in programs)
            self._spoiled = [case for case in cases if not self.instructions or self._blamed(case) in self.instructions]
        for number, case in enumerate(self._spoiled):
            actual = rtl(machine)(case.program)
            # A bad beat of the memory may come before the spoiled instruction.
            if actual.fault not in case.allowed and not stops_alike(case.expected, actual):
                return f"spoiled program {number}: expected {case.expected.fault}, got {actual.fault} {actual.failure}"
        return None

    def _blamed(self, case: Case) -> str:
        """The name of the instruction that must stop a spoiled program, before it was spoiled."""
        assert case.expected.fault is not None
        ends = accumulate((op.row.length for op in case.program.ops), initial=BY_NAME["START"].length)
        return case.program.ops[list(ends).index(case.expected.fault[1])].name

    def _case(self, number: int) -> Case:
        while len(self._cases) <= number:
            program = next(self._drawn)
            allowed = endings(program, memory_of(program))
            reference = None if allowed else self._run(self._machine(0), program, MOST_CYCLES)
            self._cases.append(Case(program, functional(program), allowed, reference))
        return self._cases[number]

    def _run(self, machine: RtlMachine, program: RandomProgram, limit: int) -> RtlResult:
        stalls = program.seed if program.seed % 4 else None
        return machine.run(
            program.words, program.memory, program.bases, stalls_seed=stalls, watchdog=PATIENCE, max_cycles=limit, trace=True,
            dram=memory_of(program),
        )  # fmt: skip


def _twice(config: MachineConfig) -> Scenario:
    """A program over all units that runs twice."""
    program = random_program(config, 7, size=30)
    scenario = Scenario(config, program.memory, program.bases)
    scenario.start(program.words)
    scenario.start(program.words)
    return scenario


class Hunted(Protocol):
    """The stages that mutants can be sent through."""

    def stage(self, name: str, mutant: Mutant) -> str | None: ...


def met(hunt: Hunted, mutant: Mutant) -> tuple[str, str] | None:
    """The stage that finds the mutant, and how; later stages do not run. None if it survives all."""
    for stage in STAGES:
        found = hunt.stage(stage, mutant)
        if found:
            return stage, found
    return None
