"""Ports: how an ONNX array and the bytes of its map follow from each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.frontend.importer.layout import Layout, plain
from compiler.xgraph.ops import Port
from compiler.xgraph.tensor import Quantisation, Tensor
from isa.errors import TilewrightError
from tests.compiler.host import from_map, to_map

Q = Quantisation(1.0, 0)
SIZE = st.integers(1, 4)


def port_of(layout: Layout, shape: tuple[int, int, int, int]) -> Port:
    _, h, w, c = shape
    weight = {"N": h * w * c, "H": w * c, "W": c, "C": 1}
    return Port("t", "t", tuple(tuple((weight[a.axis] * a.stride, a.size) for a in dim) for dim in layout.dims))


@given(st.tuples(SIZE, SIZE, SIZE, SIZE), st.booleans())
def test_nchw_arrays_are_transposed_and_uint8_toggled(shape: tuple[int, int, int, int], flip: bool) -> None:
    n, h, w, c = shape
    value = np.random.default_rng(0).integers(0, 256, (n, c, h, w)).astype(np.uint8)
    onnx_value = value if flip else value.view(np.int8)
    port, tensor = port_of(plain("NCHW", (n, c, h, w)), shape), Tensor("t", shape, Q, flip)
    found = to_map(onnx_value, port, tensor)
    expected = (value ^ (0x80 if flip else 0)).view(np.int8).transpose(0, 2, 3, 1)
    assert (found == expected).all()
    back = from_map(found, port, tensor)
    assert back.dtype == onnx_value.dtype
    assert (back == onnx_value).all()


@given(st.permutations([0, 1, 2, 3, 4]), st.sampled_from([(1, 12, 4, 6), (2, 6, 3, 4)]))
def test_split_and_permuted_dimensions(order: list[int], shape: tuple[int, int, int, int]) -> None:
    """NumPy's reshape and transpose are the reference of layouts."""
    n, c, h, w = shape
    cut = plain("NCHW", shape).reshaped((n, c // 2, 2, h, w))
    assert cut is not None
    layout = cut.transposed(order)
    value = np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)
    expected = value.reshape(n, c // 2, 2, h, w).transpose(order)
    stored = np.ascontiguousarray(value.transpose(0, 2, 3, 1))
    tensor = Tensor("t", (n, h, w, c), Q)
    assert (from_map(stored, port_of(layout, tensor.shape), tensor) == expected).all()
    assert (to_map(expected, port_of(layout, tensor.shape), tensor) == stored).all()
    flat = layout.reshaped((int(np.prod(shape)),))
    if flat is not None:
        assert (from_map(stored, port_of(flat, tensor.shape), tensor) == expected.reshape(-1)).all()


def test_other_types_are_refused() -> None:
    with pytest.raises(TilewrightError, match="tensor t: is float32, int8 or uint8 is expected by the machine"):
        to_map(
            np.zeros((1, 1, 1, 1), np.float32), port_of(plain("NCHW", (1, 1, 1, 1)), (1, 1, 1, 1)), Tensor("t", (1, 1, 1, 1), Q)
        )
