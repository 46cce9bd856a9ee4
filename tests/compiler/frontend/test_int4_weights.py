"""Weights that need four bits are written in four: the same numbers in half the bytes, read again as the same layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from compiler.frontend.int4_weights import with_int4_weights
from compiler.frontend.pipeline import import_model
from compiler.frontend.session import run
from compiler.xgraph.ops import Conv
from tests.compiler.frontend.quantised_models import check_exact, host_operators, model, node

RNG = np.random.default_rng(5)
SHAPE = (1, 8, 6, 6)
FEEDS = {"x": RNG.integers(-128, 128, SHAPE).astype(np.int8)}


def convolution(low: int = -8, high: int = 7, opset: int = 17) -> onnx.ModelProto:
    weights = RNG.integers(low, high + 1, (15, 8, 3, 3)).astype(np.int8)
    weights.reshape(-1)[:2] = low, high
    table: dict[str, Any] = {
        "xs": np.float32(0.02), "z": np.int8(0), "w": weights, "ws": np.float32(0.02), "ys": np.float32(0.1),
    }  # fmt: skip
    return model([node("QLinearConv", "x xs z w ws z ys z", "y")], SHAPE, table, opset=opset, elem=TensorProto.INT8)


def stored(proto: onnx.ModelProto) -> dict[str, int]:
    return {each.name: each.data_type for each in proto.graph.initializer}


@pytest.mark.parametrize("opset", [13, 17, 21])
def test_weights_of_four_bits_take_half_the_bytes(opset: int) -> None:
    source = convolution(opset=opset)
    found = with_int4_weights(source)
    assert stored(found)["w_int4"] == TensorProto.INT4
    assert source.ByteSize() - found.ByteSize() > 0.4 * 15 * 8 * 9
    assert np.array_equal(run(source, FEEDS)["y"], run(found, FEEDS)["y"])


def test_they_are_read_again_as_the_same_layer() -> None:
    source = convolution()
    again, first = import_model(with_int4_weights(source)), import_model(source)
    assert not host_operators(again)
    (conv,), (same,) = ([op for op in each.graph.ops if isinstance(op, Conv)] for each in (again, first))
    assert conv.int4
    assert np.array_equal(conv.weights, same.weights)
    check_exact(again)


@pytest.mark.parametrize(("low", "high"), [(-9, 7), (-8, 8)])
def test_weights_that_need_more_stay_in_eight_bits(low: int, high: int) -> None:
    source = convolution(low, high)
    assert with_int4_weights(source) is source


def test_a_constant_that_others_read_stays_in_eight_bits() -> None:
    source = convolution()
    source.graph.node.append(node("Identity", "w", "v"))
    source.graph.output.append(onnx.helper.make_tensor_value_info("v", TensorProto.INT8, (15, 8, 3, 3)))
    assert with_int4_weights(source) is source


def test_a_model_that_cannot_be_moved_to_the_operator_set_stays_as_it_is() -> None:
    source = convolution()
    source.graph.node.append(node("NoSuchOperator", "y", "v"))
    assert with_int4_weights(source) is source


def test_a_constant_of_no_element_is_no_weight() -> None:
    source = convolution()
    source.graph.initializer[2].CopyFrom(numpy_helper.from_array(np.zeros((0, 8, 3, 3), np.int8), "w"))
    assert with_int4_weights(source) is source
