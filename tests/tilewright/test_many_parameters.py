"""What parameters take: weights that several layers share are stored once, and a layer that takes far more is named."""

from __future__ import annotations

import warnings
from itertools import pairwise

import onnx
import pytest

from compiler.driver import Compiled
from compiler.quantise.statistics import CalibrationWarning
from tests.compiler.frontend.quantised_models import model, node, weights
from tilewright.compiling import compile_model
from tilewright.parameters import ManyParameters
from tilewright.summary import summary


def compiled(proto: onnx.ModelProto) -> Compiled:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return compile_model(proto, "base", strategy="naive", cache=False)


def steps(count: int) -> onnx.ModelProto:
    """A recurrence over so many steps."""
    names = ["x", *(f"h{i}" for i in range(1, count)), "y"]
    nodes = [node("MatMul", f"{a} W", b) for a, b in pairwise(names)]
    return model(nodes, (1, 64), {"W": weights(64, 64, scale=0.1)})


def test_weights_of_an_unrolled_recurrence_are_stored_and_counted_once() -> None:
    two, six = (compiled(steps(count)) for count in (2, 6))
    assert 64 * 64 < summary(two).parameter_bytes <= summary(six).parameter_bytes < 2 * 64 * 64 + 6 * 1024


def test_a_layer_whose_kernel_fills_few_lanes_is_named() -> None:
    """One channel of sixteen lanes."""
    kernel = model([node("Conv", "x w")], (1, 1, 400), {"w": weights(64, 1, 200)})
    with pytest.warns(ManyParameters, match=r"205,\d+ bytes.*13,\d+: most come with Conv_y, whose 13,\d+ become 205,"):
        compiled(kernel)


def test_weights_behind_a_conversion_count_as_the_models() -> None:
    compiled(model([node("ConvTranspose", "x w", strides=[2, 2])], (1, 64, 8, 8), {"w": weights(64, 64, 4, 4)}))
