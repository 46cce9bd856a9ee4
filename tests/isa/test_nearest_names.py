"""Names that people get nearly right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.driver import check_choices, objective_of
from compiler.memory.least_order import ordering_of
from compiler.papers.optimus.architectures import architecture_named
from compiler.search.effort import effort_of
from hw.delivery.boards import board_named
from isa.config import config_from_dict, load_config, preset
from isa.errors import TilewrightError
from isa.names import nearest
from sim.proof.proofs import run_proofs
from tilewright.evaluators import measure_of
from tilewright.session import Session

NANO = preset("nano")


@pytest.mark.parametrize(
    ("name", "told"),
    [("complie", "compile"), ("OPS", "ops"), ("compile", "compile"), ("zzz", None), ("", None)],
)
def test_the_nearest_name_is_suggested_if_one_is_near(name: str, told: str | None) -> None:
    assert nearest(name, ["check", "compile", "ops"]) == (f", did you mean {told!r}?" if told else "")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (lambda: check_choices("optimsu", "cycles"), "strategy 'optimsu': unknown, did you mean 'optimus'?; known are naive, "),
        (lambda: objective_of("cycle"), "objective 'cycle': unknown, did you mean 'cycles'?; known are "),
        (lambda: effort_of("quik"), "effort 'quik': unknown, did you mean 'quick'?; known are "),
        (lambda: ordering_of("lest"), "order 'lest': unknown, did you mean 'least'?; known are "),
        (lambda: architecture_named("eyeris"), "architecture 'eyeris': unknown, did you mean 'eyeriss'?; known are "),
        (lambda: measure_of("cycles", NANO), "evaluator 'cycles': unknown, did you mean 'cycle'?; known are "),
        (lambda: Session("x.elf", engine="functionl"), "engine 'functionl': unknown, did you mean 'functional'?; known are "),
        (lambda: board_named("zcu-102", NANO), "board 'zcu-102': unknown, did you mean 'zcu102'?; known are "),
        (lambda: next(run_proofs(NANO, ["token"])), "proof 'token': unknown, did you mean 'tokens'?; known are "),
        (lambda: load_config("bas"), "nor a .toml file, did you mean 'base'?"),
        (lambda: config_from_dict({"base": "nan"}, origin="x"), "preset 'nan': unknown, did you mean 'nano'?; known are "),
        (lambda: config_from_dict({"base": "nano", "oc": 1}, origin="x"), "field 'oc', did you mean 'oc_p'?; known are "),
    ],
)  # fmt: skip
def test_an_error_for_an_unknown_name_suggests_it(asked: Callable[[], object], told: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        asked()
    assert told in str(caught.value)
