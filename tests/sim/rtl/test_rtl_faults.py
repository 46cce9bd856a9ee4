"""Random programs with one illegal instruction stop at the same instruction for the same reason on both engines."""

from __future__ import annotations

import pytest

from isa.config import preset
from isa.faults import Fault
from sim.random.engines import Outcome, functional, rtl, rtl_machine
from sim.random.faulty import faulty_program, stops_alike
from sim.random.memories import endings, memory_of


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


def test_another_instruction_or_another_kind_of_fault_is_not_alike() -> None:
    stop = Outcome(fault=(Fault.FM_ADDRESS, 7))
    assert stops_alike(stop, Outcome(fault=(Fault.BUFFER_ADDRESS, 7)))
    assert not stops_alike(stop, Outcome(fault=(Fault.FM_ADDRESS, 8)))
    assert not stops_alike(stop, Outcome(fault=(Fault.ILLEGAL_FIELD, 7)))
    assert not stops_alike(stop, Outcome())
