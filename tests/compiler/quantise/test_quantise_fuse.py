"""Intrinsic fusion gives a model with fewer operators that computes the same."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from compiler.frontend.model import to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.quantise.fuse import fused
from tests.compiler.frontend.layer_cases import CONVOLUTIONS, DENSE
from tests.compiler.frontend.movement_cases import MOVES
from tests.compiler.frontend.operator_case import Case, proto_of
from tests.compiler.frontend.pointwise_cases import POINTWISE
from tests.compiler.frontend.quantised_models import model, node, weights

C = {"w": weights(4, 3, 3, 3), "k": weights(4, 1, 1), "n": np.array(0.5, np.float32)}
NORM = {"s": weights(4), "b": weights(4), "m": weights(4), "v": np.abs(weights(4)) + 1}
CONV = node("Conv", "x w", "c")
WIDE = np.array([0, 0, 1, 2, 0, 0, 0, 1], np.int64)


@pytest.mark.parametrize(
    ("nodes", "left"),
    [
        ([CONV, node("BatchNormalization", "c s b m v")], ["Conv"]),
        ([CONV, node("Mul", "c k", "d"), node("Add", "d k", "e"), node("Sub", "k e", "f"), node("Div", "f n")], ["Conv"]),
        ([CONV, node("Relu", "c", "r"), node("BatchNormalization", "r s b m v")], ["Conv", "Relu", "Conv"]),
        ([CONV, node("BatchNormalization", "c s b m v", "d"), node("Add", "c d")], ["Conv", "Conv", "Add"]),
        ([node("Pad", "x p", "q"), node("Conv", "q w", pads=[0, 1, 0, 0])], ["Conv"]),
        ([node("Pad", "x p n", "q"), node("Conv", "q w")], ["Pad", "Conv"]),
        ([CONV, node("Sum", "c c c")], ["Conv", "Add", "Add"]),
        ([CONV, node("Mul", "c n")], ["Conv"]),
        ([node("Mul", "x n")], ["Mul"]),
    ],
)
def test_what_is_left(nodes: list[onnx.NodeProto], left: list[str]) -> None:
    before = read(model(nodes, (1, 3, 6, 5), {**C, **NORM, "p": WIDE}))
    after = fused(before)
    assert [n.op_type for n in after.nodes] == left
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 3, 6, 5)).astype(np.float32)}
    expected, found = run(to_proto(before), feeds)["y"], run(to_proto(after), feeds)["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", [*CONVOLUTIONS, *DENSE, *POINTWISE, *MOVES], ids=lambda case: case.name)
def test_fusion_keeps_the_function(case: Case) -> None:
    before = read(proto_of(case))
    feeds = {"x": np.random.default_rng(0).standard_normal(case.shape).astype(np.float32)}
    expected, found = run(to_proto(before), feeds), run(to_proto(fused(before)), feeds)
    for name in case.outputs:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-3, atol=1e-4)
