"""Transposed convolution: one ordinary convolution for each phase of the output.

Output row ``o`` gets tap ``k`` from input row ``(o + pad - k d) / s`` if that is whole. Rows of the same phase ``o mod s`` use
the same taps, at neighbouring input rows. So a phase is a convolution of stride 1 whose outputs lie ``s`` rows apart. The same
holds for columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from compiler.instructions.pending import Access, Pending, Space
from compiler.layers.conv import ConvLayer
from compiler.layers.layer import Block, Ends, ParameterWords, Shifts
from compiler.layers.placed import Placed, Rows
from compiler.layers.pool import DepthwiseLayer
from compiler.xgraph.ops import ConvTranspose, Window
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig
from isa.instructions import Buffer, Unit


@dataclass(frozen=True)
class Axis:
    """One phase along one axis: the outputs ``phase, phase + stride, ...``. Its taps are in the order of rising input."""

    phase: int
    taps: tuple[int, ...]
    before: int
    """The padding of the phase's convolution: its output 0 first reads input ``-before``."""
    spacing: int
    """The distance of neighbouring taps on the input."""


def phases(stride: int, kernel: int, dilation: int, pad: int) -> list[Axis]:
    found = []
    for phase in range(stride):
        reached = {
            (phase + pad - tap * dilation) // stride: tap
            for tap in range(kernel)
            if (phase + pad - tap * dilation) % stride == 0
        }
        places = sorted(reached)
        spacing = places[1] - places[0] if len(places) > 1 else 1
        before = -places[0] if places else 0
        found.append(Axis(phase, tuple(reached[p] for p in places), before, spacing))
    return found


@dataclass(frozen=True)
class PhasePart:
    """A block of one phase's convolution."""

    phase: int
    block: Block


