"""When each pass changes a graph and when it leaves it, one condition at a time; the function always stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.passes.finish import followed_by
from compiler.passes.fold_channels import channel_order, fold_channels
from compiler.passes.fold_pads import MOST_PAD, fold_pads, is_pad
from compiler.passes.fold_pointwise import fold_pointwise
from compiler.passes.insert_copies import insert_copies
from compiler.passes.nest_concats import nest_concats
from compiler.passes.remove_identities import remove_identities
from compiler.passes.share import share_equal
from compiler.xgraph.functions import VALUES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import (
    Concat,
    Conv,
    Cpu,
    Eltwise,
    EltwiseKind,
    Finish,
    Op,
    Pool,
    PoolKind,
    Requantisation,
    Reshape,
    Slice,
    Window,
)
from compiler.xgraph.reference import execute, execute_op
from compiler.xgraph.tensor import Quantisation, Tensor
from compiler.xgraph.verify import verify

Q = Quantisation(0.5, 0)
RNG = np.random.default_rng(9)
X = (1, 6, 6, 4)


def graph(shapes: dict[str, tuple[int, int, int, int]], ops: Sequence[Op], outputs: Sequence[str] = ("y",)) -> XGraph:
    tensors = {name: Tensor(name, shape, Q) for name, shape in shapes.items()}
    return verify(XGraph("g", tensors, tuple(ops), ("x",), tuple(outputs)))


def left(step: Callable[[XGraph], XGraph], before: XGraph) -> list[str]:
    """Names of the operations that are left, in order; all outputs are as they were."""
    after = verify(step(before))
    x = RNG.integers(-128, 128, before.tensors["x"].shape).astype(np.int8)
    if not any(isinstance(op, Cpu) for op in before.ops):
        expected, found = execute(before, {"x": x}), execute(after, {"x": x})
        assert all(np.array_equal(expected[name], found[name]) for name in before.outputs)
    return [op.name for op in after.ops]


def pool(name: str, source: str, window: Window, kind: PoolKind = PoolKind.MAX, **fields: Any) -> Pool:
    scales = {n: (0, (1 << 23) + 1, 23 + n.bit_length()) for n in range(1, 10)}
    return Pool(name, (source,), (name,), kind, window, fields.pop("finish", Finish()), scales=scales, **fields)


def conv(
    name: str, source: str, window: Window, groups: int = 1, weight_zp: int = 0, pad_value: int = 0, inputs: int = 4
) -> Conv:
    weights = RNG.integers(-9, 10, (4, *window.kernel, inputs // groups)).astype(np.int8)
    scale = Requantisation(np.arange(4, dtype=np.int32), np.full(4, 1 << 23, np.uint32), np.full(4, 27, np.uint8))
    return Conv(name, (source,), (name,), window, weights, scale, Finish(), groups, pad_value, weight_zp)


def copy(name: str, source: str, finish: Finish | None = None) -> Eltwise:
    return Eltwise(name, (source,), (name,), EltwiseKind.PASS, 1, 0, 0, 0, finish or Finish())


# Pads

AROUND = Window((1, 1), (1, 1), (1, 1), (1, 1, 1, 1))
SQUARE = Window((3, 3))


@pytest.mark.parametrize(
    ("reader", "folds"),
    [
        (conv("y", "p", SQUARE), True),
        (conv("y", "p", SQUARE, groups=4, weight_zp=3), True),
        (pool("y", "p", SQUARE), True),
        (pool("y", "p", SQUARE, PoolKind.AVERAGE, count_pad=True), True),
        (pool("y", "p", SQUARE, PoolKind.AVERAGE, count_pad=False), False),
        (pool("y", "p", SQUARE, count_pad=False), True),
        (copy("y", "p", Finish(0, 0, 100)), False),
        (conv("y", "p", replace(SQUARE, pads=(1, 0, 2, 1)), pad_value=7), True),
        (conv("y", "p", replace(SQUARE, pads=(0, 0, 0, 1)), pad_value=6), False),
        (conv("y", "p", replace(SQUARE, pads=(MOST_PAD - 1, 0, 0, 0)), pad_value=7), True),
        (conv("y", "p", replace(SQUARE, pads=(MOST_PAD, 0, 0, 0)), pad_value=7), False),
        (conv("y", "p", replace(SQUARE, pads=(0, 0, 0, MOST_PAD)), pad_value=7), False),
        (pool("y", "p", AROUND, pad_value=7), False),
    ],
)
def test_a_pad_moves_into_windows_that_pad_with_its_value(reader: Conv | Pool | Eltwise, folds: bool) -> None:
    (t, le, b, r), kernel = (
        ((0, 0, 0, 0), (1, 1)) if isinstance(reader, Eltwise) else (reader.window.pads, reader.window.kernel)
    )
    shape = (1, 8 + t + b - kernel[0] + 1, 8 + le + r - kernel[1] + 1, 4)
    before = graph({"x": X, "p": (1, 8, 8, 4), "y": shape}, [pool("p", "x", AROUND, pad_value=7), reader])
    assert left(fold_pads, before) == (["y"] if folds else ["p", "y"])


def test_a_pad_moves_into_all_its_readers_or_none() -> None:
    shapes = {"x": X, "p": (1, 8, 8, 4), "y": X, "z": X, "w": (1, 8, 8, 4)}
    pad, y, z = pool("p", "x", AROUND, pad_value=7), conv("y", "p", SQUARE), pool("z", "p", SQUARE)
    assert left(fold_pads, graph(shapes, [pad, y, z], ["y", "z"])) == ["y", "z"]
    assert left(fold_pads, graph(shapes, [pad, y, copy("w", "p")], ["y", "w"])) == ["p", "y", "w"]
    assert left(fold_pads, graph(shapes, [pad, y], ["y", "p"])) == ["p", "y"]
    assert left(fold_pads, graph(shapes, [pad], ["p"])) == ["p"]


@pytest.mark.parametrize(
    ("op", "is_so"),
    [
        (pool("p", "x", AROUND), True), (pool("p", "x", AROUND, PoolKind.AVERAGE), False),
        (pool("p", "x", replace(AROUND, kernel=(1, 2))), False), (pool("p", "x", replace(AROUND, stride=(2, 1))), False),
        (pool("p", "x", AROUND, finish=Finish(1)), False), (pool("p", "x", AROUND, finish=Finish(0, -127)), False),
        (pool("p", "x", AROUND, finish=Finish(0, -128, 126)), False),
        (pool("p", "x", AROUND, finish=Finish(table=VALUES)), False),
        (conv("p", "x", AROUND), False),
    ],
)  # fmt: skip
def test_which_operations_only_pad(op: Op, is_so: bool) -> None:
    assert is_pad(op) == is_so


# Channel orders


def order(**fields: Any) -> Conv:
    weights = np.eye(4, dtype=np.int8)[[2, 0, 3, 1]].reshape(4, 1, 1, 4)
    ones = Requantisation(np.zeros(4, np.int32), np.full(4, 1 << 23, np.uint32), np.full(4, 23, np.uint8))
    return replace(Conv("y", ("a",), ("y",), Window((1, 1)), weights, ones, Finish()), **fields)


def changed(place: str, value: int) -> dict[str, Any]:
    """One number of the requantisation is another."""
    q = order().requantisation
    array = getattr(q, place).copy()
    array[2] = value
    return {"requantisation": replace(q, **{place: array})}


def weighed(row: list[int]) -> dict[str, Any]:
    weights = order().weights.copy()
    weights[1, 0, 0] = row
    return {"weights": weights}


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, [2, 0, 3, 1]), (weighed([0, 1, 0, 0]), [2, 1, 3, 1]), (weighed([0, 0, 0, 2]), None), (weighed([0, 0, 0, 0]), None),
        (weighed([1, 1, 0, 0]), None), (weighed([1, 0, -3, 0]), None), ({"weight_zp": 1}, None),
        ({"window": Window((1, 1), (2, 1))}, None), ({"window": Window((1, 1), pads=(0, 0, 1, 0))}, None),
        (changed("bias", 1), None), (changed("mantissa", (1 << 23) + 1), None), (changed("shift", 24), None),
        ({"finish": Finish(1)}, None), ({"finish": Finish(0, -127)}, None), ({"finish": Finish(0, -128, 126)}, None),
        ({"finish": Finish(table=VALUES)}, None),
        ({"groups": 2, "weights": np.ones((4, 1, 1, 2), np.int8)}, None),
        ({"window": Window((1, 2)), "weights": np.eye(4, dtype=np.int8).reshape(4, 1, 1, 4).repeat(2, axis=2)}, None),
    ],
)  # fmt: skip
def test_what_puts_channels_in_another_order(fields: dict[str, Any], found: list[int] | None) -> None:
    made = channel_order(order(**fields))
    assert (None if made is None else made.tolist()) == found


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("weight_zp", [0, 5])
def test_a_channel_order_moves_into_the_convolution_before_it(groups: int, weight_zp: int) -> None:
    first = conv("a", "x", replace(SQUARE, pads=(1, 1, 1, 1)), groups, weight_zp, pad_value=3)
    shapes = {"x": X, "a": X, "y": X, "z": X}
    assert left(fold_channels, graph(shapes, [first, order()])) == ["a"]
    twice = graph(shapes, [first, order(), copy("z", "a")], ["y", "z"])
    assert left(fold_channels, twice) == ["a", "y", "z"]
    assert left(fold_channels, graph(shapes, [first, order()], ["y", "a"])) == ["a", "y"]
    assert left(fold_channels, graph(shapes, [pool("a", "x", Window((1, 1))), order()])) == ["a", "y"]


def narrowed(name: str, source: str, channels: list[int], inputs: int = 4) -> Conv:
    """A selection of channels."""
    weights = np.zeros((len(channels), 1, 1, inputs), np.int8)
    weights[range(len(channels)), 0, 0, channels] = 1
    count = len(channels)
    unit = Requantisation(np.zeros(count, np.int32), np.full(count, 1 << 23, np.uint32), np.full(count, 23, np.uint8))
    return Conv(name, (source,), (name,), Window((1, 1)), weights, unit, Finish())


def test_a_convolution_makes_only_the_channels_that_a_slice_keeps() -> None:
    shapes = {"x": X, "a": X, "y": (1, 6, 6, 2)}
    first, each = (conv("a", "x", replace(SQUARE, pads=(1, 1, 1, 1)), groups, pad_value=3) for groups in (1, 4))
    middle = Slice("y", ("a",), ("y",), (0, 0, 1))
    assert left(fold_channels, graph(shapes, [first, middle])) == ["a"]
    assert left(fold_channels, graph(shapes, [each, middle])) == ["a", "y"]
    lower = graph(shapes | {"y": (1, 5, 6, 4)}, [first, Slice("y", ("a",), ("y",), (1, 0, 0))])
    assert left(fold_channels, lower) == ["a", "y"]


@pytest.mark.parametrize("weight_zp", [0, 5])
@pytest.mark.parametrize(
    ("channels", "window", "groups", "size", "kept"),
    [
        ([2, 0, 3, 1], Window((1, 1)), 1, (6, 6), ["y"]),
        ([2, 0, 3, 1], Window((1, 1), (2, 2), pads=(1, 1, 1, 1)), 1, (4, 4), ["y"]),
        ([3, 1], Window((1, 1)), 1, (6, 6), ["y"]), ([3, 3], Window((1, 1)), 1, (6, 6), ["a", "y"]),
        ([1], Window((1, 1)), 1, (6, 6), ["a", "y"]), ([2, 0, 3, 1], SQUARE, 1, (4, 4), ["a", "y"]),
        ([2, 0, 3, 1], Window((1, 1)), 2, (6, 6), ["a", "y"]),
    ],
)  # fmt: skip
def test_a_channel_order_moves_into_the_dense_convolution_of_pixels_after_it(
    channels: list[int], window: Window, groups: int, size: tuple[int, int], kept: list[str], weight_zp: int
) -> None:
    reader = conv("y", "a", window, groups, weight_zp, pad_value=3, inputs=len(channels))
    shapes = {"x": X, "a": (1, 6, 6, len(channels)), "y": (1, *size, 4)}
    assert left(fold_channels, graph(shapes, [narrowed("a", "x", channels), reader])) == kept


# Functions of one map


def test_a_finish_and_a_function_behind_it_are_one() -> None:
    """Of all values; a function that only clamps what comes to it leaves no table."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        lo, hi = sorted(int(v) for v in rng.integers(-128, 128, 2))
        own = rng.integers(-128, 128, 256).astype(np.int8) if seed % 3 == 0 else None
        low, high = sorted(int(v) for v in rng.integers(-128, 128, 2))
        clamps = seed % 2 == 0
        table = np.clip(VALUES, low, high).astype(np.int8) if clamps else rng.integers(-128, 128, 256).astype(np.int8)
        first = copy("a", "x", Finish(int(rng.integers(-9, 10)), lo, hi, table=own))
        second = copy("y", "a", Finish(table=table))
        whole = replace(first, finish=followed_by(first.finish, table))
        values = VALUES.reshape(1, 1, 1, 256)
        apart = execute_op(second, [execute_op(first, [values], (1, 1, 1, 256))], (1, 1, 1, 256))
        assert np.array_equal(execute_op(whole, [values], (1, 1, 1, 256)), apart)
        if clamps and own is None:
            assert whole.finish.table is None


