"""Tells where the host finds the tensors that it shares with the machine."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from compiler.layers.views import View
from compiler.xgraph.ops import Port
from compiler.xgraph.tensor import Tensor
from isa.program import TensorBuffer


def buffer_of(port: Port, tensor: Tensor, views: Mapping[str, View]) -> TensorBuffer:
    """The place and the form of the ONNX tensor of a port in the storage of its map."""
    view = views[port.tensor]
    place = (view.batch_stride, view.row_stride, view.step, 1)
    atoms = [atom for dim in port.dims for stride, size in dim for atom in _along_axes(stride, size, tensor.shape)]
    zero_point = tensor.quantisation.zero_point + (128 if tensor.flip else 0)
    return TensorBuffer(
        name=port.onnx,
        region=view.region,
        offset=view.offset,
        shape=tuple(size for _, _, size in atoms),
        type="uint8" if tensor.flip else "int8",
        scale=tensor.quantisation.scale,
        zero_point=zero_point,
        strides=tuple(place[axis] * steps for axis, steps, _ in atoms),
        host_shape=tuple(math.prod(size for _, size in dim) for dim in port.dims),
        flipped=tensor.flip and not view.flip,
    )


def _along_axes(stride: int, size: int, shape: tuple[int, int, int, int]) -> Iterator[tuple[int, int, int]]:
    """Divides a stretch of a dense map into stretches along its axes: (axis, steps along it, elements), outermost first.

    Elements that do not divide an axis lie in it with gaps between them, of which the last is left out.
    """
    inner = 1
    parts: list[tuple[int, int, int]] = []
    for axis in (3, 2, 1, 0):
        outer = inner * shape[axis]
        if size > 1 and stride < outer:
            here = min(size, -(-outer // stride))
            parts.append((axis, stride // inner, here))
            size //= here
            stride = outer
        inner = outer
    yield from reversed(parts)
