"""A disagreement is shrunk to the smallest program that shows it, kept, and run again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isa.config import MachineConfig, preset
from sim.campaign.run import How
from sim.random import fuzz
from sim.random.engines import Outcome, difference, functional
from sim.random.fuzz import FuzzError, load_case, run_fuzz
from sim.random.program import RandomProgram, random_program
from sim.random.shrink import shrink, smaller
from sim.rtl.machine import RtlMachine
from sim.rtl.tools import MissingToolError

NANO = preset("nano")


def broken(program: RandomProgram) -> Outcome:
    """An engine that goes wrong on every POOL with more than two channel vectors."""
    outcome = functional(program)
    assert outcome.memory is not None
    if any(op.name == "POOL" and op["vectors"] > 2 for op in program.ops):
        outcome.memory[0] ^= 1
    return outcome


def first_failing() -> RandomProgram:
    for seed in range(100):
        program = random_program(NANO, seed)
        if difference(functional(program), broken(program)):
            return program
    raise AssertionError("no program shows the error")


def test_shrinking_leaves_the_one_instruction_in_its_smallest_form() -> None:
    smallest = shrink(first_failing(), lambda program: difference(functional(program), broken(program)) is not None)
    assert len(smallest.ops) == 1
    op = smallest.ops[0]
    assert (op.name, op["vectors"], op["k_h"], op["k_w"], op["o_h"], op["o_w"]) == ("POOL", 3, 1, 1, 1, 1)
    assert smallest.order == "serial"


def test_fuzzing_keeps_the_case_with_its_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "rtl", lambda machine, stalls: broken)
    monkeypatch.setattr(fuzz, "wrong_cycles", lambda *_, **__: None)
    lines: list[str] = []
    seed = first_failing().seed
    report = run_fuzz(NANO, seed, 5, directory=tmp_path, report=lines.append)
    assert not report.ok
    assert report.programs == 1
    assert lines == report.failures
    assert f"seed {seed}: 1 bytes differ, first at DRAM byte 0x0" in lines[0]
    case = load_case(tmp_path / f"nano-{seed}")
    assert case.seed == seed
    assert difference(functional(case), broken(case)) is not None
    assert (tmp_path / f"nano-{seed}" / "program.txt").read_text().startswith("START")


def test_what_crashes_is_wrong_and_the_others_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crashing(program: RandomProgram) -> Outcome:
        return Outcome(cycles=1 // (program.seed - 4)) if program.seed == 4 else functional(program)

    lines: list[str] = []
    monkeypatch.setattr(fuzz, "rtl", lambda machine, stalls: crashing)
    report = run_fuzz(NANO, 3, 3, directory=tmp_path, report=lines.append, keep_going=True)
    assert report.programs == 3
    (line,) = report.failures
    assert lines == [line]
    assert line.startswith("nano, seed 4: crashed: ZeroDivisionError: integer division or modulo by zero (test_random_")
    assert "smallest program:" in line
    assert load_case(tmp_path / "nano-4").seed == 4


def test_a_program_that_cannot_be_drawn_is_wrong_and_the_others_are_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn(config: MachineConfig, seed: int, *, size: int) -> RandomProgram:
        if seed == 4:
            raise KeyError(seed)
        return random_program(config, seed, size=size)

    lines: list[str] = []
    monkeypatch.setattr(fuzz, "random_program", drawn)
    report = run_fuzz(NANO, 3, 3, "functional", directory=tmp_path, report=lines.append, keep_going=True)
    assert report.programs == 3
    (line,) = report.failures
    assert lines == [line]
    assert line.startswith("nano, seed 4: no program: crashed: KeyError: 4 (test_random_shrink.py:")
    assert list(tmp_path.iterdir()) == []


def test_a_simulator_that_is_missing_is_no_fault_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(program: RandomProgram) -> Outcome:
        raise MissingToolError("simulator verilator: not installed")

    monkeypatch.setattr(fuzz, "rtl", lambda machine, stalls: missing)
    with pytest.raises(MissingToolError, match="not installed"):
        run_fuzz(NANO, 0, 2, keep_going=True)


def test_workers_change_nothing_of_what_is_found() -> None:
    alone, shared = (run_fuzz(NANO, 3, 12, "functional", how=How(workers=n)) for n in (1, 2))
    alone.seconds = shared.seconds = 0
    assert alone == shared
    assert alone.programs == 12


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(FuzzError, match="'paper': unknown; known are functional, rtl, icarus"):
        run_fuzz(NANO, 0, 1, "paper")


def test_a_machine_is_only_made_when_hardware_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(RtlMachine, "run")
    assert run_fuzz(NANO, 0, 3, "functional").ok


@pytest.mark.parametrize(
    ("name", "value", "tried"), [("k_h", 7, [1, 4, 6]), ("k_h", 1, []), ("zp", -100, [0, -50]), ("i_addr", 9, [])]
)
def test_values_that_are_tried(name: str, value: int, tried: list[int]) -> None:
    assert list(smaller(name, value)) == tried


def test_differences_are_told_in_one_line() -> None:
    one, two = np.zeros(4, np.uint8), np.array([0, 3, 0, 9], np.uint8)
    assert difference(Outcome(one), Outcome(one.copy())) is None
    assert difference(Outcome(one), Outcome(two)) == "2 bytes differ, first at DRAM byte 0x1: expected 0x00, got 0x03"
    assert difference(Outcome(one), Outcome(failure="hangs")) == "hangs"
