"""A disagreement is shrunk to the smallest program that shows it, kept, and run again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isa.config import preset
from sim.campaign.run import How
from sim.random import fuzz
from sim.random.engines import Outcome, difference, functional
from sim.random.fuzz import FuzzError, load_case, run_fuzz
from sim.random.program import RandomProgram, random_program
from sim.random.shrink import shrink, smaller
from sim.rtl.machine import RtlMachine

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