def test_a_function_moves_only_where_nobody_else_reads_the_map() -> None:
    shapes = {"x": X, "a": X, "y": X, "z": X}
    maker, behind = conv("a", "x", replace(SQUARE, pads=(1, 1, 1, 1))), copy("y", "a", Finish(0, 0, 50))
    assert left(fold_pointwise, graph(shapes, [maker, behind])) == ["a"]
    assert left(fold_pointwise, graph(shapes, [maker, behind], ["y", "a"])) == ["a", "y"]
    assert left(fold_pointwise, graph(shapes, [maker, behind, copy("z", "a")], ["y", "z"])) == ["a", "y", "z"]
    assert left(fold_pointwise, graph(shapes, [copy("y", "x", Finish(0, 0, 50))])) == ["y"]
    chain = [maker, copy("z", "a", Finish(0, -50, 90)), copy("y", "z", Finish(0, 0, 100))]
    assert left(fold_pointwise, graph(shapes, chain)) == ["a"]


# Identities and equal views


def cpu(source: str) -> Cpu:
    return Cpu("cpu", (source,), ("y",), b"", {}, ())


def flipped(before: XGraph, *names: str) -> XGraph:
    return replace(before, tensors={n: replace(t, flip=n in names) for n, t in before.tensors.items()})


def test_copies_that_change_nothing_go() -> None:
    shapes = {"x": X, "a": X, "y": X}
    last = conv("y", "a", replace(SQUARE, pads=(1, 1, 1, 1)))
    for first, goes in (
        (copy("a", "x"), True), (copy("a", "x", Finish(0, -127)), False), (copy("a", "x", Finish(table=VALUES)), True),
        (copy("a", "x", Finish(1)), False), (Reshape("a", ("x",), ("a",)), True),
        (pool("a", "x", Window((1, 1))), False),
    ):  # fmt: skip
        assert left(remove_identities, graph(shapes, [first, last])) == (["y"] if goes else ["a", "y"])
    both = Eltwise("a", ("x", "x"), ("a",), EltwiseKind.MAX, 1, 1, 0, 0, Finish())
    assert left(remove_identities, graph(shapes, [both, last])) == ["a", "y"]
    assert left(remove_identities, graph(shapes, [copy("a", "x"), cpu("a")])) == ["a", "cpu"]


