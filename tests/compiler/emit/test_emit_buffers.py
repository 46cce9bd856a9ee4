"""Where the host finds a tensor: every element of its array at the byte where the machine has it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from compiler.emit.buffers import buffer_of
from compiler.layers.views import View, dense_view
from compiler.xgraph.ops import Port
from compiler.xgraph.tensor import Quantisation, Tensor
from isa.instructions import Region
from isa.program import TensorBuffer

SHAPE = (2, 3, 4, 5)
Dims = tuple[tuple[tuple[int, int], ...], ...]
MAP = np.arange(120).reshape(SHAPE)
"""Element numbers of a dense map of 2 images of 3 x 4 pixels with 5 channels."""
VIEW = View(Region.OUTPUT, 1000, 3, 4, 5, 700, 211, 13)
"""The same map with room between images, rows and pixels."""


def buffer(dims: Dims, view: View = VIEW, flip: bool = False) -> TensorBuffer:
    return buffer_of(Port("image", "x", dims), Tensor("x", SHAPE, Quantisation(0.5, -3), flip), {"x": view})


def elements(strides: tuple[int, ...], shape: tuple[int, ...], offset: int) -> list[int]:
    return [offset + int(np.dot(index, strides)) for index in product(*map(range, shape))]


@pytest.mark.parametrize(
    ("dims", "host"),
    [
        ((((60, 2),), ((20, 3),), ((5, 4),), ((1, 5),)), MAP),
        ((((60, 2),), ((1, 5),), ((20, 3),), ((5, 4),)), MAP.transpose(0, 3, 1, 2)),
        ((((60, 2),), ((1, 60),)), MAP.reshape(2, 60)),
        ((((1, 120),),), MAP.reshape(120)),
        ((((60, 2),), ((5, 12),), ((1, 5),)), MAP.reshape(2, 12, 5)),
        ((((60, 2),), ((1, 5), (5, 12))), MAP.transpose(0, 3, 1, 2).reshape(2, 60)),
        ((((60, 2),), ((1, 1),), ((20, 3),), ((5, 4),), ((1, 5),)), MAP.reshape(2, 1, 3, 4, 5)),
        ((((60, 2),), ((20, 3),), ((10, 2),), ((5, 2),), ((1, 5),)), MAP.reshape(2, 3, 2, 2, 5)),
        ((((60, 2),), ((20, 3),), ((5, 4),), ((1, 5),), ((120, 1),)), MAP.reshape(2, 3, 4, 5, 1)),
        ((((20, 6),), ((1, 20),)), MAP.reshape(6, 20)),
    ],
    ids=["NHWC", "NCHW", "flat", "all", "pixels", "NCHW flat", "of one", "split", "one at the end", "rows"],
)
def test_each_element_is_where_the_map_has_it(dims: Dims, host: np.ndarray) -> None:
    found = buffer(dims)
    assert found.host_shape == host.shape
    where = [1000 + int(np.dot(np.unravel_index(n, SHAPE), (700, 211, 13, 1))) for n in host.reshape(-1)]
    assert elements(found.strides, found.shape, found.offset) == where
    assert 1 not in found.shape
    assert (found.name, found.region, found.scale) == ("image", Region.OUTPUT, 0.5)


def test_bytes_of_the_host_are_toggled_where_neither_load_nor_save_does_it() -> None:
    """A tensor of uint8 has its zero-point 128 higher than the map on chip."""
    dims = (((60, 2),), ((20, 3),), ((5, 4),), ((1, 5),))
    for flip, by_machine, kind, zero_point, by_host in (
        (False, False, "int8", -3, False), (True, False, "uint8", 125, True), (True, True, "uint8", 125, False),
    ):  # fmt: skip
        found = buffer(dims, dense_view(Region.WORK, 0, SHAPE, by_machine), flip)
        assert (found.type, found.zero_point, found.flipped) == (kind, zero_point, by_host)
