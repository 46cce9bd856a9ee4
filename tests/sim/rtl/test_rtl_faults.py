"""Random programs with one illegal instruction stop at the same instruction for the same reason on both engines."""

from __future__ import annotations

import pytest

from isa.config import preset
from isa.faults import Fault, MachineFault
from isa.registers import Register, Status
from sim.random.engines import Outcome, functional, rtl, rtl_machine
from sim.random.faulty import faulty_program, stops_alike
from sim.random.memories import endings, memory_of
from sim.rtl.machine import raise_fault
from sim.rtl.tools import SimulatorError


@pytest.mark.parametrize(
    ("name", "count"),
    [("nano", 80), *(pytest.param(name, 8, marks=pytest.mark.slow) for name in ("base", "k26", "zu2", "zu9"))],
)
def test_spoiled_programs_stop_alike(name: str, count: int) -> None:
    run = rtl(rtl_machine(preset(name)))
    compared = 0
    for seed in range(count):
        program = faulty_program(preset(name), seed)
        expected, actual = functional(program), run(program)
        if actual.fault in endings(program, memory_of(program)):  # the memory's bad beat came before the spoiled instruction
            continue
        assert stops_alike(expected, actual), f"seed {seed}: expected {expected.fault}, got {actual.fault} {actual.failure}"
        compared += 1
    assert compared > count // 2


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (Status.ERROR, MachineFault, "instruction word 3: READ_ERROR"),
        (Status.ERROR | Status.DONE, MachineFault, "instruction word 3: READ_ERROR"),
        (Status.IDLE, SimulatorError, "neither done nor error"),
    ],
)
def test_what_the_registers_say_is_raised(status: Status, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        raise_fault({Register.STATUS: status, Register.ERROR_CODE: Fault.READ_ERROR, Register.ERROR_PC: 3})


def test_a_code_that_no_fault_has_is_told() -> None:
    with pytest.raises(SimulatorError, match="ERROR_CODE 16391: no fault has that code"):
        raise_fault({Register.STATUS: Status.ERROR, Register.ERROR_CODE: 0x4007, Register.ERROR_PC: 0})


def test_another_instruction_or_another_kind_of_fault_is_not_alike() -> None:
    stop = Outcome(fault=(Fault.FM_ADDRESS, 7))
    assert stops_alike(stop, Outcome(fault=(Fault.BUFFER_ADDRESS, 7)))
    assert not stops_alike(stop, Outcome(fault=(Fault.FM_ADDRESS, 8)))
    assert not stops_alike(stop, Outcome(fault=(Fault.ILLEGAL_FIELD, 7)))
    assert not stops_alike(stop, Outcome())