@pytest.mark.parametrize("viewed", [False, True])
@pytest.mark.parametrize("names", [(), ("x",), ("x", "a"), ("a",)])
def test_a_copy_of_another_type_stays_where_a_view_shows_its_bytes(viewed: bool, names: tuple[str, ...]) -> None:
    reader: Op = Slice("y", ("a",), ("y",), (0, 0, 0)) if viewed else conv("y", "a", replace(SQUARE, pads=(1, 1, 1, 1)))
    before = graph({"x": X, "a": X, "y": X}, [copy("a", "x"), reader])
    kept = viewed and len(names) == 1
    assert [op.name for op in remove_identities(flipped(before, *names)).ops] == (["a", "y"] if kept else ["y"])


def views(second: Op, outputs: Sequence[str] = ("y",), reader: Op | None = None) -> XGraph:
    """A slice of two rows, another view beside it, and what reads both."""
    part = (1, 2, 6, 4)
    both = Eltwise("y", ("a", "b"), ("y",), EltwiseKind.ADD, 1, 1, 0, 1, Finish())
    first = Slice("a", ("x",), ("a",), (1, 0, 0))
    return graph({"x": X, "a": part, "b": part, "y": part}, [first, second, reader or both], outputs)


def test_only_equal_views_of_one_map_are_one() -> None:
    assert left(share_equal, views(Slice("b", ("x",), ("b",), (1, 0, 0)))) == ["a", "y"]
    assert left(share_equal, views(Slice("b", ("x",), ("b",), (2, 0, 0)))) == ["a", "b", "y"]
    assert left(share_equal, views(Slice("b", ("x",), ("b",), (1, 0, 0), (2, 1)))) == ["a", "b", "y"]
    assert left(share_equal, views(Slice("b", ("a",), ("b",), (0, 0, 0)))) == ["a", "b", "y"]
    assert left(share_equal, views(Slice("b", ("x",), ("b",), (1, 0, 0)), ["y", "b"])) == ["a", "b", "y"]
    assert left(share_equal, views(Slice("b", ("x",), ("b",), (1, 0, 0)), ["y", "a"])) == ["a", "b", "y"]


