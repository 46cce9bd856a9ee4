"""Each property holds of its part, and no longer of the part broken on purpose."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isa.config import preset
from sim.proof import proofs
from sim.proof.engine import Verdict, prove
from sim.proof.fault import Fault, ProofError, broken
from sim.proof.harness import Checks, Inside
from sim.proof.proofs import PROOFS, run_proofs
from sim.proof.solver import commands

NANO = preset("nano")


SHIFTS = "requantise-rounding-"
QUICK = [name for name in PROOFS if not name.startswith(SHIFTS) or name == f"{SHIFTS}32"]
"""One of the sixteen shifts stands for all here."""


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_the_property_is_proved_and_every_fault_noticed(name: str) -> None:
    assert prove(PROOFS[name], NANO).failure is None


def test_every_fault_has_its_place() -> None:
    """What the slow test above does at length."""
    for proof in PROOFS.values():
        for fault in proof.faults:
            with broken(fault):
                pass


def test_what_does_not_hold_is_named_with_its_line_and_its_waveform(tmp_path: Path) -> None:
    def wrong(checks: Checks, part: Any, inside: Inside) -> None:
        checks.holds(part.out < 2)

    verdict = prove(replace(PROOFS["credits"], properties=wrong, faults=(), depth=4), NANO, trace=tmp_path)
    assert verdict.failure is not None
    assert verdict.failure.startswith("from the reset: Assert failed in top: ")
    assert "test_proofs.py:" in verdict.failure
    assert "$enddefinitions" in (tmp_path / "credits.vcd").read_text()


def test_what_holds_from_reset_and_not_by_induction_is_not_proved() -> None:
    def too_weak(checks: Checks, part: Any, inside: Inside) -> None:
        checks.given(~part.give & (part.take == 0))
        checks.holds(part.out < 2)

    assert prove(replace(PROOFS["credits"], properties=too_weak, faults=(), induction=False), NANO).failure is None
    failure = prove(replace(PROOFS["credits"], properties=too_weak, faults=()), NANO).failure
    assert failure is None, "a register that keeps its value keeps what holds of it"

    def unreachable(checks: Checks, part: Any, inside: Inside) -> None:
        checks.given(~part.give & (part.take == 0))
        checks.holds(checks.past(checks.past(checks.past(part.out))) < 2)

    failure = prove(replace(PROOFS["credits"], properties=unreachable, faults=(), depth=1), NANO).failure
    assert failure is not None
    assert failure.startswith("from the step of the induction")


def test_a_property_that_cannot_fail_is_refused() -> None:
    def nothing(checks: Checks, part: Any, inside: Inside) -> None:
        checks.holds(part.out == part.out)

    failure = prove(replace(PROOFS["credits"], properties=nothing), NANO).failure
    assert failure is not None
    assert failure.endswith("the property proves nothing")


def test_a_fault_whose_place_is_gone_is_refused() -> None:
    with pytest.raises(ProofError, match="occurs 0 times, expected once"), broken(Fault("hw.axi.credits", "self.nothing", "")):
        pass


def test_a_proof_that_nobody_wrote_is_refused() -> None:
    with pytest.raises(ProofError, match=r"proof 'dreams': unknown; known are slice-order, "):
        list(run_proofs(NANO, ["dreams"]))


def test_how_far_it_is_and_how_long_it_still_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "prove", lambda proof, *_, **__: Verdict(proof, None, 0.0))
    said: list[str] = []
    assert len([*run_proofs(NANO, ["slice-order", "credits"], None, said.append)]) == 2
    assert said[0].startswith("yosys: the first run of a tool from PyPI translates it")
    for line, name in zip(said[1:], ("1 of 2, slice-order", "2 of 2, credits"), strict=True):
        assert re.fullmatch(rf"yosys \d\S+: proof {name}, about \d+ s left", line)


def test_commands_of_the_solver_end_with_their_brackets() -> None:
    lines = ["(set-logic QF_BV) ; (comment\n", "\n", "(declare-fun |a (b;| () Bool)\n", "(assert\n", "  |a (b;|)\n"]
    assert [*commands(lines)] == ["(set-logic QF_BV)", "(declare-fun |a (b;| () Bool)", "(assert\n  |a (b;|)"]
