"""Whole networks on the generated Verilog: memory is the functional simulator's in every byte.

``make rtl-full`` does the same for the large networks, on ``base``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.frontend.reader import Source
from compiler.zoo.exports import exports
from compiler.zoo.networks import networks
from compiler.zoo.quantised import quantised
from sim.runtime.engine import FunctionalEngine, RtlEngine
from sim.runtime.run import Run
from tests.compiler.frontend.quantised_models import model, node, weights
from tests.e2e.network_runs import compiled
from tests.e2e.trained import trained
from tilewright.api import random_inputs

DIGITS = Path(__file__).parents[2] / "demo" / "digits.onnx"
TRAINED = ("resnet8_int8_qdq.onnx", "vww_mobilenet_int8_qdq.onnx", "kws_dscnn_int8_qdq.onnx")
SMALL = {"deeplab": {"size": 32, "width": 8}, "unet": {"size": 16, "width": 8}}
"""With a memory below 1 MB, as the trained ones: one simulator serves all."""
QUANTISED = (("unet", "uint8", "per channel", "QDQ"), ("unet_resize", "int8", "per tensor", "QOperator"))
"""Quantised by onnxruntime's own tools."""
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


@pytest.mark.parametrize(("name", "activations", "weights", "form"), QUANTISED)
def test_network_quantised_by_onnxruntime(name: str, activations: str, weights: str, form: str) -> None:
    source = networks()[name](size=16, width=4).SerializeToString()
    same_memory(quantised(source, activations, weights, form), "nano")


def test_resizes_and_edges() -> None:
    """Rows interleaved three for two, edges repeated, a transposed convolution by eight on POOL, an edge reflected."""
    table: dict[str, NDArray[Any]] = {
        "w": weights(5, 3, 3, 3), "v": weights(4, 5, 3, 3), "size": np.array([1, 5, 6, 8], np.int64),
        "factors": np.array([1, 1, 8, 8], np.float32), "pads": np.array([0, 0, 2, 1, 0, 0, 0, 2], np.int64),
    }  # fmt: skip
    nodes = [
        node("Conv", "x w", "a"),
        node("Resize", "a _ _ size", "b", mode="nearest", coordinate_transformation_mode="asymmetric"),
        node("Resize", "b _ factors", "c", mode="linear"), node("Pad", "c pads", "d", mode="reflect"), node("Conv", "d v"),
    ]  # fmt: skip
    same_memory(model(nodes, (1, 3, 6, 10), table), "nano")


def test_tokens() -> None:
    """A transformer: patches at a stride of 16, dense layers on rows, residuals; attention on the CPU between them."""
    same_memory(exports()["vit_tiny"](size=32, width=12, depth=1, classes=5), "nano")


def test_reductions_over_channels() -> None:
    """Mean and maximum of nine channels, side by side into a gate for each pixel: spatial attention."""
    table: dict[str, NDArray[Any]] = {"w": weights(9, 3, 3, 3), "v": weights(1, 2, 3, 3)}
    nodes = [
        node("Conv", "x w", "a"), node("ReduceMean", "a", "m", axes=[1]), node("ReduceMax", "a", "h", axes=[1]),
        node("Concat", "m h", "s", axis=1), node("Conv", "s v", "t", pads=[1, 1, 1, 1]), node("Sigmoid", "t", "g"),
        node("Mul", "a g"),
    ]  # fmt: skip
    same_memory(model(nodes, (1, 3, 8, 7), table), "nano")
