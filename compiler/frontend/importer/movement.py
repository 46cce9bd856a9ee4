"""Operators that only move data: layouts, slices, joins and pads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.constraints import general, movement
from compiler.frontend.constraints.base import Unsupported, require
from compiler.frontend.importer import kernels
from compiler.frontend.importer.constants import alone, dequantised_constant, fixed
from compiler.frontend.importer.context import EIGHT_BITS, Context, rule
from compiler.frontend.importer.layout import Layout, last_letters_for, letters_for, map_shape, plain
from compiler.frontend.importer.layout import axis as whole_axis
from compiler.frontend.importer.moves import joined, reshaped, sliced
from compiler.frontend.importer.tables import applied, function_of
from compiler.frontend.importer.values import Fixed, Joined, Mapped, Mean, Params
from compiler.frontend.importer.views import MOST_ONES, anyhow, arranged, selected
from compiler.frontend.model import MICROSOFT, Array, Node
from compiler.xgraph.ops import Finish


@rule("Transpose")
def transpose(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    order = node.integers("perm", tuple(range(len(x.shape)))[::-1])
    ctx.values[node.output] = replace(x, layout=x.layout.transposed(order))


@rule("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def reshape(ctx: Context, node: Node) -> None:
    pending = ctx.value(node.inputs[0])
    if isinstance(pending, Mean):
        ctx.values[node.output] = _reshaped_mean(pending, ctx.shape(node.output))
        return
    x = ctx.mapped(node.inputs[0])
    layout = x.layout.reshaped(ctx.shape(node.output))
    require(movement.reshape_regular, layout)
    assert layout is not None
    ctx.values[node.output] = replace(x, layout=layout)


def _reshaped_mean(value: Mean, shape: tuple[int, ...]) -> Mean:
    """A mean over a whole map whose single pixel has lost its dimensions before the mean is quantised."""

    def build(name: str, scales: dict[int, tuple[int, int, int]], finish: Finish, params: Params) -> Mapped:
        made = value.build(name, scales, finish, params)
        layout = made.layout.reshaped(shape)
        require(movement.reshape_regular, layout)
        assert layout is not None
        return replace(made, layout=layout)

    return replace(value, build=build)


@rule("Identity", "Cast", "Dropout")
def identity(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    require(general.quantised_input, x if ctx.model.elem(node.inputs[0]) == ctx.model.elem(node.output) else None)
    ctx.values[node.output] = x


@rule("DepthToSpace")
def depth_to_space(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    require(movement.four_dimensions, len(x.shape))
    (n, c, h, w), b = x.shape, node.integer("blocksize", 1)
    if node.text("mode", "DCR") == "DCR":
        split, order = (n, b, b, c // b**2, h, w), (0, 3, 4, 1, 5, 2)
    else:
        split, order = (n, c // b**2, b, b, h, w), (0, 1, 4, 2, 5, 3)
    _rearranged(ctx, node, x, split, order)


@rule("SpaceToDepth")
def space_to_depth(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    require(movement.four_dimensions, len(x.shape))
    (n, c, h, w), b = x.shape, node.integer("blocksize", 1)
    _rearranged(ctx, node, x, (n, c, h // b, b, w // b, b), (0, 3, 5, 1, 2, 4))


def _rearranged(ctx: Context, node: Node, x: Mapped, split: Sequence[int], order: Sequence[int]) -> None:
    cut = x.layout.reshaped(split)
    require(movement.reshape_regular, cut)
    assert cut is not None
    layout = cut.transposed(order).reshaped(ctx.shape(node.output))
    require(movement.reshape_regular, layout)
    assert layout is not None
    ctx.values[node.output] = arranged(ctx, replace(x, layout=layout), "NCHW")


@rule("Slice")
def slice_(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    rank = len(x.shape)
    given: list[Array | None] = [ctx.constant(name) for name in node.inputs[1:]]
    for name, value in zip(node.inputs[1:], given, strict=True):
        require(movement.indices_constant, value if name else np.zeros(0))
    if len(node.inputs) > 1:
        starts, ends = ([int(v) for v in value.reshape(-1)] for value in given[:2] if value is not None)
        axes = integers(given[2] if len(given) > 2 else None, range(len(starts)))
        steps = integers(given[3] if len(given) > 3 else None, [1] * len(starts))
    else:
        starts, ends = list(node.integers("starts", ())), list(node.integers("ends", ()))
        axes, steps = list(node.integers("axes", range(len(starts)))), [1] * len(starts)
    cuts = [(0, 1, size) for size in x.shape]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        require(movement.forward, step)
        size = x.shape[axis % rank]
        taken = range(*slice(start, end, step).indices(size))
        cuts[axis % rank] = (taken.start, step, len(taken))
    ctx.values[node.output] = cut(ctx, x, cuts)


def integers(value: Array | None, default: Sequence[int]) -> list[int]:
    return list(default) if value is None else [int(v) for v in value.reshape(-1)]


def cut(ctx: Context, x: Mapped, cuts: Sequence[tuple[int, int, int]]) -> Mapped:
    """A part of the tensor; each ONNX dimension has (first, step, count)."""
    if all((first, step, count) == (0, 1, size) for (first, step, count), size in zip(cuts, x.shape, strict=True)):
        return x
    letters = letters_for(len(x.shape))
    require(general.at_most_four_dimensions, x.shape)
    assert letters is not None
    if not _is_natural(ctx, x):
        # Products of activations read them as they lie; any other reader is on the CPU.
        features = _cut_features(ctx, x, cuts) if ctx.extras.products else None
        if features is not None:
            return features
        letters, x = anyhow(ctx, x)
    else:
        letters = "".join(_letter(x, i) or letters[i] for i in range(len(x.shape)))
        if len(set(letters)) < len(letters):
            letters, x = anyhow(ctx, x)
    by = dict(zip(letters, cuts, strict=True))
    shape = tuple(count for _, _, count in cuts)
    n, h, w, c = ctx.map_shape(x)
    whole = {"N": n, "H": h, "W": w, "C": c}
    first, step, count = ({letter: by.get(letter, (0, 1, whole[letter]))[part] for letter in "NHWC"} for part in range(3))
    require(movement.joined_axis, "N" if (first["N"], count["N"]) != (0, n) else "C")
    if step["C"] > 1 and h * w == 1 and count["C"] * c > MOST_ONES:
        # The view takes every ``step``-th of columns that have one channel each.
        columns = reshaped(ctx, x, (n, 1, c, 1), plain("NHWC", (n, 1, c, 1)))
        some = (n, 1, count["C"], 1)
        columns = sliced(ctx, columns, (0, first["C"], 0), (1, step["C"]), some, plain("NHWC", some))
        return reshaped(ctx, columns, (n, 1, 1, count["C"]), plain(letters, shape))
    if step["C"] > 1:
        channels = [first["C"] + step["C"] * i for i in range(count["C"])]
        middle = [count["C"] if letter == "C" else whole[letter] for letter in letters]
        x = selected(ctx, x, channels, plain(letters, middle))
        first["C"] = 0
    target = map_shape(letters, shape)
    if target == ctx.map_shape(x):
        return replace(x, layout=plain(letters, shape))
    return sliced(ctx, x, (first["H"], first["W"], first["C"]), (step["H"], step["W"]), target, plain(letters, shape))


def _cut_features(ctx: Context, x: Mapped, cuts: Sequence[tuple[int, int, int]]) -> Mapped | None:
    """Neighbouring features of tokens, or of each head. Pixels stay where they are, whatever dimensions they form.

    Between the features of two heads lies what has been cut off.
    """
    (n, h, w, c), (first, step, count) = ctx.map_shape(x), cuts[-1]
    others = all(cut == (0, 1, size) for cut, size in zip(cuts[:-1], x.shape[:-1], strict=True))
    if step > 1 or not others or x.layout.dims[-1] != whole_axis("C", x.shape[-1]):
        return None
    layout = Layout((*x.layout.dims[:-1], whole_axis("C", count)))
    return sliced(ctx, x, (0, 0, first), (1, 1), (n, h, w, c - x.shape[-1] + count), layout)


def _letter(x: Mapped, index: int) -> str | None:
    dim = x.layout.dims[index]
    return dim[0].axis if len(dim) == 1 else None


def _is_natural(ctx: Context, x: Mapped) -> bool:
    """Whether each dimension is one whole axis of the map (in any order)."""
    sizes = dict(zip("NHWC", ctx.map_shape(x), strict=True))
    return all(
        len(dim) == 0 or (len(dim) == 1 and dim[0].stride == 1 and dim[0].size == sizes[dim[0].axis]) for dim in x.layout.dims
    )


@rule("Split")
def split(ctx: Context, node: Node) -> None:
    x = ctx.mapped(node.inputs[0])
    axis = node.integer("axis", 0) % len(x.shape)
    where = 0
    for name in node.outputs:
        size = ctx.shape(name)[axis]
        ctx.values[name] = cut(ctx, x, [(where, 1, size) if i == axis else (0, 1, s) for i, s in enumerate(x.shape)])
        where += size


@rule("Concat")
def concat(ctx: Context, node: Node) -> None:
    maps = [value for value in map(ctx.value, node.inputs) if isinstance(value, Mapped)]
    parts = [part for name in node.inputs if maps and (part := _part(ctx, name, maps[0])) is not None]
    require(movement.joins_tensors, len(parts) if len(parts) == len(node.inputs) else 0)
    axis, shape = node.integer("axis", 1), ctx.shape(node.output)
    if all(part.params == parts[0].params for part in parts):
        ctx.values[node.output] = join(ctx, parts, axis, shape)
    else:
        ctx.values[node.output] = Joined(tuple(parts), axis, shape)


def _part(ctx: Context, name: str, other: Mapped) -> Mapped | Fixed | None:
    """A tensor that is joined. A stored constant has the quantisation of ``other``."""
    value, stored = ctx.value(name), ctx.constant(name)
    if isinstance(value, Mapped):
        return value
    if stored is not None and ctx.model.elem(name) in EIGHT_BITS:
        return fixed(stored, other.params)
    return dequantised_constant(ctx, name)


def requantised_join(ctx: Context, value: Joined, params: Params, name: str, label: str) -> Mapped:
    """Each part by its own table, joined one after another."""
    parts: list[Mapped | Fixed] = []
    for index, part in enumerate(value.parts):
        table = kernels.as_table(kernels.requantised(part.params, params, value.lo, value.hi))
        parts.append(_by_table(ctx, part, table, params, f"{name}/part{index}", f"{label}/part{index}"))
    return join(ctx, parts, value.axis, value.shape)


def _by_table(
    ctx: Context, part: Mapped | Fixed, table: NDArray[np.int8], params: Params, name: str, label: str
) -> Mapped | Fixed:
    if isinstance(part, Fixed):
        return Fixed(table[part.values.view(np.uint8)], params)
    return applied(ctx, part, table, params, ctx.fresh(name), label)


@rule("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(ctx: Context, node: Node) -> None:
    elem = ctx.model.elem(node.output)
    params = ctx.params(node.inputs[0], node.inputs[1], elem)
    parts: list[Mapped | Fixed] = []
    for index in range(2, len(node.inputs), 3):
        name, scale, zero = node.inputs[index : index + 3]
        stored, given = ctx.constant(name), ctx.params(scale, zero, elem)
        part = replace(ctx.mapped(name), params=given) if stored is None else fixed(stored, given)
        single = Node(node.name, node.op_type, (*node.inputs[:2], name, scale, zero), node.outputs, {"axis": 0}, node.domain)
        table = function_of(ctx, single) if stored is None else kernels.as_table(kernels.requantised(given, params))
        label = f"{node.name}/requantise{index // 3}"
        parts.append(_by_table(ctx, part, table, params, f"{name}/requantised{index // 3}", label))
    require(movement.joins_tensors, sum(isinstance(part, Mapped) for part in parts))
    ctx.values[node.output] = join(ctx, parts, node.integer("axis", 1), ctx.shape(node.output))


def join(ctx: Context, parts: Sequence[Mapped | Fixed], axis: int, shape: tuple[int, ...]) -> Mapped:
    """The parts one after another along an ONNX dimension."""
    rank = len(shape)
    require(general.at_most_four_dimensions, shape)
    letters, parts = _together(ctx, parts, rank)
    letter = letters[axis % rank]
    require(movement.joined_axis, letter)
    return joined(ctx, parts, map_shape(letters, shape), plain(letters, shape), axis="NHWC".index(letter))


def _together(ctx: Context, parts: Sequence[Mapped | Fixed], rank: int) -> tuple[str, list[Mapped]]:
    """The parts in one layout that all of them can have, and its letters."""
    maps = [part for part in parts if isinstance(part, Mapped)]
    candidates = [letters for letters in (_common_letters(ctx, maps), letters_for(rank), last_letters_for(rank)) if letters]
    for letters in candidates:
        try:
            return letters, _placed(ctx, parts, letters, cheap=True)
        except Unsupported:
            continue
    return candidates[-1], _placed(ctx, parts, candidates[-1])


def _placed(ctx: Context, parts: Sequence[Mapped | Fixed], letters: str, *, cheap: bool = False) -> list[Mapped]:
    """The parts in the layout of the letters. Constants are arranged last, since the others may be refused."""
    maps = iter([arranged(ctx, part, letters, cheap=cheap) for part in parts if isinstance(part, Mapped)])
    return [next(maps) if isinstance(part, Mapped) else alone(ctx, part, letters, ctx.current) for part in parts]


def _common_letters(ctx: Context, parts: Sequence[Mapped]) -> str | None:
    """The axes of the dimensions, if they are the same whole axes in every part."""
    found = set()
    for part in parts:
        if not _is_natural(ctx, part):
            return None
        found.add(tuple(_letter(part, i) for i in range(len(part.shape))))
    (names, *others) = found
    if others or None in names or len(set(names)) < len(names):
        return None
    return "".join(name for name in names if name)
