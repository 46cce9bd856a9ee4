"""Compiled networks as cocotb benches; ``make rtl-full`` runs the large ones on ``base`` too."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from bench.networks import sources
from isa.program import Program
from sim.rtl import program_bench
from sim.rtl.program_bench import run_program_bench
from sim.rtl.scenario import Scenario
from tests.e2e.network_runs import compiled
from tests.e2e.trained import trained
from tilewright.inputs import random_inputs

SHORT = ("digits", "resnet8_int8_qdq", "vww_mobilenet_int8_qdq", "kws_dscnn_int8_qdq")
LONG = ("squeezenet", "mobilenet_v2", "googlenet", "resnet50")
CONFIGS = [config for config in os.environ.get("TILEWRIGHT_RTL_CONFIGS", "").split(",") if config]
CASES = [(name, "nano") for name in SHORT] + [
    (name, config) for config in CONFIGS for name in (*SHORT, *(LONG if config == "base" else ()))
]


def program_of(name: str, config: str) -> Program:
    source = sources().get(name) or partial(trained, f"{name}.onnx")
    return compiled(source(), config).program


@pytest.mark.slow
@pytest.mark.parametrize(("name", "config"), CASES)
def test_network(name: str, config: str) -> None:
    program = program_of(name, config)
    assert run_program_bench(program, random_inputs(program)) is None


def test_network_under_random_stalls() -> None:
    program = program_of("digits", "nano")
    assert run_program_bench(program, random_inputs(program), stalls_seed=5) is None


def test_a_difference_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class AnotherByte(Scenario):
        def start(self, words: Sequence[int], **options: Any) -> None:
            super().start(words, **options)
            self.expected = self.expected.copy()
            self.expected[np.flatnonzero(self.expected)[0]] ^= 1

    monkeypatch.setattr(program_bench, "Scenario", AnotherByte)
    program = program_of("digits", "nano")
    failure = run_program_bench(program, random_inputs(program))
    assert failure is not None
    assert "machine step 0: " in failure
    assert "1 bytes of memory differ" in failure
