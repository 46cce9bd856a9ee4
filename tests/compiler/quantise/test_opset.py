"""Older operator sets are converted, with what else is in the model."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.errors import ModelError
from compiler.frontend.model import to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.quantise.opset import TARGET, modernised
from tests.compiler.frontend.quantised_models import model, node


def test_operators_of_other_domains_stay() -> None:
    net = read(model([node("Relu", "x", "r"), node("Gelu", "r", "y", "com.microsoft")], (1, 4), opset=TARGET - 1))
    found, values = modernised(net), {"x": np.arange(-1, 3, dtype=np.float32).reshape(1, 4)}
    assert found.opsets[""] == TARGET
    np.testing.assert_array_equal(run(to_proto(found), values)["y"], run(to_proto(net), values)["y"])


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("opset", "op", "scales"),
    [
        (9, "Upsample", (2, 2)), (9, "Upsample", (1.5, 1.7)), (10, "Resize", (2, 2)), (10, "Resize", (1.5, 1.7)),
        (10, "Resize", (0.5, 0.6)),
    ],
)  # fmt: skip
def test_an_old_resize_takes_the_same_pixels(mode: str, opset: int, op: str, scales: tuple[float, float]) -> None:
    resize = node(op, "x s", mode=mode)
    net = read(model([resize], (1, 1, 7, 9), {"s": np.array([1, 1, *scales], np.float32)}, opset=opset))
    values = {"x": np.arange(63, dtype=np.float32).reshape(1, 1, 7, 9)}
    np.testing.assert_array_equal(run(to_proto(modernised(net)), values)["y"], run(to_proto(net), values)["y"])


def test_an_old_resize_that_rounds_two_ways_is_refused() -> None:
    scales = {"s": np.array([1, 1, 2, 0.5], np.float32)}
    net = read(model([node("Resize", "x s", mode="nearest")], (1, 1, 6, 6), scales, opset=10))
    with pytest.raises(ModelError, match="each is rounded another way"):
        modernised(net)


def test_an_old_pad_may_have_a_value_that_it_does_not_read() -> None:
    net = read(model([node("Pad", "x", mode="reflect", pads=[0, 0, 1, 1, 0, 0, 1, 1], value=0.0)], (1, 1, 4, 4), opset=9))
    values = {"x": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)}
    np.testing.assert_array_equal(run(to_proto(modernised(net)), values)["y"], run(to_proto(net), values)["y"])


def test_what_the_converter_gets_wrong_is_refused() -> None:
    """It leaves out that Hardmax before operator set 13 takes all dimensions from its axis on as one."""
    net = read(model([node("Hardmax", "x", axis=1)], (1, 4, 3, 3), opset=11))
    with pytest.raises(ModelError, match="output y: onnx's converter from operator set 11 to 13 gives it other values"):
        modernised(net)


def test_what_differs_in_every_run_is_not_compared() -> None:
    net = read(model([node("RandomNormalLike", "x", "r"), node("Add", "x r")], (1, 4, 3, 3), opset=11))
    assert modernised(net).opsets[""] == TARGET
