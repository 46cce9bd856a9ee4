"""Whole networks whose groups' schemes were chosen: bit for bit onnxruntime's, and compiled again from their schedule."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.planning.plan import Plan
from compiler.zoo.networks import networks
from isa.program_file import program_bytes
from tests.e2e.network_runs import compiled, differing

CASES: list[tuple[str, int, str, dict[str, Any], dict[str, Any]]] = [
    ("squeezenet", 32, "base", {"strategy": "neocpu"}, {}),
    ("squeezenet", 64, "zu9", {"strategy": "neocpu"}, {"keep_float": ["fire5/conv1"]}),
    ("squeezenet", 64, "zu2", {"strategy": "best", "effort": "full"}, {}),
]


@pytest.mark.parametrize(
    ("name", "size", "config", "how", "form"),
    [
        pytest.param(*case, marks=pytest.mark.slow if number else (), id=f"{case[0]}-{case[2]}-{case[3]['strategy']}")
        for number, case in enumerate(CASES)
    ],
)
def test_networks(name: str, size: int, config: str, how: dict[str, Any], form: dict[str, Any]) -> None:
    model = networks()[name](size=size, classes=10)
    found = compiled(model, config, cache=False, **how, **form)
    assert any(isinstance(step, Plan) and not step.wanted.free for step in found.steps), "some other scheme was chosen"
    assert differing(found.program) == 0
    repeated = compiled(model, config, schedule=found.schedule, cache=False, **form)
    assert program_bytes(found.program) == program_bytes(repeated.program)
