"""Whole networks on the generated Verilog: memory is the functional simulator's in every byte.

``make rtl-full`` does the same for the large networks, on ``base``.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from compiler.frontend.reader import Source
from sim.runtime.engine import FunctionalEngine, RtlEngine
from sim.runtime.run import Run
from tests.e2e.light import DIGITS, LIGHT, TRAINED
from tests.e2e.network_runs import compiled
from tilewright.inputs import random_inputs

LARGER = [config for config in os.environ.get("TILEWRIGHT_RTL_CONFIGS", "").split(",") if config]
"""Further configurations, whose simulators take a while to build: ``make rtl-full`` names them."""
CONFIGS = ["nano", *LARGER]


def same_memory(source: Source, config: str, strategy: str = "naive", stalls_seed: int | None = None) -> None:
    program = compiled(source, config, strategy=strategy).program
    inputs = random_inputs(program)
    functional = Run(program, FunctionalEngine(program.config))
    rtl = Run(program, RtlEngine(program.config, stalls_seed=stalls_seed))
    expected, outputs = functional(inputs), rtl(inputs)
    assert int((functional.image.memory != rtl.image.memory).sum()) == 0
    assert all(np.array_equal(outputs[name], value) for name, value in expected.items())
    assert rtl.measured.counted_cycles > 0


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("strategy", ["naive", "best"])
def test_demo(config: str, strategy: str) -> None:
    same_memory(DIGITS, config, strategy)


def test_demo_with_a_memory_that_stalls_at_random() -> None:
    same_memory(DIGITS, "nano", stalls_seed=3)


@pytest.mark.parametrize(
    ("name", "config"), [*((name, "nano") for name in LIGHT), *((name, config) for config in LARGER for name in TRAINED)]
)
def test_light_network(name: str, config: str) -> None:
    same_memory(LIGHT[name](), config)
