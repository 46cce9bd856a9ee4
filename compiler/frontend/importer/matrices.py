"""Matrices within one map, as heads and windows of attention are: cuts each of them out, and puts results together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import require
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import Atom, Dim, Layout, axis, merged
from compiler.frontend.importer.moves import joined, reshaped, sliced
from compiler.frontend.importer.pieces import one_batch
from compiler.frontend.importer.values import Mapped
from compiler.frontend.importer.views import arranged

CHANNELS = 3


@dataclass(frozen=True)
class Matrices:
    """Matrices of equal sizes. One dimension of each is pixels, the other is channels."""

    value: Mapped
    heads: Dim
    """The atoms that run over the matrices."""
    pixels: Dim
    """Rows of the map at equal distances, then columns at equal distances, or only one of both."""
    channels: int
    turned: bool
    """Whether pixels are columns of the matrix; else they are rows."""

    @property
    def sides(self) -> tuple[int, int]:
        """The rows and columns of the map that one matrix has."""
        size = {atom.axis: atom.size for atom in self.pixels}
        return size.get("H", 1), size.get("W", 1)

    @property
    def in_channels(self) -> bool:
        """Whether channels tell one matrix from another."""
        return all(atom.axis == "C" for atom in self.heads)

    @property
    def in_one(self) -> Dim:
        """The pixels of one matrix in a map of its own."""
        return merged(Atom(atom.axis, 1, atom.size) for atom in self.pixels)

    def part(self, ctx: Context, number: int) -> Mapped:
        """One matrix as a map of its own."""
        begin = dict.fromkeys("HWC", 0)
        for atom in reversed(self.heads):
            number, index = divmod(number, atom.size)
            begin[atom.axis] += index * atom.stride
        step = {atom.axis: atom.stride for atom in self.pixels}
        shape = (1, *self.sides, self.channels)
        layout = Layout((self.in_one, axis("C", self.channels)))
        if shape == ctx.map_shape(self.value):
            return replace(self.value, layout=layout)
        steps = step.get("H", 1), step.get("W", 1)
        return sliced(ctx, self.value, (begin["H"], begin["W"], begin["C"]), steps, shape, layout)


def matrices(ctx: Context, value: Mapped, turned: bool | None = None) -> Matrices:
    """The matrices of a tensor. With ``turned`` False, rows must be pixels; with None, either dimension may be."""
    value = _flat(ctx, value)
    return next(_ways(value, turned), None) or next(_ways(arranged(ctx, value, "HWC"), turned))


def in_pixels(ctx: Context, value: Mapped, *, turned: bool) -> bool:
    """Whether rows, or with ``turned`` columns, are pixels in the map as it is."""
    return next(_ways(_flat(ctx, value), turned), None) is not None


def _flat(ctx: Context, value: Mapped) -> Mapped:
    """The tensor as matrices one after another, in one image."""
    require(general.at_most_four_dimensions, value.shape)
    value = one_batch(ctx, value)
    flat = value.layout.reshaped((prod(value.shape[:-2]), *value.shape[-2:]))
    assert flat is not None
    return replace(value, layout=flat)


def _ways(value: Mapped, turned: bool | None) -> Iterator[Matrices]:
    heads, rows, columns = value.layout.dims
    for way in (False, True) if turned is None else (turned,):
        pixels, channels = (columns, rows) if way else (rows, columns)
        size = prod(atom.size for atom in channels)
        apart = [atom.axis for atom in pixels] in ([], ["W"], ["H"], ["H", "W"])
        if channels == axis("C", size) and apart and all(atom.axis != "N" for atom in heads):
            yield Matrices(value, heads, pixels, size, way)


def in_rows(ctx: Context, value: Matrices) -> Matrices:
    """The same matrices with the pixels of each at equal distances, as LOADW reads them.

    Windows of a map are copied, once for all heads, and each becomes a row.
    """
    (rows, columns), (*_, width, channels) = value.sides, ctx.map_shape(value.value)
    step = {atom.axis: atom.stride for atom in value.pixels}
    apart = tuple(atom for atom in value.heads if atom.axis != "C")
    even = rows == 1 or columns == 1 or (columns * step["W"] == width and step["H"] == 1)
    if even or len(apart) == len(value.heads):
        return value
    windows = Matrices(value.value, apart, value.pixels, channels, turned=False)
    count, pixels = prod(atom.size for atom in apart), rows * columns
    layout = Layout((axis("W", pixels), axis("C", channels)))
    parts = [reshaped(ctx, windows.part(ctx, number), (1, 1, pixels, channels), layout) for number in range(count)]
    whole = parts[0] if count == 1 else joined(ctx, parts, (1, count, pixels, channels), layout, axis=1)
    heads, left = [], count
    for atom in value.heads:
        left //= atom.size if atom in apart else 1
        heads.append(Atom("H", left, atom.size) if atom in apart else atom)
    return Matrices(whole, tuple(heads), axis("W", pixels), value.channels, value.turned)


def stacked(ctx: Context, like: Matrices, parts: Sequence[Mapped], in_channels: bool) -> Mapped:
    """The matrices one after another in one map, along channels or rows, with the pixels of ``like``."""
    channels, (rows, _) = ctx.map_shape(parts[0])[CHANNELS], like.sides
    letter, size = ("C", channels) if in_channels else ("H", rows)
    return _put(ctx, parts, (Atom(letter, size, len(parts)),), like.in_one)


def placed_like(ctx: Context, like: Matrices, parts: Sequence[Mapped]) -> Mapped:
    """The matrices in one map, placed as those of ``like``."""
    return _put(ctx, parts, like.heads, like.pixels)


def _put(ctx: Context, parts: Sequence[Mapped], heads: Dim, pixels: Dim) -> Mapped:
    """Puts matrices into one map. On each axis only the order of the strides of ``heads`` and ``pixels`` counts."""
    channels = ctx.map_shape(parts[0])[CHANNELS]
    stride = dict.fromkeys((*heads, *pixels), 0)
    for letter in "HWC":
        reach = channels if letter == "C" else 1
        for atom in sorted((each for each in stride if each.axis == letter), key=lambda each: each.stride):
            stride[atom], reach = reach, reach * atom.size
    within = {atom.axis: atom.stride for atom in pixels}
    inner = [atom for atom in heads if atom.axis != "C" and atom.stride < within.get(atom.axis, 0)]
    outer = sorted((atom for atom in heads if atom not in inner), key=lambda each: (_JOINED.index(each.axis), -each.stride))
    inner.sort(key=lambda each: ("HW".index(each.axis), -each.stride))
    order = [heads.index(atom) for atom in (*outer, *inner)]
    numbers = np.arange(len(parts)).reshape([atom.size for atom in heads]).transpose(order)
    maps = _nested(ctx, [parts[int(number)] for number in numbers.reshape(-1)], outer, inner)
    new = [merged(Atom(atom.axis, stride[atom], atom.size) for atom in dim) for dim in (heads, pixels)]
    return replace(maps, layout=Layout((*new, axis("C", channels))))


_JOINED = "HWC"
"""The order of joining, from last to first: channels, then columns, then rows."""


def _nested(ctx: Context, parts: list[Mapped], outer: Sequence[Atom], inner: Sequence[Atom]) -> Mapped:
    """Joins parts in order, the last index fastest: interleaves their pixels over ``inner``, concatenates over ``outer``."""
    if inner:
        block = tuple(prod(atom.size for atom in inner if atom.axis == letter) for letter in "HW")
        count = block[0] * block[1]
        parts = [_interleaved(ctx, parts[i : i + count], (block[0], block[1])) for i in range(0, len(parts), count)]
    for atom in reversed(outer):
        place = "NHWC".index(atom.axis)
        parts = [_concatenated(ctx, parts[i : i + atom.size], place) for i in range(0, len(parts), atom.size)]
    assert len(parts) == 1
    return parts[0]


def _concatenated(ctx: Context, parts: Sequence[Mapped], place: int) -> Mapped:
    shape = [*ctx.map_shape(parts[0])]
    shape[place] *= len(parts)
    batch, rows, columns, channels = shape
    return joined(ctx, parts, (batch, rows, columns, channels), parts[0].layout, axis=place)


def _interleaved(ctx: Context, parts: Sequence[Mapped], block: tuple[int, int]) -> Mapped:
    batch, rows, columns, channels = ctx.map_shape(parts[0])
    shape = (batch, rows * block[0], columns * block[1], channels)
    return joined(ctx, parts, shape, parts[0].layout, block=block)
