"""Checks that must hold after every pass: shapes, quantisation, constants and ranges of every operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.xgraph.graph import GraphError, XGraph
from compiler.xgraph.long_conv import LongConv, check_long_conv
from compiler.xgraph.ops import (
    OF_ONE,
    OVER_CHANNELS,
    Concat,
    Constant,
    Conv,
    ConvTranspose,
    Cpu,
    Eltwise,
    Finish,
    Interleave,
    Op,
    Pool,
    PoolKind,
    Requantisation,
    Reshape,
    Slice,
    Upsample,
    Window,
)
from compiler.xgraph.products import Product, check_product
from compiler.xgraph.row_operations import Normalisation, Softmax, check_normalisation, check_softmax
from compiler.xgraph.tensor import Tensor

Shape = tuple[int, ...]


def verify(graph: XGraph) -> XGraph:
    """Returns the graph, if it is sound; else raises an error with the operation, what was found and what is expected."""
    names: set[str] = set()
    for op in graph.ops:
        if op.name in names:
            raise GraphError(f"graph {graph.name}: two operations are named {op.name}")
        names.add(op.name)
        if not isinstance(op, Cpu):
            Checks(graph, op).run()
    for name, tensor in graph.tensors.items():
        if tensor.name != name or min(tensor.shape) < 1 or not -128 <= tensor.quantisation.zero_point <= 127:
            raise GraphError(
                f"graph {graph.name}: tensor {name} is {tensor}: a positive shape and an int8 zero-point are expected"
            )
    return graph


class Checks:
    """The checks of one operation."""

    def __init__(self, graph: XGraph, op: Op) -> None:
        self.op = op
        self.sources: list[Tensor] = [graph.tensors[name] for name in op.inputs]
        self.target: Tensor = graph.tensors[op.output]
        self.where = f"graph {graph.name}: operation {op.name}"

    def run(self) -> None:
        if type(self.op) not in CHECKS:
            kind = type(self.op).__name__
            raise GraphError(f"{self.where}: kind {kind} is not known; register it (compiler/layers/lower.py)")
        self.equal("outputs", len(self.op.outputs), 1)
        CHECKS[type(self.op)](self, self.op)

    def equal(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            raise GraphError(f"{self.where}: {what} is {found}, {expected} is expected")

    def within(self, what: str, found: int, least: int, most: int) -> None:
        if not least <= found <= most:
            raise GraphError(f"{self.where}: {what} is {found}, {least} to {most} is expected")

    def array(self, what: str, value: NDArray[Any], dtype: type, shape: Shape) -> None:
        self.equal(f"type of {what}", value.dtype, np.dtype(dtype))
        self.equal(f"shape of {what}", value.shape, shape)

    def shape(self, expected: Shape) -> None:
        self.equal(f"shape of {self.target.name}", self.target.shape, tuple(expected))

    def finish(self, finish: Finish) -> None:
        for what in ("zero_point", "lo", "hi"):
            self.within(what, getattr(finish, what), -128, 127)
        self.within("hi", finish.hi, finish.lo, 127)
        if finish.table is not None:
            self.array("table", finish.table, np.int8, (256,))

    def requantisation(self, q: Requantisation, channels: int) -> None:
        self.array("bias", q.bias, np.int32, (channels,))
        self.array("mantissa", q.mantissa, np.uint32, (channels,))
        self.array("shift", q.shift, np.uint8, (channels,))
        self.within("mantissa", int(q.mantissa.max()), 0, (1 << 24) - 1)
        self.within("shift", int(q.shift.max()), 0, 63)

    def window(self, window: Window) -> None:
        n, h, w, _ = self.sources[0].shape
        out = self.target.shape[1:3]
        for side, size in enumerate((h, w)):
            reach = (out[side] - 1) * window.stride[side] + (window.kernel[side] - 1) * window.dilation[side] + 1
            room = size + window.pads[side] + window.pads[side + 2]
            within = reach - window.stride[side] + 1 <= room or isinstance(self.op, Pool)
            if not within:
                raise GraphError(f"{self.where}: windows reach over {reach} of {room} {('rows', 'columns')[side]}")
        self.equal("batch", self.target.batch, n)

    def _weights(self, op: Conv | ConvTranspose) -> None:
        channels, outputs = self.sources[0].channels, self.target.channels
        self.equal("channels that are left over by groups", (channels % op.groups, outputs % op.groups), (0, 0))
        self.array("weights", op.weights, np.int8, (outputs, *op.window.kernel, channels // op.groups))
        self.within("weight_zp", op.weight_zp, -128, 127)
        self.requantisation(op.requantisation, outputs)
        self.finish(op.finish)
        self.within("pad_value", op.pad_value, -128, 127)

    def _conv(self, op: Conv) -> None:
        self._weights(op)
        self.window(op.window)

    def _transpose(self, op: ConvTranspose) -> None:
        self._weights(op)
        n, h, w, _ = self.sources[0].shape
        sides = [
            op.window.stride[i] * (size - 1) + op.output_padding[i] + (op.window.kernel[i] - 1) * op.window.dilation[i] + 1
            - op.window.pads[i] - op.window.pads[i + 2]
            for i, size in enumerate((h, w))
        ]  # fmt: skip
        self.shape((n, *sides, self.target.channels))

    def _pool(self, op: Pool) -> None:
        self.window(op.window)
        self.finish(op.finish)
        self.equal("channels", self.target.channels, self.sources[0].channels)
        self.within("pad_value", op.pad_value, -128, 127)
        if op.kind is PoolKind.AVERAGE:
            taps = op.window.kernel[0] * op.window.kernel[1]
            if op.count_pad and taps not in op.scales:
                raise GraphError(f"{self.where}: has no scale for its {taps} pixels")
            for count, (_, mantissa, shift) in op.scales.items():
                self.within("count of a scale", count, 1, taps)
                self.within("mantissa", mantissa, 0, (1 << 24) - 1)
                self.within("shift", shift, 0, 63)
        elif op.finish.table is None:
            self.same_quantisation(self.sources)

    def _eltwise(self, op: Eltwise) -> None:
        self.equal("inputs", len(op.inputs), 1 if op.kind in OF_ONE else 2)
        first = self.sources[0].shape
        self.shape((*first[:3], 1) if op.kind in OVER_CHANNELS else first)
        for source in self.sources[1:]:
            wide = self.target.shape
            if source.shape not in (wide, (wide[0], 1, 1, wide[3])):
                raise GraphError(f"{self.where}: second input is {source.shape}, {wide} or one value per channel is expected")
        self.finish(op.finish)
        for what, value in (("m_a", op.m_a), ("m_b", op.m_b)):
            self.within(what, value, -(1 << 25), (1 << 25) - 1)
        self.within("c", op.c, -(1 << 47), (1 << 47) - 1)
        self.within("shift", op.shift, 0, 63)

    def same_quantisation(self, sources: Sequence[Tensor]) -> None:
        for source in sources:
            self.equal(
                f"quantisation of {source.name}",
                (source.quantisation, source.flip),
                (self.target.quantisation, self.target.flip),
            )

    def _upsample(self, op: Upsample) -> None:
        n, h, w, c = self.sources[0].shape
        self.shape((n, h * op.factor[0], w * op.factor[1], c))
        self.same_quantisation(self.sources)

    def _concat(self, op: Concat) -> None:
        self.within("axis", op.axis, 1, 3)
        expected = list(self.sources[0].shape)
        expected[op.axis] = sum(source.shape[op.axis] for source in self.sources)
        for source in self.sources:
            sides = [size for axis, size in enumerate(source.shape) if axis != op.axis]
            self.equal(
                f"shape of {source.name} apart from axis {op.axis}", sides, [s for a, s in enumerate(expected) if a != op.axis]
            )
        self.shape(tuple(expected))
        self.same_quantisation(self.sources)

    def _slice(self, op: Slice) -> None:
        source = self.sources[0]
        self.equal("batch", self.target.batch, source.batch)
        for what, begin, step, count, size in zip(
            ("rows", "columns", "channels"), op.begin, (*op.step, 1), self.target.shape[1:], source.shape[1:], strict=True
        ):
            self.within(f"last of the {what}", begin + (count - 1) * step, begin, size - 1)
        self.same_quantisation(self.sources)

    def _interleave(self, op: Interleave) -> None:
        (b_y, b_x), (n, h, w, c) = op.block, self.target.shape
        self.equal("inputs", len(self.sources), b_y * b_x)
        for index, source in enumerate(self.sources):
            y, x = divmod(index, b_x)
            self.equal(f"shape of {source.name}", source.shape, (n, len(range(y, h, b_y)), len(range(x, w, b_x)), c))
        self.same_quantisation(self.sources)

    def _reshape(self, op: Reshape) -> None:
        self.equal("bytes", self.target.bytes, self.sources[0].bytes)
        self.same_quantisation(self.sources)

    def _constant(self, op: Constant) -> None:
        self.equal("inputs", len(op.inputs), 0)
        self.array("values", op.values, np.int8, self.target.shape)


Check = Callable[[Checks, Any], None]
CHECKS: dict[type[Op], Check] = {
    Conv: Checks._conv, ConvTranspose: Checks._transpose, Pool: Checks._pool, Eltwise: Checks._eltwise,
    Upsample: Checks._upsample, Concat: Checks._concat, Slice: Checks._slice, Interleave: Checks._interleave,
    Reshape: Checks._reshape, Constant: Checks._constant, Softmax: check_softmax, Normalisation: check_normalisation,
    Product: check_product, LongConv: check_long_conv,
}  # fmt: skip
"""The check of each kind of operation, beyond that it has one output."""
