"""Window sizes and pads, against onnx's own shape inference and against counting taps one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, shape_inference

from compiler.zoo.geometry import inside, output_size, resolve

Size = tuple[int, int]


def inferred(size: Size, kernel: int, **attributes: Any) -> Size:
    """The size of a MaxPool's result as onnx sees it."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 1, *size))
    y = helper.make_empty_tensor_value_info("y")
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[kernel] * 2, **attributes)
    opsets = [helper.make_opsetid("", 22)]  # the first whose inference drops a window that begins in the last pads
    model = helper.make_model(helper.make_graph([node], "pool", [x], [y]), opset_imports=opsets)
    shape = shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape
    return (shape.dim[2].dim_value, shape.dim[3].dim_value)


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(2, 2, 1), (3, 2, 1), (3, 1, 2), (1, 2, 1), (5, 3, 1), (3, 2, 2)])
def test_output_size_is_onnx_s(kernel: int, stride: int, dilation: int, ceil_mode: bool) -> None:
    for size, pad in itertools.product([(7, 8), (12, 13)], range(kernel)):
        pads = (pad, 0, 0, pad)
        found = output_size(size, pads, kernel, stride, dilation, ceil_mode)
        expected = inferred(size, kernel, strides=[stride] * 2, dilations=[dilation] * 2, pads=pads, ceil_mode=int(ceil_mode))
        assert found == expected, (size, pads)


@pytest.mark.parametrize(("kernel", "stride"), [(2, 1), (3, 1), (3, 2), (5, 2), (7, 2), (1, 2)])
def test_same_is_onnx_s_same_upper(kernel: int, stride: int) -> None:
    for size in [(7, 8), (12, 13)]:
        pads = resolve("same", size, kernel, stride)
        assert output_size(size, pads, kernel, stride) == inferred(size, kernel, strides=[stride] * 2, auto_pad="SAME_UPPER")
        assert 0 <= pads[2] - pads[0] <= 1
        assert 0 <= pads[3] - pads[1] <= 1


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (7, 1), (3, 6)])
def test_centred_keeps_the_size(kernel: int, dilation: int) -> None:
    pads = resolve("centred", (9, 20), kernel, 1, dilation)
    assert output_size((9, 20), pads, kernel, 1, dilation) == (9, 20)


@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(3, 1, 1), (3, 2, 1), (3, 1, 6), (7, 2, 1)])
def test_inside_counts_the_taps_that_are_not_padding(kernel: int, stride: int, dilation: int) -> None:
    size = (6, 9)
    pads = resolve("centred", size, kernel, stride, dilation)
    output = output_size(size, pads, kernel, stride, dilation)
    padded = np.pad(np.ones(size), ((pads[0], pads[2]), (pads[1], pads[3])))
    taps = [
        padded[oy * stride + ky * dilation, ox * stride + kx * dilation]
        for oy, ox, ky, kx in itertools.product(range(output[0]), range(output[1]), range(kernel), range(kernel))
    ]
    assert inside(size, pads, kernel, stride, dilation, output) == pytest.approx(np.mean(taps))
