"""Intrinsic fusion gives a model with fewer operators that computes the same."""

from __future__ import annotations

from typing import Any

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
ROWS = [node("Reshape", "x rows", "f")]
MORE: dict[str, Any] = {
    "rows": np.array([6, 15], np.int64), "g": weights(15, 5), "t": weights(5, 15), "five": np.abs(weights(5)) + np.float32(0.5),
    "column": weights(6, 1), "u": weights(3, 2, 2, 2), "k2": weights(2, 1, 1), "h": weights(4, 3, 2, 1), "s6": weights(6),
    "b6": weights(6), "m6": weights(6), "v6": np.abs(weights(6)) + 1, "last": weights(4),
    "long": np.array([1, 12, 4], np.int64), "flat": np.array([1, 48], np.int64), "zero": np.array(0, np.float32),
    "pc": np.array([0, 1, 0, 0, 0, 0, 1, 0], np.int64), "w4": weights(4, 4, 3, 3),
    "less": np.array([0, 0, 1, -1, 0, 0, 0, 1], np.int64),
}  # fmt: skip


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
        # Matrix products, in their three forms, and what follows them by feature.
        ([*ROWS, node("MatMul", "f g", "p1"), node("Add", "p1 five")], ["Reshape", "Gemm"]),
        ([*ROWS, node("Gemm", "f g five", alpha=0.5, beta=3.0)], ["Reshape", "Gemm"]),
        (
            [*ROWS, node("Gemm", "f t", "p1", transB=1), node("Mul", "p1 five", "n2"), node("Sub", "five n2")],
            ["Reshape", "Gemm"],
        ),
        ([*ROWS, node("Gemm", "f g", "p1"), node("Div", "p1 five", "d"), node("Add", "d n")], ["Reshape", "Gemm"]),
        ([*ROWS, node("Gemm", "f g", "p1"), node("Div", "five p1")], ["Reshape", "Gemm", "Div"]),
        ([*ROWS, node("Gemm", "f g", "p1"), node("Mul", "p1 column")], ["Reshape", "Gemm", "Mul"]),
        # Deconvolutions, whose weights are input by output, in groups.
        ([node("ConvTranspose", "x u", "c"), node("Mul", "c k2", "d"), node("Add", "d k2")], ["ConvTranspose"]),
        (
            [CONV, node("ConvTranspose", "c h", "d", group=2), node("BatchNormalization", "d s6 b6 m6 v6")],
            ["Conv", "ConvTranspose"],
        ),
        # What has only been moved in between.
        ([CONV, node("Transpose", "c", "t2", perm=[0, 2, 3, 1]), node("Mul", "t2 last")], ["Conv", "Transpose"]),
        ([CONV, node("Transpose", "c", "t2", perm=[0, 2, 3, 1]), node("Mul", "t2 k")], ["Conv", "Transpose", "Conv"]),
        (
            [CONV, node("Transpose", "c", "t2", perm=[0, 2, 3, 1]), node("Reshape", "t2 long", "r2"), node("Add", "r2 last")],
            ["Conv", "Transpose", "Reshape"],
        ),
        ([CONV, node("Reshape", "c flat", "r2"), node("Mul", "r2 n")], ["Conv", "Reshape"]),
        ([CONV, node("Transpose", "c", "t2", perm=[0, 2, 3, 1]), node("Mul", "t2 last", "p1"), node("Add", "p1 t2")],
         ["Conv", "Transpose", "Mul", "Add"]),
        # Pads that a convolution does not take.
        ([node("Pad", "x p", "q2", mode="reflect"), node("Conv", "q2 w")], ["Pad", "Conv"]),
        ([node("Pad", "x pc", "q2"), node("Conv", "q2 w4")], ["Pad", "Conv"]),
        ([node("Pad", "x less", "q2"), node("Conv", "q2 w")], ["Pad", "Conv"]),
        ([node("Pad", "x p", "q2"), node("Conv", "q2 w", auto_pad="SAME_UPPER")], ["Pad", "Conv"]),
        ([node("Pad", "x p", "q2"), node("Conv", "q2 w", auto_pad="VALID")], ["Conv"]),
        ([node("Pad", "x p", "q2"), node("Conv", "q2 w", "c"), node("Conv", "q2 w", "d"), node("Add", "c d")],
         ["Pad", "Conv", "Conv", "Add"]),
        ([node("Pad", "x p zero", "q2"), node("Conv", "q2 w", pads=[1, 0, 2, 1])], ["Conv"]),
    ],
)  # fmt: skip
def test_what_is_left(nodes: list[onnx.NodeProto], left: list[str]) -> None:
    before = read(model(nodes, (1, 3, 6, 5), {**C, **NORM, **MORE, "p": WIDE}))
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