def test_equal_views_of_equal_views_are_one() -> None:
    shapes = {"x": X, "a": (1, 2, 6, 4), "b": (1, 2, 6, 4), "c": (1, 1, 12, 4), "d": (1, 1, 12, 4), "y": (1, 1, 12, 4)}
    ops = [
        Slice("a", ("x",), ("a",), (1, 0, 0)), Slice("b", ("x",), ("b",), (1, 0, 0)), Reshape("c", ("a",), ("c",)),
        Reshape("d", ("b",), ("d",)), Eltwise("y", ("c", "d"), ("y",), EltwiseKind.ADD, 1, 1, 0, 1, Finish()),
    ]  # fmt: skip
    assert left(share_equal, graph(shapes, ops)) == ["a", "c", "y"]


# Concats


def joins(*parts: tuple[str, ...], outputs: Sequence[str] = ("y",), axis: int = 3) -> XGraph:
    """Concats ``j0``, ``j1`` ... of the maps a, b, c and d; the last is ``y``, and so are those of ``outputs``."""
    makers = [conv(name, "x", replace(SQUARE, pads=(1, 1, 1, 1))) for name in "abcd"]
    names = [*(f"j{n}" for n in range(len(parts) - 1)), "y"]
    shapes: dict[str, tuple[int, int, int, int]] = {"x": X, **dict.fromkeys("abcd", X)}
    for name, part in zip(names, parts, strict=True):
        shapes[name] = (1, 6, 6, 4 * len(part)) if axis == 3 else (1, 6 * len(part), 6, 4)
    concats = [Concat(name, part, (name,), axis) for name, part in zip(names, parts, strict=True)]
    return graph(shapes, [*makers, *concats], list(dict.fromkeys([*outputs, "y", *names])) if outputs == ("all",) else outputs)


