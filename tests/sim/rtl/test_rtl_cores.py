"""Several machines on the RTL: each is one machine, whatever the others do; DRAM is shared; nobody answers beyond the last."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pytest

from isa.config import preset
from isa.faults import Fault
from isa.instructions import Region
from isa.registers import ID_VALUE, Control, Register, Status
from sim.random.engines import functional
from sim.random.program import RandomProgram, random_program
from sim.rtl.build import bench_defines
from sim.rtl.memory import Dram
from sim.rtl.told import ToldChip
from sim.rtl.tools import SimulatorError
from sim.runtime.board import write_pair
from sim.runtime.chip import ChipMachine, ChipMemory

NANO = preset("nano")
CORES = 2
SHARE = 1 << 20
"""Bytes of memory of each machine."""
CODE = SHARE // 2
"""Where in them its program is."""
SHARED = Dram(total=NANO.axi_bytes)
"""What one machine alone can take."""
LONG = 200_000
"""Cycles within which every random program is over."""


@dataclass(frozen=True)
class One:
    """One machine of the chip, and what it is to run."""

    machine: ChipMachine

    def start(self, program: RandomProgram) -> None:
        machine, first = self.machine, self.machine.dram.address
        machine.dram.put(first, program.memory)
        machine.dram.put(first + CODE, np.array(program.words, "<u4").view(np.uint8))
        write_pair(machine, Register.PROGRAM_LO, first + CODE)
        machine.write(Register.PROGRAM_WORDS, len(program.words))
        for region in Region:
            write_pair(machine, Register.BASE_CONST_LO + 8 * region, first + program.bases[region])
        machine.arm()
        machine.write(Register.CONTROL, Control.START)

    def finish(self) -> int:
        """Its status when it is done or stopped, and idle."""
        for _ in range(LONG):
            status = self.machine.read(Register.STATUS)
            if status & (Status.DONE | Status.ERROR) and status & Status.IDLE:
                self.machine.write(Register.IRQ_PENDING, 1)
                return status
        raise AssertionError("the program does not end")

    def memory_of(self, program: RandomProgram) -> bytes:
        return self.machine.dram.get(self.machine.dram.address, program.memory.size).tobytes()


@contextmanager
def chip(dram: Dram = SHARED, stalls_seed: int | None = None) -> Iterator[tuple[ToldChip, list[One]]]:
    with ToldChip(NANO, CORES, CORES * SHARE, dram=dram, check=True, brief=True, stalls_seed=stalls_seed) as told:
        memory = ChipMemory(told, 0, told.memory_bytes)
        yield told, [One(ChipMachine(told, n, memory.part(n * SHARE, SHARE))) for n in range(CORES)]
        told.close()


def expected(program: RandomProgram) -> bytes:
    memory = functional(program).memory
    assert memory is not None
    return memory.tobytes()


def run_both(ones: list[One], programs: list[RandomProgram]) -> None:
    for one, program in zip(ones, programs, strict=True):
        one.start(program)
    for one, program in zip(ones, programs, strict=True):
        assert one.finish() & Status.DONE, program.seed
        assert one.memory_of(program) == expected(program), program.seed


def test_different_programs_at_the_same_time() -> None:
    with chip() as (_, ones):
        for seed in range(0, 8, 2):
            run_both(ones, [random_program(NANO, seed), random_program(NANO, seed + 1)])


@pytest.mark.slow
def test_random_programs_on_all_memories() -> None:
    for seed in range(0, 50, CORES):
        rng = random.Random(seed)
        dram = Dram(rng.choice((1, 20, 150, 400)), seed=seed + 1, disorder=rng.random() < 0.5, total=rng.choice((0, 3, 8, 16)))
        with chip(dram, seed if seed % 4 else None) as (_, ones):
            run_both(ones, [random_program(NANO, seed + n) for n in range(CORES)])


@pytest.mark.parametrize("stops", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_a_stop_of_one_leaves_the_other_running(stops: int) -> None:
    """Aborts and resets at any time of one: what the other computes does not change, nor what it computes itself after that."""
    program, other = random_program(NANO, 3), random_program(NANO, 4)
    rng = random.Random(stops)
    with chip() as (told, (first, second)):
        for control in rng.choices((Control.ABORT, Control.RESET), k=stops):
            second.start(other)
            first.start(program)
            told.wait(rng.randrange(2_000))
            first.machine.write(Register.CONTROL, control)
            while not first.machine.read(Register.STATUS) & Status.IDLE:
                told.wait(10)
            assert second.finish() & Status.DONE
            assert second.memory_of(other) == expected(other)
            first.start(program)
            assert first.finish() & Status.DONE
            assert first.memory_of(program) == expected(program)


def test_a_fault_of_one_leaves_the_other_running() -> None:
    program, other = random_program(NANO, 5), random_program(NANO, 6)
    broken = replace(program, words=(*program.words[:-1], 0x1FF))
    with chip() as (_, (first, second)):
        second.start(other)
        first.start(broken)
        assert first.finish() & Status.ERROR
        assert first.machine.read(Register.ERROR_CODE) == Fault.ILLEGAL_OPCODE
        assert second.finish() & Status.DONE
        assert second.machine.read(Register.ERROR_CODE) == Fault.NONE
        assert second.memory_of(other) == expected(other)


def test_the_interrupt_is_that_of_any_machine() -> None:
    program = random_program(NANO, 3)
    with chip() as (told, ones):
        for one in ones:
            assert not told.wait(1)
            one.start(program)
            assert told.wait(LONG)
            pending = [other.machine.read(Register.IRQ_PENDING) for other in ones]
            assert pending == [int(other is one) for other in ones], "who it was"
            one.machine.write(Register.IRQ_PENDING, 1)


def test_shared_memory_takes_longer() -> None:
    """Two machines on the DRAM of one: no faster than its bytes, no slower than one after the other."""
    program = random_program(NANO, 8)
    cycles = {}
    for total in (1, 4, 64):
        with chip(Dram(total=total)) as (_, ones):
            run_both(ones, [program, program])
            cycles[total] = ones[0].machine.read(Register.CYCLES_LO)
            beats = ones[0].machine.read(Register.READ_BEATS) + ones[0].machine.read(Register.WRITE_BEATS)
    assert cycles[1] >= beats * NANO.axi_bytes
    assert cycles[1] > cycles[4] > cycles[64]


def test_registers_beyond_the_last_are_refused() -> None:
    with chip() as (told, _):
        for core in range(CORES):
            assert (told.read(0x1000 * core + Register.ID), told.refused) == (ID_VALUE, False)
            told.read(0x1000 * core + 0xFFC)
            assert told.refused
            told.write(0x1000 * core + 0xFFC, 1)
            assert told.refused


def test_more_ports_than_the_bench_has() -> None:
    message = r"cores 5: with 2 ports each .* they have 10 to memory, and the bench connects 8; ask for 4"
    with pytest.raises(SimulatorError, match=message):
        bench_defines(replace(NANO, axi_ports=2), 5)


def test_a_simulation_that_ends_says_why() -> None:
    with pytest.raises(SimulatorError, match="status 2: beyond memory: get 4194300 64"), chip() as (told, _):
        told.get(told.memory_bytes - 4, 64)
