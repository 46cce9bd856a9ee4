"""Brings the dimensions of a tensor into any order: what no view gives at once is cut into pieces and joined again.

An atom of a dimension (``layout.py``) is cut index by index into slices of the map. The rest of the layout is brought into its
order in the same way, and the results are joined. Where channels and pixels change places, a product with a unit matrix turns
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import AXES, Atom, Dim, Layout, Shape4, axis, map_shape, merged, plain
from compiler.frontend.importer.moves import joined, reshaped, sliced
from compiler.frontend.importer.values import Mapped
from compiler.xgraph.ops import Constant, Finish
from compiler.xgraph.products import Product

MOST_PIECES = 64
ONE = 1 << 23
"""The mantissa of 1, with shift 23."""
_COPY = 2
"""The cost of a piece that is moved; one that stays where it is costs 1."""
Sides = tuple[tuple[str, int], ...]
"""The rows, columns and channels of a map."""


@dataclass(frozen=True)
class _Cut:
    """An atom that is cut index by index, and the axis along which its indices are joined: outermost there, or ``inner``."""

    atom: Atom
    along: str
    inner: bool

    @property
    def strided(self) -> bool:
        """Whether an index takes every n-th row or column; else it takes neighbours."""
        return self.atom.stride == 1 and self.atom.axis != "C"


def in_pieces(ctx: Context, value: Mapped, letters: str) -> Mapped | None:
    """The tensor in a map whose axes are the ONNX dimensions that the letters name; None if that takes too many pieces."""
    goal, target = plain(letters, value.shape), map_shape(letters, value.shape)
    dims, sides = _asked(ctx.map_shape(value), value.layout, letters)
    cuts = _cuts(dims, sides, MOST_PIECES)
    if cuts is None:
        return None
    made = _made(ctx, one_batch(ctx, value), dims, cuts[1])
    if ctx.map_shape(made) == target:
        return replace(made, layout=goal)
    return reshaped(ctx, made, target, goal)


def pieces_for(ctx: Context, value: Mapped, letters: str) -> int:
    """The number of pieces that it takes; more than ``MOST_PIECES`` if it is not possible."""
    cuts = _cuts(*_asked(ctx.map_shape(value), value.layout, letters), MOST_PIECES)
    return MOST_PIECES + 1 if cuts is None else cuts[0]


def _asked(shape: Shape4, layout: Layout, letters: str) -> tuple[dict[str, Dim], dict[str, int]]:
    """The atoms of each axis of the result, and the sides of the map, with the images of a batch as rows of one image."""
    n, h, w, c = shape
    named = dict(zip(letters, in_one(layout, h).dims, strict=True))
    rows = merged((*named.get("N", ()), *named.get("H", ())))
    return {"H": rows, "W": named.get("W", ()), "C": named.get("C", ())}, {"H": n * h, "W": w, "C": c}


def in_one(layout: Layout, height: int) -> Layout:
    """The layout with the images of a batch, of ``height`` rows each, as rows of one image."""
    return Layout(
        tuple(
            merged(Atom("H", atom.stride * height, atom.size) if atom.axis == "N" else atom for atom in dim)
            for dim in layout.dims
        )
    )


def one_batch(ctx: Context, value: Mapped) -> Mapped:
    """The tensor with the images of a batch as rows of one image."""
    n, h, w, c = ctx.map_shape(value)
    return value if n == 1 else reshaped(ctx, value, (1, n * h, w, c), in_one(value.layout, h))


def _cuts(dims: dict[str, Dim], sides: dict[str, int], most: int) -> tuple[int, tuple[_Cut, ...]] | None:
    """The cheapest cuts after which a view or a move gives the result, with their cost; None if it is above ``most``."""
    if most < 1:
        return None
    leaf = _cost(dims, sides)
    best: tuple[int, tuple[_Cut, ...]] | None = (leaf, ()) if leaf is not None and leaf <= most else None
    for cut in _possible(dims, sides):
        count = cut.atom.size
        limit = (most if best is None else min(most, best[0] - 1)) // count
        found = _cuts(*_without(dims, sides, cut), limit)
        if found is not None:
            best = found[0] * count, (cut, *found[1])
    return best


def _cost(dims: dict[str, Dim], sides: dict[str, int]) -> int | None:
    """The cost of a map that needs no more cuts; None if it needs some."""
    if all(dims[letter] == axis(letter, sides[letter]) for letter in "HWC"):
        return 1
    if _same_bytes(dims, sides) or _turned(dims, sides):
        return _COPY
    return None


def _same_bytes(dims: dict[str, Dim], sides: dict[str, int]) -> bool:
    weight = {"C": 1, "W": sides["C"], "H": sides["C"] * sides["W"]}
    flat = merged(Atom("", weight[atom.axis] * atom.stride, atom.size) for letter in "HWC" for atom in dims[letter])
    return flat in ((), (Atom("", 1, prod(sides.values())),))


def _turned(dims: dict[str, Dim], sides: dict[str, int]) -> bool:
    """Whether all channels become pixels, and all pixels become channels."""
    pixels = merged((*axis("H", sides["H"]), *axis("W", sides["W"])))
    return merged((*dims["H"], *dims["W"])) == axis("C", sides["C"]) and dims["C"] == pixels


def _possible(dims: dict[str, Dim], sides: dict[str, int]) -> list[_Cut]:
    found = []
    for along, dim in dims.items():
        ends = [(dim[0], False), (dim[-1], True)] if len(dim) > 1 else [(atom, False) for atom in dim]
        for atom, inner in ends:
            whole = atom.stride > 1 and atom.stride == max(each.stride for each in _on(dims, atom.axis))
            strided = atom.stride == 1 and atom.axis != "C"
            if (whole or strided) and not (inner and along == "C"):
                found.append(_Cut(atom, along, inner))
    return found


def _on(dims: dict[str, Dim], letter: str) -> list[Atom]:
    """The atoms on an axis of the map; some places between their stretches may be in no dimension."""
    return [atom for dim in dims.values() for atom in dim if atom.axis == letter]


def _without(dims: dict[str, Dim], sides: dict[str, int], cut: _Cut) -> tuple[dict[str, Dim], dict[str, int]]:
    """The dimensions and sides that are left to be arranged for one index of a cut."""
    atom, shrunk = cut.atom, cut.atom.size if cut.strided else 1
    side = 1 + sum((each.size - 1) * each.stride for each in _on(dims, atom.axis) if each != atom)

    def rest(dim: Dim) -> Dim:
        kept = (each for each in dim if each != atom)
        return merged(replace(each, stride=each.stride // shrunk) if each.axis == atom.axis else each for each in kept)

    left = sides[atom.axis] // shrunk if cut.strided else side
    return {letter: rest(dim) for letter, dim in dims.items()}, {**sides, atom.axis: left}


def _made(ctx: Context, value: Mapped, dims: dict[str, Dim], cuts: tuple[_Cut, ...]) -> Mapped:
    """The map whose axes are ``dims``; its layout has no meaning."""
    _, h, w, c = ctx.map_shape(value)
    sides = {"H": h, "W": w, "C": c}
    if not cuts:
        return _whole(ctx, value, dims, sides)
    cut, rest = cuts[0], cuts[1:]
    left, size = _without(dims, sides, cut)
    parts = []
    for index in range(cut.atom.size):
        begin = dict.fromkeys("HWC", 0) | {cut.atom.axis: index * (1 if cut.strided else cut.atom.stride)}
        step = dict.fromkeys("HW", 1) | ({cut.atom.axis: cut.atom.size} if cut.strided else {})
        shape = (1, size["H"], size["W"], size["C"])
        first, steps = (begin["H"], begin["W"], begin["C"]), (step["H"], step["W"])
        part = sliced(ctx, value, first, steps, shape, value.layout)
        parts.append(_made(ctx, part, left, rest))
    return _joined(ctx, parts, cut)


def _whole(ctx: Context, value: Mapped, dims: dict[str, Dim], sides: dict[str, int]) -> Mapped:
    shape = (1, *(prod(atom.size for atom in dims[letter]) for letter in "HWC"))
    batch, rows, columns, channels = shape
    if _same_bytes(dims, sides):
        same = shape == ctx.map_shape(value)
        return value if same else reshaped(ctx, value, (batch, rows, columns, channels), value.layout)
    made = _product_with_ones(ctx, value)
    return made if rows == 1 else reshaped(ctx, made, (batch, rows, columns, channels), value.layout)


def _product_with_ones(ctx: Context, value: Mapped) -> Mapped:
    """The map with each channel as a column of pixels, and each pixel as a channel."""
    n, h, w, c = ctx.map_shape(value)
    params = ctx.stored(value)
    name = ctx.tensor(ctx.fresh(f"{value.tensor}/ones"), (1, 1, c, c), replace(params, scale=1.0, zero_point=0))
    ones = ctx.add(Constant(name, (), (name,), np.eye(c, dtype=np.int8).reshape(1, 1, c, c)), plain("WC", (c, c)), params)
    made = ctx.tensor(ctx.fresh(f"{value.tensor}/turned"), (n, 1, c, h * w), params)
    op = Product(made, (ones.tensor, value.tensor), (made,), True, ONE, 23, Finish())
    return ctx.add(op, value.layout, value.params)


def _joined(ctx: Context, parts: list[Mapped], cut: _Cut) -> Mapped:
    place = AXES.index(cut.along)
    shape = [*ctx.map_shape(parts[0])]
    shape[place] *= len(parts)
    batch, rows, columns, channels = shape
    block = (len(parts), 1) if cut.along == "H" else (1, len(parts))
    whole = batch, rows, columns, channels
    return joined(ctx, parts, whole, parts[0].layout, axis=place, block=block if cut.inner else None)
