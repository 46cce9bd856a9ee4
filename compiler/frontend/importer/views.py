"""Brings a tensor into the layout that an operator needs, with views where possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from compiler.frontend.constraints import general, movement
from compiler.frontend.constraints.base import Unsupported, require
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import (
    Atom,
    Dim,
    Layout,
    Shape4,
    as_bytes,
    axis,
    last_letters_for,
    letters_for,
    map_shape,
    memory_order,
    merged,
    plain,
)
from compiler.frontend.importer.moves import joined, reshaped, sliced
from compiler.frontend.importer.pieces import in_pieces, pieces_for
from compiler.frontend.importer.values import Mapped
from compiler.xgraph.ops import Conv, Finish, Requantisation, Window

MOST_ONES, FEW_ONES = 1 << 20, 1 << 14
"""The most weights of a convolution that only selects channels, and the number up to which no other way is looked for."""
LONG, FEW_PIECES = 64, 8
"""The channels of a stretch that is a slice by itself, and the most pieces that replace such a convolution."""
ONE = 1 << 23
"""The mantissa of 1, with shift 23."""


def arranged(ctx: Context, value: Mapped, letters: str, *, cheap: bool = False) -> Mapped:
    """The tensor in a map whose axes are the ONNX dimensions that the letters name.

    With ``cheap``, it is not cut into pieces. Machines with products do that where no view serves: attention asks for any
    order.
    """
    shape = value.shape
    goal = plain(letters, shape)
    target = map_shape(letters, shape)
    source = ctx.map_shape(value)
    if source == target and value.layout == goal:
        return value
    sizes = dict(zip(letters, value.layout.dims, strict=True))
    dims = {letter: sizes.get(letter, ()) for letter in "NHWC"}
    if as_bytes([atom for letter in "NHWC" for atom in dims[letter]], source) == as_bytes(memory_order(source), source):
        return reshaped(ctx, value, target, goal)
    if all(dims[a] == axis(a, s) for a, s in zip("NHW", source[:3], strict=True)) and _only(dims["C"], "C"):
        return _permuted(ctx, value, dims["C"], goal)
    if dims["N"] == axis("N", source[0]):
        moved = _to_space(ctx, value, dims, target, goal) or _to_depth(ctx, value, dims, target, goal)
        if moved is not None:
            return moved
    pieces = in_pieces(ctx, value, letters) if ctx.extras.products and not cheap else None
    require(general.layout_reachable, pieces is not None)
    assert pieces is not None
    return pieces


def anyhow(ctx: Context, value: Mapped) -> tuple[str, Mapped]:
    """The letters and the map of the tensor, with each axis one of its dimensions, at the least cost."""
    second, last = letters_for(len(value.shape)), last_letters_for(len(value.shape))
    require(general.at_most_four_dimensions, value.shape)
    assert second is not None
    assert last is not None
    for letters in (second, last):
        try:
            return letters, arranged(ctx, value, letters, cheap=True)
        except Unsupported:
            continue
    letters = min(last, second, key=lambda each: pieces_for(ctx, value, each))
    return letters, arranged(ctx, value, letters)


def _only(dim: Dim, letter: str) -> bool:
    return all(atom.axis == letter for atom in dim)


def positions(dim: Dim) -> list[int]:
    """The position along the axis of each index of a dimension."""
    found = np.zeros(1, np.int64)
    for atom in dim:
        found = (found[:, None] + np.arange(atom.size) * atom.stride).reshape(-1)
    return [int(p) for p in found]


def _permuted(ctx: Context, value: Mapped, order: Dim, layout: Layout) -> Mapped:
    return selected(ctx, value, positions(order), layout)


def selected(ctx: Context, value: Mapped, channels: Sequence[int | None], layout: Layout, fill: int = 0) -> Mapped:
    """The channels of a map in any order, with ``fill`` where there is none.

    This is a 1x1 convolution of ones and zeros, if that is small; else slices, one after another.
    """
    n, h, w, c = ctx.map_shape(value)
    ones = len(channels) * c
    if c > 1 and ones > FEW_ONES:
        pieces = pieces_of(channels)
        fewer = 4 * sum(map(_ones, pieces)) <= ones and len(pieces) <= FEW_PIECES
        if ones > MOST_ONES or (fewer and ones > n * h * w * (c + len(channels))):
            return _in_pieces(ctx, value, pieces, layout, fill)
    return _by_ones(ctx, value, channels, layout, fill)


def _by_ones(ctx: Context, value: Mapped, channels: Sequence[int | None], layout: Layout, fill: int) -> Mapped:
    n, h, w, c = ctx.map_shape(value)
    weights = np.zeros((len(channels), 1, 1, c), np.int8)
    bias = np.zeros(len(channels), np.int32)
    for row, channel in enumerate(channels):
        if channel is None:
            bias[row] = fill
        else:
            weights[row, 0, 0, channel] = 1
    unit = Requantisation(bias, np.full(len(channels), ONE, np.uint32), np.full(len(channels), 23, np.uint8))
    name = ctx.tensor(ctx.fresh(f"{value.tensor}/channels"), (n, h, w, len(channels)), ctx.stored(value))
    op = Conv(name, (value.tensor,), (name,), Window((1, 1)), weights, unit, Finish())
    return ctx.add(op, layout, value.params)


def _in_pieces(ctx: Context, value: Mapped, pieces: Sequence[Sequence[int | None]], layout: Layout, fill: int) -> Mapped:
    """The map as joined slices, with a selection among the channels of each slice."""
    n, h, w, _ = ctx.map_shape(value)
    require(movement.few_pieces, len(pieces))
    parts = []
    for channels in pieces:
        first, size = _reach(channels)
        part = (n, h, w, size)
        piece = sliced(ctx, value, (0, 0, first), (1, 1), part, plain("NHWC", part))
        if [*channels] != [*range(first, first + size)]:
            within = [None if channel is None else channel - first for channel in channels]
            piece = _by_ones(ctx, piece, within, plain("NHWC", (n, h, w, len(channels))), fill)
        parts.append(piece)
    shape = (n, h, w, sum(map(len, pieces)))
    return replace(parts[0], layout=layout) if len(parts) == 1 else joined(ctx, parts, shape, layout)


def _reach(channels: Sequence[int | None]) -> tuple[int, int]:
    """The first channel that is read, and the number of channels from it to the last."""
    read = [channel for channel in channels if channel is not None] or [0]
    return min(read), max(read) - min(read) + 1


def _ones(channels: Sequence[int | None]) -> int:
    """The number of weights that select these channels; 0 if they are a slice."""
    first, size = _reach(channels)
    return 0 if [*channels] == [*range(first, first + size)] else len(channels) * size


def pieces_of(channels: Sequence[int | None]) -> list[list[int | None]]:
    """The pieces of a selection: each long stretch of neighbours by itself, and the short stretches between them.

    Short stretches that are far apart are separate pieces.
    """
    pieces: list[list[int | None]] = []
    short = False
    for first, count in _stretches(channels):
        stretch: list[int | None] = [None if first is None else first + index for index in range(count)]
        again = short and len(stretch) < LONG
        if again and _ones(pieces[-1] + stretch) <= FEW_ONES:
            pieces[-1] += stretch
        else:
            pieces.append(stretch)
        short = len(stretch) < LONG
    return pieces


def _stretches(channels: Sequence[int | None]) -> Iterator[tuple[int | None, int]]:
    """The first channel and the length of each stretch of neighbours; None stands for padding."""
    start = 0
    for end in range(1, len(channels) + 1):
        last = channels[end - 1]
        if end == len(channels) or channels[end] != (None if last is None else last + 1):
            yield channels[start], end - start
            start = end


def _to_space(ctx: Context, value: Mapped, dims: dict[str, Dim], target: Shape4, goal: Layout) -> Mapped | None:
    """Depth to space, if height and width end with a stretch of channels each."""
    n, h, w, c = ctx.map_shape(value)
    rows, columns = dims["H"], dims["W"]
    block = target[1] // h
    if block < 2 or target[1] != h * block or target[2] != w * block:
        return None
    inner_h, inner_w = rows[len(axis("H", h)) :], columns[len(axis("W", w)) :]
    if rows[: len(axis("H", h))] != axis("H", h) or columns[: len(axis("W", w))] != axis("W", w):
        return None
    order = merged((*inner_h, *inner_w, *dims["C"]))
    if not _only(order, "C") or len(positions(order)) != c:
        return None
    if order != axis("C", c):
        value = _permuted(ctx, value, order, value.layout)
    part = (n, h, w, c // block**2)
    layout = plain("NHWC", part)
    parts = [sliced(ctx, value, (0, 0, index * part[3]), (1, 1), part, layout) for index in range(block**2)]
    return joined(ctx, parts, target, goal, block=(block, block))


def _to_depth(ctx: Context, value: Mapped, dims: dict[str, Dim], target: Shape4, goal: Layout) -> Mapped | None:
    """Space to depth, if height and width lose their inner stretches to the channels."""
    n, h, w, c = ctx.map_shape(value)
    block_h, block_w = h // target[1], w // target[2]
    if h != target[1] * block_h or w != target[2] * block_w:
        return None
    outer_h = merged([Atom("H", block_h, target[1])])
    outer_w = merged([Atom("W", block_w, target[2])])
    if dims["H"] != outer_h or dims["W"] != outer_w:
        return None
    natural = merged([Atom("H", 1, block_h), Atom("W", 1, block_w), Atom("C", 1, c)])
    reach = {"H": block_w * c, "W": c, "C": 1}
    if sorted(natural, key=_key) != sorted(_whole(dims["C"]), key=_key):
        return None
    part = (n, target[1], target[2], c)
    layout = plain("NHWC", part)
    parts = [sliced(ctx, value, (y, x, 0), (block_h, block_w), part, layout) for y in range(block_h) for x in range(block_w)]
    whole = joined(ctx, parts, target, goal)
    order = merged(Atom("C", atom.stride * reach[atom.axis], atom.size) for atom in dims["C"])
    return whole if order == axis("C", target[3]) else _permuted(ctx, whole, order, goal)


def _key(atom: Atom) -> tuple[str, int, int]:
    return atom.axis, atom.stride, atom.size


def _whole(dim: Dim) -> Dim:
    """The atoms, sorted by axis and stride and joined."""
    return merged(sorted(dim, key=lambda atom: ("HWC".index(atom.axis), -atom.stride)))
