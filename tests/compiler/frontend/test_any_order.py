"""Orders of dimensions that no view gives: pieces of a map put together anew, as NumPy orders them."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from compiler.frontend.constraints.base import Unsupported
from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.importer.context import Context
from compiler.frontend.importer.layout import Layout, map_shape, plain
from compiler.frontend.importer.pieces import MOST_PIECES, in_pieces, pieces_for
from compiler.frontend.importer.values import Mapped, Params
from compiler.frontend.importer.views import arranged
from compiler.frontend.model import Model
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, Interleave, Reshape, Slice
from compiler.xgraph.products import Product
from compiler.xgraph.reference import execute
from compiler.xgraph.verify import verify

Shape = tuple[int, ...]


def in_order(shape: Shape, split: Shape, order: Shape, joined: Shape, letters: str) -> tuple[Context, XGraph, Mapped | None]:
    """An NHWC map of this shape as a tensor of ``split``, in another order, joined, in a map of the letters."""
    ctx = Context(Model("pieces", (), {}, {}, (), (), {}), Extras(products=True))
    batch, rows, columns, channels = shape
    ctx.tensor("x", (batch, rows, columns, channels), Params(0.5, 3))
    cut = plain("NHWC", shape).reshaped(split)
    assert cut is not None
    layout = cut.transposed(order).reshaped(joined)
    assert layout is not None
    made = in_pieces(ctx, Mapped("x", layout, Params(0.5, 3), True), letters)
    output = made.tensor if made is not None else "x"
    return ctx, XGraph("pieces", ctx.tensors, tuple(ctx.ops), ("x",), (output,)), made


CASES: dict[str, tuple[Shape, Shape, Shape, Shape, str]] = {
    "windows of a map": ((1, 4, 6, 5), (1, 2, 2, 3, 2, 5), (0, 1, 3, 2, 4, 5), (6, 4, 5), "HWC"),
    "windows as a batch": ((1, 4, 6, 5), (1, 2, 2, 3, 2, 5), (0, 1, 3, 2, 4, 5), (6, 2, 2, 5), "NHWC"),
    "windows of images, back": ((6, 2, 2, 5), (1, 2, 3, 2, 2, 5), (0, 1, 3, 2, 4, 5), (1, 4, 6, 5), "NHWC"),
    "places in blocks": ((1, 4, 6, 5), (1, 2, 2, 3, 2, 5), (2, 4, 0, 1, 3, 5), (4, 6, 5), "HWC"),
    "heads in rows": ((1, 2, 3, 8), (1, 6, 2, 4), (0, 2, 1, 3), (1, 2, 6, 4), "NHWC"),
    "heads in channels": ((1, 2, 6, 4), (1, 2, 6, 4), (0, 2, 1, 3), (1, 6, 8), "NWC"),
    "pixels are channels": ((1, 2, 3, 4), (6, 4), (1, 0), (1, 4, 6), "NWC"),
    "heads whose features are pixels": ((1, 2, 3, 8), (6, 2, 4), (1, 2, 0), (2, 4, 6), "HWC"),
    "as it is": ((1, 2, 3, 4), (1, 2, 3, 4), (0, 1, 2, 3), (1, 2, 3, 4), "NHWC"),
}  # fmt: skip
"""All end with channels, so that the elements of the map are those of the tensor, in its order."""


@pytest.mark.parametrize("name", CASES)
def test_elements_are_where_the_letters_say(name: str) -> None:
    shape, split, order, joined, letters = CASES[name]
    _, graph, made = in_order(shape, split, order, joined, letters)
    assert made is not None
    assert made.layout == plain(letters, joined)
    verify(graph)
    x = np.random.default_rng(1).integers(-128, 128, shape, np.int8)
    expected = x.reshape(split).transpose(order).reshape(map_shape(letters, joined))
    assert np.array_equal(execute(graph, {"x": x})[made.tensor], expected)


def test_a_map_that_lies_so_already_is_not_touched() -> None:
    _, graph, made = in_order(*CASES["as it is"])
    assert made is not None
    assert (made.tensor, graph.ops) == ("x", ())


def test_only_what_changes_places_between_channels_and_pixels_is_computed() -> None:
    for name, case in CASES.items():
        _, graph, _ = in_order(*case)
        kinds = {type(op) for op in graph.ops} - {Slice, Concat, Interleave, Reshape}
        assert (Product in kinds) == ("pixels" in name)


def test_too_many_pieces_are_none() -> None:
    side = MOST_PIECES + 1
    ctx, _, made = in_order((1, side, side, 2), (1, side, side, 2), (0, 2, 1, 3), (1, side, side, 2), "NHWC")
    assert made is None
    swapped = Layout(plain("NHWC", (1, side, side, 2)).transposed((0, 2, 1, 3)).dims)
    assert pieces_for(ctx, Mapped("x", swapped, Params(0.5, 3), True), "NHWC") > MOST_PIECES


def test_all_pieces_have_all_elements() -> None:
    for case in CASES.values():
        _, graph, made = in_order(*case)
        assert made is not None
        assert prod(graph.tensors[made.tensor].shape) == prod(case[0])


def test_machines_without_products_refuse() -> None:
    ctx = Context(Model("pieces", (), {}, {}, (), (), {}), NO_EXTRAS)
    ctx.tensor("x", (1, 2, 3, 4), Params(0.5, 3))
    value = Mapped("x", plain("NHWC", (1, 2, 3, 4)).transposed((0, 3, 1, 2)), Params(0.5, 3), True)
    with pytest.raises(Unsupported):
        arranged(ctx, value, "NHWC")
