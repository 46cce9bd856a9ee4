"""Every rule of the verifier has an operation that breaks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.xgraph.graph import GraphError, XGraph
from compiler.xgraph.ops import (
    Concat,
    Constant,
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
    (Constant("op", (), ("y",), np.ones(X, np.int8)), X),
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


@pytest.mark.parametrize(("op", "shape"), SOUND[8:], ids=lambda value: type(value).__name__)
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
        (Constant("op", ("x",), ("y",), np.ones(X, np.int8)), X, "inputs is 1, 0 is expected"),
        (Constant("op", (), ("y",), np.ones(X, np.int16)), X, "type of values is int16, int8 is expected"),
        (Constant("op", (), ("y",), np.ones(X, np.int8)), (1, 6, 6, 5), r"shape of values is \(1, 6, 6, 4\)"),
    ],
)
def test_broken_operations_are_named(op: Op, shape: tuple[int, int, int, int], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        check(op, shape)


WIDE = Window((3, 2), (2, 3), (1, 2), (1, 0, 0, 2))
TRANSPOSED = replace(DECONV, window=WIDE, weights=np.zeros((4, 3, 2, 4), np.int8), output_padding=(1, 2))
ONE = Eltwise("op", ("x",), ("y",), EltwiseKind.SUM, 1, 0, 0, 0, Finish())
BOUNDS: list[tuple[Op, tuple[int, int, int, int], str, tuple[int, int]]] = [
    (CONV, (1, 4, 4, 4), "pad_value", (-128, 127)), (CONV, (1, 4, 4, 4), "weight_zp", (-128, 127)),
    (AVERAGE, (1, 3, 3, 4), "pad_value", (-128, 127)), (COPY, X, "m_a", (-(1 << 25), (1 << 25) - 1)),
    (COPY, X, "m_b", (-(1 << 25), (1 << 25) - 1)), (COPY, X, "c", (-(1 << 47), (1 << 47) - 1)), (COPY, X, "shift", (0, 63)),
    (Concat("op", ("x",), ("y",)), X, "axis", (1, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("op", "shape", "field", "bounds"), BOUNDS)
def test_fields_reach_from_the_least_to_the_most(
    op: Any, shape: tuple[int, int, int, int], field: str, bounds: tuple[int, int]
) -> None:
    least, most = bounds
    for value in bounds:
        check(replace(op, **{field: value}), shape)
    for value in (least - 1, most + 1):
        with pytest.raises(GraphError, match=f"{field} is {value}, {least} to {most} is expected"):
            check(replace(op, **{field: value}), shape)


@pytest.mark.parametrize(
    ("field", "bounds"), [("zero_point", (-128, 127)), ("lo", (-128, 127)), ("hi", (-128, 127))]
)
@pytest.mark.parametrize(("op", "shape"), [SOUND[0], SOUND[1], SOUND[4], SOUND[6]], ids=lambda value: type(value).__name__)
def test_finishes_reach_from_the_least_to_the_most(
    op: Any, shape: tuple[int, int, int, int], field: str, bounds: tuple[int, int]
) -> None:
    def finish(value: int) -> Finish:
        fields: dict[str, Any] = {field: value}
        return Finish(**fields)

    for value in bounds:
        check(replace(op, finish=finish(value)), shape)
    for value in (bounds[0] - 1, bounds[1] + 1):
        with pytest.raises(GraphError, match=f"(hi|{field}) is "):
            check(replace(op, finish=finish(value)), shape)
    check(replace(op, finish=Finish(lo=5, hi=5, table=np.zeros(256, np.int8))), shape)
    with pytest.raises(GraphError, match="hi is 4, 5 to 127"):
        check(replace(op, finish=Finish(lo=5, hi=4)), shape)


@pytest.mark.parametrize(("op", "shape"), SOUND[:2], ids=lambda value: type(value).__name__)
def test_records_reach_from_the_least_to_the_most(op: Any, shape: tuple[int, int, int, int]) -> None:
    check(replace(op, requantisation=Requantisation(
        np.full(4, -(1 << 31), np.int32), np.array([0, 1, 2, (1 << 24) - 1], np.uint32), np.array([0, 63, 1, 2], np.uint8)
    )), shape)  # fmt: skip
    for field, value in (("mantissa", 1 << 24), ("shift", 64)):
        other = np.array([0, 0, value, 0], getattr(UNIT, field).dtype)
        with pytest.raises(GraphError, match=f"{field} is {value}"):
            check(replace(op, requantisation=replace(UNIT, **{field: other})), shape)


def test_scales_of_averages_are_told_by_the_pixels_of_a_window() -> None:
    shape = (1, 3, 3, 4)
    counted = replace(AVERAGE, count_pad=False, scales={1: (0, 0, 0), 2: (-5, (1 << 24) - 1, 63), 4: (9, 1, 0)})
    check(counted, shape)
    check(replace(counted, scales={}), shape)
    for scales, what in (
        ({0: (0, 1, 0)}, "count of a scale is 0"), ({5: (0, 1, 0)}, "count of a scale is 5"),
        ({4: (0, 1 << 24, 0)}, "mantissa is 16777216"), ({4: (0, -1, 0)}, "mantissa is -1"),
        ({4: (0, 1, 64)}, "shift is 64"), ({4: (0, 1, -1)}, "shift is -1"),
    ):  # fmt: skip
        with pytest.raises(GraphError, match=what):
            check(replace(counted, scales=scales), shape)
    check(replace(MAXIMUM, scales={}), shape)
    with pytest.raises(GraphError, match="has no scale for its 4 pixels"):
        check(replace(AVERAGE, scales={2: (0, 1, 0)}), shape)


def test_maxima_keep_the_quantisation_unless_a_table_changes_it() -> None:
    other = Quantisation(0.25, 1)
    with pytest.raises(GraphError, match="quantisation of x is"):
        check(MAXIMUM, (1, 3, 3, 4), quantisation=other)
    check(replace(MAXIMUM, finish=Finish(table=np.zeros(256, np.int8))), (1, 3, 3, 4), quantisation=other)
    check(AVERAGE, (1, 3, 3, 4), quantisation=other)


@pytest.mark.parametrize(
    "window", [WIDE, Window((3, 3)), Window((1, 4), (4, 1), (3, 1), (0, -1, 2, 3)), Window((2, 1), (1, 3), (5, 9))]
)
def test_a_last_window_reaches_less_than_a_stride_beyond_the_map(window: Window) -> None:
    """So there are as many as cover all rows and columns, padding counted."""
    room = [6 + window.pads[side] + window.pads[side + 2] for side in (0, 1)]
    last = [-(-(room[side] - (window.kernel[side] - 1) * window.dilation[side] - 1) // window.stride[side]) for side in (0, 1)]
    op = replace(CONV, window=window, weights=np.zeros((4, *window.kernel, 4), np.int8))
    for rows in range(1, last[0] + 4):
        for columns in range(1, last[1] + 4):
            if rows <= last[0] + 1 and columns <= last[1] + 1:
                check(op, (1, rows, columns, 4))
            else:
                side = "rows" if rows > last[0] + 1 else "columns"
                with pytest.raises(GraphError, match=rf"windows reach over \d+ of {room[side == 'columns']} {side}"):
                    check(op, (1, rows, columns, 4))


def test_windows_keep_the_batch_and_pools_may_reach_beyond() -> None:
    for op, shape in ((CONV, (2, 4, 4, 4)), (MAXIMUM, (2, 3, 3, 4)), (Slice("op", ("x",), ("y",), (0, 0, 0)), (2, 6, 6, 4))):
        with pytest.raises(GraphError, match="batch is 2, 1 is expected"):
            check(op, shape)
    check(MAXIMUM, (1, 5, 5, 4))


@pytest.mark.parametrize("change", [(0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)])
def test_transposed_windows_make_what_all_pixels_reach(change: tuple[int, int, int]) -> None:
    """2 (6 - 1) + 1 + 2 + 1 - 1 rows, 3 (6 - 1) + 2 + 2 + 1 - 2 columns."""
    shape = (1 + change[0], 13 + change[1], 18 + change[2], 4)
    if change == (0, 0, 0):
        check(TRANSPOSED, shape)
    else:
        with pytest.raises(GraphError, match=r"shape of y is .*, \(1, 13, 18, 4\) is expected"):
            check(TRANSPOSED, shape)


def test_over_channels_one_is_left() -> None:
    check(ONE, (1, 6, 6, 1))
    check(replace(ONE, kind=EltwiseKind.HIGHEST), (1, 6, 6, 1))
    for op, shape in ((ONE, X), (COPY, (1, 6, 6, 1))):
        with pytest.raises(GraphError, match="shape of y is"):
            check(op, shape)


@pytest.mark.parametrize(
    ("shape", "sound"), [(X, True), ((1, 1, 1, 4), True), ((1, 1, 6, 4), False), ((1, 6, 1, 4), False), ((1, 1, 1, 1), False)]
)
def test_a_second_operand_is_a_map_or_a_value_for_each_channel(shape: tuple[int, int, int, int], sound: bool) -> None:
    tensors = {name: Tensor(name, s, Q) for name, s in (("x", X), ("z", shape), ("y", X))}
    graph = XGraph("g", tensors, (replace(COPY, kind=EltwiseKind.ADD, inputs=("x", "z")),), ("x", "z"), ("y",))
    if sound:
        assert verify(graph) is graph
    else:
        with pytest.raises(GraphError, match="or one value per channel"):
            verify(graph)


@pytest.mark.parametrize(
    ("begin", "step", "shape", "sound"),
    [
        ((0, 0, 0), (1, 1), X, True), ((5, 5, 3), (9, 9), (1, 1, 1, 1), True), ((1, 0, 0), (2, 1), (1, 3, 6, 4), True),
        ((2, 0, 0), (2, 1), (1, 3, 6, 4), False), ((0, 1, 0), (1, 1), X, False), ((0, 0, 1), (1, 1), X, False),
        ((0, 0, 0), (1, 3), (1, 6, 2, 4), True), ((0, 0, 0), (1, 3), (1, 6, 3, 4), False),
        ((6, 0, 0), (1, 1), (1, 1, 6, 4), False),
    ],
)  # fmt: skip
def test_slices_stay_in_their_map(
    begin: tuple[int, int, int], step: tuple[int, int], shape: tuple[int, int, int, int], sound: bool
) -> None:
    op = Slice("op", ("x",), ("y",), begin, step)
    if sound:
        check(op, shape)
    else:
        with pytest.raises(GraphError, match=r"last of the (rows|columns|channels) is"):
            check(op, shape)


def test_parts_of_an_interleaved_map_may_have_a_row_or_column_less() -> None:
    shapes = {"a": (1, 3, 2, 4), "b": (1, 3, 1, 4), "c": (1, 2, 2, 4), "d": (1, 2, 1, 4), "y": (1, 5, 3, 4)}
    tensors = {name: Tensor(name, shape, Q) for name, shape in shapes.items()}
    verify(XGraph("g", tensors, (Interleave("op", ("a", "b", "c", "d"), ("y",), (2, 2)),), ("a", "b", "c", "d"), ("y",)))
    for order in (("b", "a", "c", "d"), ("a", "c", "b", "d")):
        with pytest.raises(GraphError, match="shape of"):
            verify(XGraph("g", tensors, (Interleave("op", order, ("y",), (2, 2)),), order, ("y",)))


def test_reshapes_keep_the_bytes_and_operations_have_one_output() -> None:
    with pytest.raises(GraphError, match="bytes is 140, 144 is expected"):
        check(Reshape("op", ("x",), ("y",)), (1, 1, 1, 140))
    tensors = {name: Tensor(name, X, Q) for name in "xyz"}
    with pytest.raises(GraphError, match="outputs is 2, 1 is expected"):
        verify(XGraph("g", tensors, (replace(COPY, outputs=("y", "z")),), ("x",), ("y", "z")))


@pytest.mark.parametrize("zero_point", [-129, -128, 127, 128])
@pytest.mark.parametrize("size", [0, 1])
def test_tensors_have_positive_shapes_and_int8_zero_points(zero_point: int, size: int) -> None:
    graph = XGraph("g", {"x": Tensor("x", (1, size, 1, 1), Quantisation(1.0, zero_point))}, (), ("x",), ("x",))
    if size and -128 <= zero_point <= 127:
        assert verify(graph) is graph
    else:
        with pytest.raises(GraphError, match="a positive shape and an int8 zero-point are expected"):
            verify(graph)


def test_a_tensor_has_the_name_that_it_is_known_by() -> None:
    with pytest.raises(GraphError, match="graph g: tensor x is"):
        verify(XGraph("g", {"x": Tensor("z", X, Q)}, (), ("x",), ("x",)))


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
