"""The bench around the machine, with a stand-in that copies the program to the base of OUTPUT."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isa.config import preset
from isa.faults import Fault, MachineFault
from isa.instructions import Region, Unit
from sim.rtl.machine import RtlMachine, RtlTimeout, parse_trace, read_dump
from sim.rtl.tools import SimulatorError
from tests.tools import needs

NANO = replace(preset("nano"), build_pool=False, build_misc=False)
STANDIN = (Path(__file__).parent / "standin_core.v").read_text()
PROGRAM = [0x11111111 * n for n in range(1, 12)]
MEMORY = np.random.default_rng(1).integers(0, 256, 4096, np.uint8)
OUTPUT = 0x800
TURN = 69
"""Cycles that the stand-in takes for a beat: a read of 64, and its own states."""


@pytest.fixture(scope="module", params=["verilator", pytest.param("icarus", marks=needs("iverilog"))])
def machine(request: pytest.FixtureRequest) -> RtlMachine:
    return RtlMachine(NANO, request.param, verilog=STANDIN, check=True)


def expected() -> np.ndarray:
    after = MEMORY.copy()
    after[OUTPUT : OUTPUT + 44] = np.array(PROGRAM, "<u4").view(np.uint8)
    return after


def test_memory_goes_in_and_comes_out(machine: RtlMachine) -> None:
    result = machine.run(PROGRAM, MEMORY, {Region.OUTPUT: OUTPUT})
    assert np.array_equal(result.memory, expected())
    assert result.cycles == 6 * TURN


def test_same_result_with_stalls_but_slower(machine: RtlMachine) -> None:
    result = machine.run(PROGRAM, MEMORY, {Region.OUTPUT: OUTPUT}, stalls_seed=5)
    assert np.array_equal(result.memory, expected())
    assert result.cycles > 6 * TURN


def test_the_checker_is_silent_about_what_registers_hold_before_reset() -> None:
    garbled = RtlMachine(NANO, verilog=STANDIN, check=True, garbage=True)
    for seed in range(5):
        result = garbled.run(PROGRAM, MEMORY, {Region.OUTPUT: OUTPUT}, garbage_seed=seed)
        assert np.array_equal(result.memory, expected()), seed


def test_trace_pairs_starts_with_finishes(machine: RtlMachine) -> None:
    trace = machine.run(PROGRAM, MEMORY, {Region.OUTPUT: OUTPUT}, trace=True).trace
    assert [event.pc for event in trace] == [0, 2, 4, 6, 8, 10]
    assert {event.unit for event in trace} == {Unit.LOAD}
    assert all(event.finish is not None and event.finish - event.start == TURN - 1 for event in trace)


def test_a_write_outside_memory_is_answered_with_an_error(machine: RtlMachine) -> None:
    with pytest.raises(MachineFault) as caught:
        machine.run(PROGRAM, MEMORY, {Region.OUTPUT: MEMORY.size - 8})
    assert caught.value.fault is Fault.WRITE_ERROR
    assert caught.value.pc == 2


def test_a_machine_that_never_ends_is_a_timeout(machine: RtlMachine) -> None:
    with pytest.raises(RtlTimeout, match="within 100 cycles"):
        machine.run([1] * 100, MEMORY, {Region.OUTPUT: OUTPUT}, max_cycles=100)


def test_an_image_of_broken_beats_is_refused(machine: RtlMachine) -> None:
    with pytest.raises(SimulatorError, match="multiple of the 8-byte AXI beat"):
        machine.run(PROGRAM, MEMORY[:-3], {})


@needs("iverilog")
def test_protocol_violations_are_found() -> None:
    broken = STANDIN.replace("assign m_axi_wlast = 1'b1;", "assign m_axi_wlast = done_words[1];")
    with pytest.raises(SimulatorError, match="AXI rule 5"):
        RtlMachine(NANO, "icarus", verilog=broken, check=True).run(PROGRAM, MEMORY, {Region.OUTPUT: OUTPUT}, max_cycles=3000)


@needs("iverilog")
def test_verilog_that_does_not_build_is_reported_with_the_output(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match="iverilog failed"):
        RtlMachine(NANO, "icarus", tmp_path, verilog="module tilewright_core(; endmodule").build()
    assert [path.suffix for path in (tmp_path / "rtl").iterdir()] == [".lock"]


def test_a_missing_tool_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    with pytest.raises(SimulatorError, match=r"'g\+\+' is not on PATH; install it, for example: apt install g\+\+"):
        RtlMachine(NANO, verilog=STANDIN).build()


def test_an_unknown_simulator_is_refused() -> None:
    with pytest.raises(SimulatorError, match="'modelsim': unknown; known are verilator, icarus"):
        RtlMachine(NANO, "modelsim")


def test_an_instruction_in_work_has_no_finish() -> None:
    events = parse_trace("S 2 10 1\nS 3 11 40\nF 2 20\nS 2 21 60\n")
    assert [(e.unit, e.pc, e.start, e.finish) for e in events] == [
        (Unit.CONV, 1, 10, 20),
        (Unit.POOL, 40, 11, None),
        (Unit.CONV, 60, 21, None),
    ]


@pytest.mark.parametrize("digit", "xXzZ")
def test_unknown_bits_in_a_dump_are_named_with_their_beat(digit: str) -> None:
    """Icarus writes a digit of which all bits are unknown in small letters, others in capitals."""
    with pytest.raises(SimulatorError, match=rf"wrote unknown bits \({digit}\), first into beat 2"):
        read_dump(f"00ff\n1234\n00{digit}0\nxxxx\n", 2)
    np.testing.assert_array_equal(read_dump("00ff\n1234\n", 2), [0xFF, 0x00, 0x34, 0x12])