class TransposeLayer:
    """A transposed convolution as its phases. Each is a convolution that writes every ``s``-th row and column."""

    unit: Unit = Unit.CONV
    shifts: Shifts = ()

    def __init__(self, config: MachineConfig, op: ConvTranspose, source: Tensor, target: Tensor) -> None:
        self.config, self.op, self.transpose = config, op, op
        self.inputs, self.output, self.target = op.inputs, op.output, target
        self.source = source
        self.window = None
        self.table = op.finish.table
        (k_h, k_w), (s_y, s_x), (d_y, d_x) = op.window.kernel, op.window.stride, op.window.dilation
        top, left = op.window.pads[:2]
        # An output narrower than the stride has no pixel of the last phases.
        rows, columns = phases(s_y, k_h, d_y, top)[: target.height], phases(s_x, k_w, d_x, left)[: target.width]
        self.phases = [(y, x) for y in rows for x in columns]
        self.layers = [self._phase(y, x) for y, x in self.phases]
        self.beats = sum(layer.beats for layer in self.layers)

    def _phase(self, y: Axis, x: Axis) -> ConvLayer | DepthwiseLayer:
        op = self.transpose
        s_y, s_x = op.window.stride
        height = -(-(self.target.height - y.phase) // s_y)
        width = -(-(self.target.width - x.phase) // s_x)
        weights = op.weights[:, list(y.taps) or [0]][:, :, list(x.taps) or [0]]
        if not y.taps or not x.taps:
            weights = np.full_like(weights, op.weight_zp)
        window = Window(weights.shape[1:3], (1, 1), (y.spacing, x.spacing), (y.before, x.before, 0, 0))
        shape = (self.target.batch, height, width, self.target.channels)
        return self._inner(weights, replace(self.target, shape=shape), window)

    def _inner(self, weights: NDArray[np.int8], target: Tensor, window: Window) -> ConvLayer | DepthwiseLayer:
        op = self.transpose
        return ConvLayer(
            self.config, op, self.source, target, window=window, weights=weights, requantisation=op.requantisation,
            finish=op.finish, groups=op.groups, pad_value=op.pad_value, weight_zp=op.weight_zp,
        )  # fmt: skip

    def input_end(self, index: int, output_end: Ends) -> Ends:
        s_y = self.transpose.window.stride[0]
        ends = [
            layer.input_end(0, np.maximum(0, -(-(output_end - y.phase) // s_y)))
            for (y, _), layer in zip(self.phases, self.layers, strict=True)
        ]
        found: Ends = np.max(ends, axis=0)
        return found

    def input_begin(self, index: int, output_begin: Ends) -> Ends:
        s_y = self.transpose.window.stride[0]
        begins = [
            layer.input_begin(0, np.maximum(0, -(-(output_begin - y.phase) // s_y)))
            for (y, _), layer in zip(self.phases, self.layers, strict=True)
        ]
        found: Ends = np.min(begins, axis=0)
        return found

    def rows_at_most(self, budget: Mapping[Buffer, int]) -> int:
        return min(layer.rows_at_most(budget) for layer in self.layers) * self.transpose.window.stride[0]

    def blocks(self, budget: Mapping[Buffer, int]) -> Sequence[Block]:
        found = [layer.blocks(budget) for layer in self.layers]
        if any(not blocks for blocks in found):
            return []
        return [
            Block(block.sizes, PhasePart(n, block), block.pack, block.divisible, block.int4)
            for n, blocks in enumerate(found)
            for block in blocks
        ]

    def emit(self, rows: Rows, block: Block, at: ParameterWords, where: Mapping[str, Placed]) -> list[Pending]:
        assert isinstance(block.part, PhasePart)
        layer, (y, x) = self.layers[block.part.phase], self.phases[block.part.phase]
        pending: list[Pending] = []
        entries = 0
        for segment in where[self.output].segments(rows):
            for found in self._emit_phase(layer, y, x, segment, block.part.block, at, where):
                # The layer counts accumulator entries from 0. Here they go on after a place where a ring cut the rows.
                touched = [access for access in (*found.reads, *found.writes) if access.space is Space.ACCUMULATOR]
                values = found.values | {"a_addr": found.values["a_addr"] + entries} if touched else found.values
                pending.append(
                    replace(found, values=values, reads=_moved(found.reads, entries), writes=_moved(found.writes, entries))
                )
                entries += max((access.length for access in touched), default=0)
        return pending

    def _emit_phase(
        self, layer: ConvLayer | DepthwiseLayer, y: Axis, x: Axis, segment: Rows, block: Block, at: ParameterWords,
        where: Mapping[str, Placed],
    ) -> Iterator[Pending]:  # fmt: skip
        """Yields the instructions of a phase in a segment that the ring does not cut.

        The layer emits a dense map; its output fields are then changed so that rows and columns lie apart.
        """
        s_y, s_x = self.transpose.window.stride
        first = -(-(segment.begin - y.phase) // s_y)
        rows = Rows(max(0, first), max(0, -(-(segment.end - y.phase) // s_y)))
        if not len(rows):
            return
        target = where[self.output]
        whole = Placed(target.base, target.pitch, layer.target.height, layer.target.height, layer.target.width, target.planes)
        for pending in layer.emit(rows, block, at, {**where, self.output: whole}):
            row = rows.begin * s_y + y.phase
            plane = (pending.values["o_addr"] - whole.base) // whole.plane
            values = pending.values | {
                "o_addr": target.word(row, plane) + x.phase,
                "o_xs": s_x, "o_ys": s_y * target.pitch, "o_cs": target.plane,
            }  # fmt: skip
            kept = [access for access in pending.writes if access.space is Space.ACCUMULATOR]
            yield replace(pending, values=values, writes=kept or target.access(segment))


def _moved(accesses: Sequence[Access], entries: int) -> list[Access]:
    """The accesses with accumulator entries counted from ``entries``."""
    return [replace(a, start=a.start + entries) if a.space is Space.ACCUMULATOR else a for a in accesses]


class DepthwiseTransposeLayer(TransposeLayer):
    """A transposed convolution with one filter per channel, on the POOL unit."""

    unit = Unit.POOL

    def _inner(self, weights: NDArray[np.int8], target: Tensor, window: Window) -> ConvLayer | DepthwiseLayer:
        op = self.transpose
        return DepthwiseLayer(
            self.config, op, self.source, target, window=window, taps=weights[:, :, :, 0],
            requantisation=op.requantisation, finish=op.finish, pad_value=op.pad_value, weight_zp=op.weight_zp,
        )  # fmt: skip
