"""Cycles of random programs are held against the cycle model, where it knows the memory."""

from __future__ import annotations

import re

import numpy as np
import pytest

from isa.config import preset
from sim.cycle.model import CycleModel
from sim.random import fuzz
from sim.random.engines import Outcome
from sim.random.program import random_program
from sim.random.timed import wrong_cycles

NANO = preset("nano")
PLAIN, STALLED = (random_program(NANO, seed) for seed in (4, 5))
TOLD = CycleModel(NANO).run(PLAIN.words).cycles
DONE = np.zeros(0, np.uint8)


@pytest.mark.parametrize(("share", "right"), [(1.0, True), (0.92, True), (1.1, True), (0.9, False), (1.2, False)])
def test_a_tenth_of_the_cycles_is_allowed(share: float, right: bool) -> None:
    cycles = round(share * TOLD)
    wrong = wrong_cycles(PLAIN, Outcome(DONE, cycles=cycles))
    told = f"{cycles} cycles, but {TOLD} by the cycle model: more than 10% apart"
    assert wrong == (None if right else told)


def test_of_other_memories_and_of_programs_that_stop_nothing_is_said() -> None:
    assert wrong_cycles(STALLED, Outcome(DONE, cycles=1)) is None
    assert wrong_cycles(PLAIN, Outcome(cycles=1)) is None
    assert wrong_cycles(STALLED, Outcome(DONE, cycles=1), stalls=False) is not None


def test_fuzzing_tells_cycles_that_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an engine that leaves the right memory too soon."""
    monkeypatch.setattr(fuzz, "rtl_machine", lambda *_, **__: None)
    monkeypatch.setattr(fuzz, "rtl", lambda *_, **__: lambda program: Outcome(DONE, cycles=1))
    monkeypatch.setattr(fuzz, "wrong_on_rtl", lambda *_, **__: None)
    _, wrong = fuzz.comparison(NANO, "rtl", stalls=True)(PLAIN)
    assert wrong is not None
    assert re.fullmatch(r"1 cycles, but \d+ by the cycle model: more than 10% apart", wrong)
