"""The reference against loops over single elements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from compiler.xgraph.graph import XGraph
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
from compiler.xgraph.reference import execute, execute_op
from compiler.xgraph.tensor import Quantisation, Tensor
from isa.errors import TilewrightError

RNG = np.random.default_rng(5)
X = RNG.integers(-128, 128, (2, 5, 7, 4), np.int8)
Y = RNG.integers(-128, 128, X.shape, np.int8)
TABLE = RNG.permutation(256).astype(np.uint8).view(np.int8)
FINISHES = [Finish(), Finish(zero_point=3, lo=-20, hi=90), Finish(lo=-5, zero_point=-5), Finish(table=TABLE)]
Shape = tuple[int, int, int, int]


def requantisation(outputs: int) -> Requantisation:
    return Requantisation(
        RNG.integers(-3000, 3000, outputs).astype(np.int32), RNG.integers(1 << 22, 1 << 24, outputs).astype(np.uint32),
        RNG.integers(31, 35, outputs).astype(np.uint8),
    )  # fmt: skip


def requantised(acc: int, q: Requantisation, channel: int) -> int:
    """int32 to float32, times the scale as float32, to nearest even."""
    scale = np.float32(float(q.mantissa[channel]) / 2.0 ** float(q.shift[channel]))
    return clipped16(round(float(np.float32(acc + int(q.bias[channel])) * scale)))


def clipped16(value: int) -> int:
    return min(max(value, -32768), 32767)


def finished(r: int, finish: Finish) -> int:
    y = min(max(r + finish.zero_point, finish.lo), finish.hi)
    return y if finish.table is None else int(finish.table[y % 256])


def pixel(x: np.ndarray, n: int, y: int, column: int, c: int) -> int | None:
    return int(x[n, y, column, c]) if 0 <= y < x.shape[1] and 0 <= column < x.shape[2] else None


@pytest.mark.parametrize("finish", FINISHES)
@pytest.mark.parametrize(
    ("window", "size", "groups"),
    [(Window((3, 3), pads=(1, 1, 1, 1)), (5, 7), 1), (Window((2, 3), (2, 1), (1, 2), (1, 0, 0, 2)), (3, 5), 2),
     (Window((1, 1)), (5, 7), 1), (Window((3, 2), (1, 3), (2, 1), (2, 1, 2, 1)), (5, 3), 4)],
)  # fmt: skip
def test_convolution(window: Window, size: tuple[int, int], groups: int, finish: Finish) -> None:
    outputs, inner = 8, X.shape[3] // groups
    op = Conv(
        "op", ("x",), ("y",), window, RNG.integers(-128, 128, (outputs, *window.kernel, inner), np.int8),
        requantisation(outputs), finish, groups=groups, pad_value=7, weight_zp=-9,
    )  # fmt: skip
    found = execute_op(op, [X], (2, *size, outputs))
    for n, oy, ox, o in np.ndindex(found.shape):
        acc = 0
        for ky, kx, c in product(range(window.kernel[0]), range(window.kernel[1]), range(inner)):
            y = oy * window.stride[0] - window.pads[0] + ky * window.dilation[0]
            x = ox * window.stride[1] - window.pads[1] + kx * window.dilation[1]
            value = pixel(X, n, y, x, o // (outputs // groups) * inner + c)
            acc += (7 if value is None else value) * (int(op.weights[o, ky, kx, c]) + 9)
        assert found[n, oy, ox, o] == finished(requantised(acc, op.requantisation, o), finish)


def test_padding_is_zero_unless_it_is_said() -> None:
    window = Window((3, 3), pads=(1, 1, 1, 1))
    plain = Conv("op", ("x",), ("y",), window, np.ones((4, 3, 3, 4), np.int8), requantisation(4), Finish())
    assert np.array_equal(execute_op(plain, [X], X.shape), execute_op(replace(plain, pad_value=0, weight_zp=0), [X], X.shape))
    assert not np.array_equal(execute_op(plain, [X], X.shape), execute_op(replace(plain, pad_value=90), [X], X.shape))


@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolution(groups: int) -> None:
    """Every output is the sum over the taps that fall on it; inputs beyond the border hold the padding value."""
    window = Window((3, 2), (2, 3), (1, 2), (1, 2, 0, 1))
    shape, inner, outputs = (2, 11, 18, 4), X.shape[3] // groups, 4
    op = ConvTranspose(
        "op", ("x",), ("y",), window, RNG.integers(-128, 128, (outputs, *window.kernel, inner), np.int8),
        requantisation(outputs), Finish(), groups=groups, pad_value=-4, weight_zp=2,
    )  # fmt: skip
    found = execute_op(op, [X], shape)
    for n, oy, ox, o in np.ndindex(shape):
        acc = 0
        for ky, kx, c in product(range(3), range(2), range(inner)):
            y, x = oy + window.pads[0] - ky * window.dilation[0], ox + window.pads[1] - kx * window.dilation[1]
            if y % 2 == 0 and x % 3 == 0:
                value = pixel(X, n, y // 2, x // 3, o // (outputs // groups) * inner + c)
                acc += (-4 if value is None else value) * (int(op.weights[o, ky, kx, c]) - 2)
        assert found[n, oy, ox, o] == finished(requantised(acc, op.requantisation, o), op.finish)


@pytest.mark.parametrize("window", [
    Window((3, 2), (1, 1), (3, 2), (0, 0, 0, 0)), Window((2, 4), (3, 2), (2, 3), (4, 0, 1, 5)), Window((1, 1), (2, 1)),
    Window((4, 3), (1, 4), (2, 1), (-2, 3, 0, -1)),
])  # fmt: skip
def test_transposed_windows_that_reach_far(window: Window) -> None:
    sizes = [
        window.stride[i] * (X.shape[1 + i] - 1) + (window.kernel[i] - 1) * window.dilation[i] + 1
        - window.pads[i] - window.pads[i + 2] for i in (0, 1)
    ]  # fmt: skip
    op = ConvTranspose(
        "op", ("x",), ("y",), window, RNG.integers(-128, 128, (3, *window.kernel, 4), np.int8), requantisation(3), Finish(),
        pad_value=9,
    )  # fmt: skip
    found = execute_op(op, [X], (2, sizes[0], sizes[1], 3))
    for oy, ox, o in np.ndindex(*found.shape[1:]):
        acc = 0
        for ky, kx in np.ndindex(window.kernel):
            y, x = oy + window.pads[0] - ky * window.dilation[0], ox + window.pads[1] - kx * window.dilation[1]
            if y % window.stride[0] == 0 and x % window.stride[1] == 0:
                for c in range(4):
                    value = pixel(X, 1, y // window.stride[0], x // window.stride[1], c)
                    acc += (9 if value is None else value) * int(op.weights[o, ky, kx, c])
        assert found[1, oy, ox, o] == finished(requantised(acc, op.requantisation, o), op.finish)


@pytest.mark.parametrize(("scale", "bias"), [(1, 0), (2000, 0), (2000, -1), (1, -255), (255, -127)])
def test_sums_saturate_at_16_bits_before_the_zero_point_is_added(scale: int, bias: int) -> None:
    x = np.array([-128, -127, -50, -17, -1, 0, 1, 16, 17, 127], np.int8).reshape(1, 1, 10, 1)
    q = Requantisation(np.array([bias], np.int32), np.array([scale], np.uint32), np.array([0], np.uint8))
    finish = Finish(zero_point=7)
    op = Conv("op", ("x",), ("y",), Window((1, 1)), np.full((1, 1, 1, 1), 1, np.int8), q, finish)
    found = execute_op(op, [x], x.shape)
    assert [int(y) for y in found.reshape(-1)] == [finished(requantised(int(v), q, 0), finish) for v in x.reshape(-1)]


@pytest.mark.parametrize("kind", [PoolKind.MAX, PoolKind.AVERAGE])
@pytest.mark.parametrize("count_pad", [False, True])
def test_pools(kind: PoolKind, count_pad: bool) -> None:
    window = Window((3, 3), (2, 2), (1, 1), (1, 1, 1, 1))
    scales = {count: (count, (1 << 24) // count, 24) for count in (4, 6, 9)}
    finish = Finish(zero_point=1, lo=-100, hi=120)
    op = Pool("op", ("x",), ("y",), kind, window, finish, scales=scales, count_pad=count_pad, pad_value=-128)
    if kind is PoolKind.AVERAGE:
        op = replace(op, pad_value=0)
    found = execute_op(op, [X], (2, 3, 4, 4))
    for n, oy, ox, c in np.ndindex(found.shape):
        taps = [pixel(X, n, 2 * oy - 1 + ky, 2 * ox - 1 + kx, c) for ky in range(3) for kx in range(3)]
        inside = [tap for tap in taps if tap is not None]
        if kind is PoolKind.MAX:
            expected = max(inside)
        else:
            bias, mantissa, shift = scales[9 if count_pad else len(inside)]
            one = Requantisation(np.array([bias], np.int32), np.array([mantissa], np.uint32), np.array([shift], np.uint8))
            expected = requantised(sum(inside), one, 0)
        assert found[n, oy, ox, c] == finished(expected, finish)


SCALARS: dict[EltwiseKind, Callable[[int, int, int, int], int]] = {
    EltwiseKind.PASS: lambda x, y, a, b: x * a,
    EltwiseKind.ADD: lambda x, y, a, b: x * a + y * b,
    EltwiseKind.MUL: lambda x, y, a, b: x * y * a,
    EltwiseKind.MAX: lambda x, y, a, b: max(x * a, y * b),
    EltwiseKind.MIN: lambda x, y, a, b: min(x * a, y * b),
    EltwiseKind.SLOPE: lambda x, y, a, b: x * y * a if x < 0 else x * b,
}


@pytest.mark.parametrize("kind", SCALARS)
def test_elementwise(kind: EltwiseKind) -> None:
    alone = kind is EltwiseKind.PASS
    names = ("x",) if alone else ("x", "y")
    op = Eltwise("op", names, ("z",), kind, 700, -300, 5000, 11, Finish(zero_point=2), a_zp=3, b_zp=0 if alone else -7)
    found = execute_op(op, [X] if alone else [X, Y], X.shape)
    for place in np.ndindex(X.shape):
        total = SCALARS[kind](int(X[place]) - 3, int(Y[place]) + 7, 700, -300) + 5000
        assert found[place] == finished(clipped16(round(float(np.float32(total / 2**11)))), op.finish)


@pytest.mark.parametrize(("kind", "over"), [(EltwiseKind.SUM, sum), (EltwiseKind.HIGHEST, max)])
def test_over_channels(kind: EltwiseKind, over: Callable[[list[int]], int]) -> None:
    op = Eltwise("op", ("x",), ("y",), kind, 513, 0, -40, 10, Finish())
    found = execute_op(op, [X], (*X.shape[:3], 1))
    for place in np.ndindex(X.shape[:3]):
        total = over([int(value) for value in X[place]]) * 513 - 40
        assert found[place] == finished(clipped16(round(float(np.float32(total / 2**10)))), op.finish)


MOVED: list[tuple[Op, list[np.ndarray], Shape, Callable[[int, int, int, int], int]]] = [
    (Upsample("op", ("x",), ("y",), (2, 3)), [X], (2, 10, 21, 4), lambda n, y, x, c: X[n, y // 2, x // 3, c]),
    (Concat("op", ("x", "y"), ("z",), 2), [X, Y], (2, 5, 14, 4), lambda n, y, x, c: (X if x < 7 else Y)[n, y, x % 7, c]),
    (Concat("op", ("x", "y"), ("z",), 3), [X, Y], (2, 5, 7, 8), lambda n, y, x, c: (X if c < 4 else Y)[n, y, x, c % 4]),
    (Slice("op", ("x",), ("y",), (1, 2, 1), (2, 3)), [X], (2, 2, 2, 2), lambda n, y, x, c: X[n, 1 + 2 * y, 2 + 3 * x, 1 + c]),
    (Reshape("op", ("x",), ("y",)), [X], (2, 1, 1, 140), lambda n, y, x, c: X[n].reshape(-1)[c]),
    (Constant("op", (), ("y",), X), [], X.shape, lambda n, y, x, c: X[n, y, x, c]),
    (Interleave("op", ("x", "y", "y", "x", "x", "y"), ("z",), (2, 3)), [X, Y, Y, X, X, Y], (2, 10, 21, 4),
     lambda n, y, x, c: (X, Y, Y, X, X, Y)[y % 2 * 3 + x % 3][n, y // 2, x // 3, c]),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "shape", "element"), MOVED)
def test_moves(op: Op, inputs: list[np.ndarray], shape: Shape, element: Callable[[int, int, int, int], int]) -> None:
    found = execute_op(op, inputs, shape)
    assert found.shape == shape
    for place in np.ndindex(shape):
        assert found[place] == element(*place)


def test_a_graph_is_run_in_order_and_what_has_no_reference_is_named() -> None:
    q = Quantisation(0.5, 0)
    tensors = {name: Tensor(name, shape, q) for name, shape in (("x", X.shape), ("y", (2, 10, 14, 4)), ("z", (2, 5, 7, 4)))}
    up, down = Upsample("up", ("x",), ("y",), (2, 2)), Slice("down", ("y",), ("z",), (0, 0, 0), (2, 2))
    values = execute(XGraph("g", tensors, (up, down), ("x",), ("z",)), {"x": X})
    assert np.array_equal(values["z"], X)
    with pytest.raises(TilewrightError, match="operation what: Op has no reference"):
        execute_op(Op("what", ("x",), ("y",)), [X], X.shape)
