"""Whole networks on the generated Verilog: memory is the functional simulator's in every byte.

``make rtl-full`` does the same for the large networks, on ``base``.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from compiler.frontend.reader import Source
from compiler.zoo.networks import networks
from sim.runtime.engine import FunctionalEngine, RtlEngine
from sim.runtime.run import Run
from tests.e2e.network_runs import compiled
from tests.e2e.trained import trained
from tilewright.api import random_inputs

DIGITS = Path(__file__).parents[2] / "demo" / "digits.onnx"
TRAINED = ("resnet8_int8_qdq.onnx", "vww_mobilenet_int8_qdq.onnx", "kws_dscnn_int8_qdq.onnx")
SMALL = {"deeplab": {"size": 32, "width": 8}, "unet": {"size": 16, "width": 8}}
"""With a memory below 1 MB, as the trained ones: one simulator serves all."""
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
    assert rtl.measured.cycles > 0


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("strategy", ["naive", "best"])
def test_demo(config: str, strategy: str) -> None:
    same_memory(DIGITS, config, strategy)


def test_demo_with_a_memory_that_stalls_at_random() -> None:
    same_memory(DIGITS, "nano", stalls_seed=3)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("name", TRAINED)
def test_trained_network(name: str, config: str) -> None:
    same_memory(trained(name), config)


@pytest.mark.parametrize("name", SMALL)
def test_network_of_random_weights(name: str) -> None:
    same_memory(networks()[name](**SMALL[name]), "nano")
