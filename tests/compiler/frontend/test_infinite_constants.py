"""Infinity and NaN among constants: what reads them is on the CPU, what they come to stays in float, all else is as ever."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from compiler.frontend.constraints.base import refusal
from compiler.frontend.constraints.general import finite_constants
from compiler.frontend.errors import ModelError
from compiler.frontend.reader import read
from compiler.quantise.unbounded import unbounded
from tests.compiler.frontend.quantised_models import check_exact, imported, model, node, weights

SQUARE = (1, 4, 6, 6)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_a_layer_with_such_weights_is_on_the_cpu_and_others_are_not(value: float) -> None:
    bad = weights(4, 4, 1, 1)
    bad[1, 2, 0, 0] = value
    nodes = [node("Conv", "x w", "a"), node("Relu", "a", "b"), node("Conv", "x v", "c"), node("Relu", "c", "d")]
    found = imported(model(nodes, SQUARE, {"w": bad, "v": weights(4, 4, 3, 3)}, outputs=("b", "d")))
    assert found.reasons["Conv_a"] == refusal(finite_constants)
    assert "Conv_c" not in found.reasons
    check_exact(found, seeds=1)


def test_a_mask_before_a_softmax() -> None:
    """The masked scores stay in float; what Softmax makes of them is finite, and what follows is on the machine."""
    mask = np.where(np.arange(6) < 4, 0, -np.inf).astype(np.float32)
    nodes = [
        node("Conv", "x w", "a"), node("Add", "a mask", "m"), node("Softmax", "m", "s", axis=-1), node("Conv", "s w", "y")
    ]  # fmt: skip
    proto = model(nodes, SQUARE, {"w": weights(4, 4, 1, 1), "mask": mask})
    assert unbounded(read(proto)) == {"Add_m", "Softmax_s"}
    found = imported(proto)
    assert {"Add_m", "Softmax_s"} <= found.reasons.keys()
    assert not {"Conv_a", "Conv_y"} & found.reasons.keys()
    check_exact(found, seeds=1)


def test_infinite_bounds_are_bounds() -> None:
    table = {"w": weights(4, 4, 1, 1), "low": np.array(-np.inf, np.float32), "high": np.array(6, np.float32)}
    found = imported(model([node("Conv", "x w", "a"), node("Clip", "a low high")], SQUARE, table))
    assert not {"Conv_a", "Clip_y"} & found.reasons.keys()


def test_infinity_in_a_model_that_comes_quantised() -> None:
    table: dict[str, Any] = {"s": np.float32(0.1), "z": np.int8(0), "mask": np.array([0, 0, 0, 0, 0, -np.inf], np.float32)}
    nodes = [
        node("DequantizeLinear", "x s z", "f"), node("Add", "f mask", "m"), node("Softmax", "m", "p"),
        node("QuantizeLinear", "p s z", "y"),
    ]  # fmt: skip
    found = imported(model(nodes, SQUARE, table, elem=TensorProto.INT8))
    assert found.reasons["Add_m"] == refusal(finite_constants)
    check_exact(found, seeds=1)


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_scale_must_be_a_number(value: float) -> None:
    table: dict[str, Any] = {"s": np.float32(value), "z": np.int8(0)}
    with pytest.raises(ModelError, match=rf"scale s is {value}, a finite number above 0 is expected"):
        read(model([node("DequantizeLinear", "x s z")], SQUARE, table, elem=TensorProto.INT8))
