"""Every rule of the verifier has an operation that breaks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.xgraph.graph import GraphError, XGraph
from compiler.xgraph.ops import (
    Concat,
    Conv,
    ConvTranspose,
    Eltwise,
    EltwiseKind,
    Finish,
    Interleave,
    Op,
    Pool,
    PoolKind,
    Requantisation,
    Reshape,
    Slice,
    Upsample,
    Window,
)
from compiler.xgraph.tensor import Quantisation, Tensor
from compiler.xgraph.verify import verify

Q = Quantisation(0.5, 0)
UNIT = Requantisation(np.zeros(4, np.int32), np.ones(4, np.uint32), np.zeros(4, np.uint8))
CONV = Conv("op", ("x",), ("y",), Window((3, 3)), np.zeros((4, 3, 3, 4), np.int8), UNIT, Finish())
DECONV = ConvTranspose("op", ("x",), ("y",), Window((2, 2), (2, 2)), np.zeros((4, 2, 2, 4), np.int8), UNIT, Finish())
AVERAGE = Pool("op", ("x",), ("y",), PoolKind.AVERAGE, Window((2, 2), (2, 2)), Finish(), scales={4: (0, 1, 0)})
MAXIMUM = replace(AVERAGE, kind=PoolKind.MAX)
COPY = Eltwise("op", ("x",), ("y",), EltwiseKind.PASS, 1, 0, 0, 0, Finish())
X = (1, 6, 6, 4)


def check(op: Op, shape: tuple[int, int, int, int], **tensor: Any) -> None:
    tensors = {"x": Tensor("x", X, Q), "y": replace(Tensor("y", shape, Q), **tensor)}
    verify(XGraph("g", tensors, (op,), ("x",), ("y",)))


SOUND: list[tuple[Op, tuple[int, int, int, int]]] = [
    (CONV, (1, 4, 4, 4)),
    (DECONV, (1, 12, 12, 4)),
    (replace(CONV, weights=np.zeros((4, 3, 3, 2), np.int8), groups=2), (1, 4, 4, 4)),
    (replace(CONV, pad_value=-128, weight_zp=127), (1, 4, 4, 4)),
    (AVERAGE, (1, 3, 3, 4)),
    (MAXIMUM, (1, 3, 3, 4)),
    (COPY, X),
    (Upsample("op", ("x",), ("y",), (2, 3)), (1, 12, 18, 4)),
    (Concat("op", ("x", "x"), ("y",), 2), (1, 6, 12, 4)),
    (Slice("op", ("x",), ("y",), (1, 0, 2), (2, 1)), (1, 3, 6, 2)),
    (Interleave("op", ("x",) * 4, ("y",), (2, 2)), (1, 12, 12, 4)),
    (Reshape("op", ("x",), ("y",)), (1, 1, 1, 144)),
]


@pytest.mark.parametrize(("op", "shape"), SOUND, ids=lambda value: type(value).__name__)
def test_sound_operations_pass(op: Op, shape: tuple[int, int, int, int]) -> None:
    check(op, shape)


@pytest.mark.parametrize(("op", "shape"), SOUND[1:2] + SOUND[6:], ids=lambda value: type(value).__name__)
def test_wrong_shape_is_refused(op: Op, shape: tuple[int, int, int, int]) -> None:
    n, h, w, c = shape
    with pytest.raises(GraphError, match=r"graph g: operation op: .* expected"):
        check(op, (n, h + 7, w, c))


@pytest.mark.parametrize(("op", "shape"), SOUND[7:], ids=lambda value: type(value).__name__)
def test_views_keep_the_quantisation(op: Op, shape: tuple[int, int, int, int]) -> None:
    with pytest.raises(GraphError, match="quantisation of x is"):
        check(op, shape, quantisation=Quantisation(0.25, 0))
    with pytest.raises(GraphError, match="quantisation of x is"):
        check(op, shape, flip=True)


@pytest.mark.parametrize(
    ("op", "shape", "message"),
    [
        (replace(CONV, weights=np.zeros((4, 3, 3, 4), np.int16)), (1, 4, 4, 4), "type of weights is int16, int8 is expected"),
        (replace(CONV, weights=np.zeros((4, 3, 3, 2), np.int8)), (1, 4, 4, 4), "shape of weights is"),
        (replace(CONV, groups=3), (1, 4, 4, 4), r"left over by groups is \(1, 1\), \(0, 0\) is expected"),
        (replace(CONV, requantisation=replace(UNIT, bias=np.zeros(3, np.int32))), (1, 4, 4, 4), "shape of bias"),
        (
            replace(CONV, requantisation=replace(UNIT, mantissa=np.full(4, 1 << 24, np.uint32))),
            (1, 4, 4, 4),
            "mantissa is 16777216",
        ),
        (replace(CONV, requantisation=replace(UNIT, shift=np.full(4, 64, np.uint8))), (1, 4, 4, 4), "shift is 64, 0 to 63"),
        (replace(CONV, pad_value=128), (1, 4, 4, 4), "pad_value is 128"),
        (replace(CONV, pad_value=-129), (1, 4, 4, 4), "pad_value is -129"),
        (replace(CONV, weight_zp=128), (1, 4, 4, 4), "weight_zp is 128"),
        (replace(CONV, weight_zp=-129), (1, 4, 4, 4), "weight_zp is -129"),
        (replace(CONV, finish=Finish(lo=5, hi=3)), (1, 4, 4, 4), "hi is 3, 5 to 127 is expected"),
        (replace(CONV, finish=Finish(table=np.zeros(255, np.int8))), (1, 4, 4, 4), r"shape of table is \(255,\)"),
        (replace(CONV, finish=Finish(alpha=70000)), (1, 4, 4, 4), "alpha is 70000"),
        (CONV, (1, 5, 4, 4), "windows reach over 7 of 6 rows"),
        (replace(AVERAGE, scales={}), (1, 3, 3, 4), "has no scale for its 4 pixels"),
        (replace(AVERAGE, scales={4: (0, 1, 0), 5: (0, 1, 0)}), (1, 3, 3, 4), "count of a scale is 5, 1 to 4"),
        (MAXIMUM, (1, 3, 3, 2), "channels is 2, 4 is expected"),
        (replace(COPY, m_a=1 << 25), X, "m_a is 33554432"),
        (replace(COPY, m_a=-(1 << 25) - 1), X, "m_a is -33554433"),
        (replace(COPY, c=1 << 47), X, "c is 140737488355328"),
        (replace(COPY, c=-(1 << 47) - 1), X, "c is -140737488355329"),
        (replace(COPY, shift=64), X, "shift is 64, 0 to 63"),
        (replace(COPY, shift=-1), X, "shift is -1"),
        (replace(COPY, kind=EltwiseKind.ADD), X, "inputs is 1, 2 is expected"),
        (Slice("op", ("x",), ("y",), (4, 0, 0)), (1, 3, 6, 4), "last of the rows is 6, 4 to 5 is expected"),
        (Concat("op", ("x",), ("y",), 0), X, "axis is 0, 1 to 3 is expected"),
        (Concat("op", ("x",), ("y",), 4), X, "axis is 4"),
        (Interleave("op", ("x", "x"), ("y",), (2, 2)), (1, 12, 12, 4), "inputs is 2, 4 is expected"),
    ],
)
def test_broken_operations_are_named(op: Op, shape: tuple[int, int, int, int], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        check(op, shape)


def test_concat_of_maps_that_differ_along_its_axis() -> None:
    shapes = {"x": X, "z": (1, 6, 9, 4), "y": (1, 6, 15, 4)}
    tensors = {name: Tensor(name, shape, Q) for name, shape in shapes.items()}
    verify(XGraph("g", tensors, (Concat("op", ("x", "z"), ("y",), 2),), ("x", "z"), ("y",)))
    with pytest.raises(GraphError, match="op"):
        verify(XGraph("g", tensors, (Concat("op", ("x", "z"), ("y",), 1),), ("x", "z"), ("y",)))


def test_names_and_zero_points() -> None:
    with pytest.raises(GraphError, match="an int8 zero-point"):
        check(COPY, X, quantisation=Quantisation(0.5, 200))
    tensors = {name: Tensor(name, X, Q) for name in "xyz"}
    twice = XGraph("g", tensors, (COPY, replace(COPY, outputs=("z",))), ("x",), ("y", "z"))
    with pytest.raises(GraphError, match="two operations are named op"):
        verify(twice)