def read_by_last(before: XGraph) -> tuple[str, ...]:
    return nest_concats(before).ops[-1].inputs


@pytest.mark.parametrize("axis", [1, 3])
def test_a_concat_that_begins_with_the_parts_of_another_contains_it(axis: int) -> None:
    for parts, inputs in (
        ((("a", "b"), ("a", "b", "c")), ("j0", "c")),
        ((("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d")), ("j1", "d")),
        ((("a", "b"), ("b", "a", "c")), ("b", "a", "c")), ((("a", "b"), ("c", "a", "b")), ("c", "a", "b")),
        ((("a", "b", "c"), ("a", "b")), ("a", "b")), ((("a", "b"), ("a", "b")), ("a", "b")),
    ):  # fmt: skip
        before = joins(*parts, axis=axis)
        assert read_by_last(before) == inputs
        left(nest_concats, before)


def test_a_concat_that_is_an_output_or_means_something_else_is_not_contained() -> None:
    parts = ("a", "b"), ("a", "b", "c")
    assert read_by_last(joins(*parts, outputs=("y", "j0"))) == ("a", "b", "c")
    plain = joins(*parts)
    for other in (replace(plain.tensors["j0"], quantisation=Quantisation(0.25, 0)), replace(plain.tensors["j0"], flip=True)):
        assert read_by_last(replace(plain, tensors={**plain.tensors, "j0": other})) == ("a", "b", "c")


def test_copies_get_names_that_are_free() -> None:
    """A map that two concats contain is copied for one of them."""
    shapes = {"x": X, "a": X, "b": X, "a/copy": X, "y": (1, 6, 6, 8), "z": (1, 6, 6, 12)}
    same = replace(SQUARE, pads=(1, 1, 1, 1))
    ops = [
        conv("a", "x", same), conv("b", "x", same), conv("a/copy", "x", same), Concat("y", ("a", "b"), ("y",)),
        Concat("z", ("a", "b", "a/copy"), ("z",)),
    ]  # fmt: skip
    found = left(insert_copies, graph(shapes, ops, ["y", "z"]))
    assert sorted(found) == sorted(["a", "b", "a/copy", "y", "z", "a/copy'", "b/copy"])
