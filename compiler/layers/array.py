"""Lowers layers on CONV's array. One instruction computes a span of output chunks, a part of a reduction, a tile of rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from compiler.instructions.pending import Access, Pending, Space
from compiler.layers.layer import Block, Ends, ParameterWords, Shifts
from compiler.layers.packing import channel_slots
from compiler.layers.placed import Placed, Rows
from compiler.layers.post import post_values
from compiler.layers.window import WindowRows, output_values, window_values
from compiler.xgraph.ops import Finish, Op, Window
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig
from isa.instructions import Buffer, Unit
from isa.latency import conv_drain


@dataclass(frozen=True)
class Span:
    """Neighbouring chunks that read the same ``vectors`` channel vectors from ``first_vector``.

    With ``g_chunks``, the input moves on by ``vectors`` channel vectors after every ``g_chunks`` chunks.
    """

    first_chunk: int
    chunks: int
    first_vector: int
    vectors: int
    g_chunks: int = 0


@dataclass(frozen=True)
class Part:
    """The chunks of a span that one instruction computes, over some channel vectors and some rows of the kernel.

    The reduction covers ``vectors`` channel vectors from the ``skip``-th on.
    """

    span: Span
    first_chunk: int
    chunks: int
    base_vector: int
    skip: int
    vectors: int
    kernel: Rows
    acc_in: bool
    acc_out: bool


class ArrayLayer(ABC):
    """A layer of sums of products over a window and channels. ``_block`` of each kind says where the weights come from.

    Its beats are chunks x pixel groups x kernel taps x channel vectors. Nothing else costs cycles in steady state.
    """

    unit = Unit.CONV
    shifts: Shifts = ()
    x_vectors, y_vectors = 1, 1
    """The channel vectors of the input, and of the output, for each one of the weights: two for a map of 16 bits, else one."""

    def __init__(
        self, config: MachineConfig, op: Op, source: Tensor, target: Tensor, *, window: Window, finish: Finish, groups: int,
        pad_value: int, weight_zp: int,
    ) -> None:  # fmt: skip
        self.config, self.op = config, op
        self.inputs, self.output = op.streamed, op.output
        self.window, self.finish = window, finish
        self.table = finish.table
        self.groups, self.pad_value, self.weight_zp = groups, pad_value, weight_zp
        self.source, self.target = source, target
        self.rows = WindowRows(window, source.height)

    @abstractmethod
    def _block(self, part: Part) -> Block:
        """The parameters of a part."""

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        return channel_slots(self.config, self.target.channels)

    def input_end(self, index: int, output_end: Ends) -> Ends:
        return self.rows.end(output_end)

    def input_begin(self, index: int, output_begin: Ends) -> Ends:
        return self.rows.begin(output_begin)

    @property
    def of_group(self) -> tuple[int, int]:
        """The inputs and the outputs of a group of the convolution. A number of 16 bits counts once."""
        return self.source.channels // self.x_vectors // self.groups, self.target.channels // self.y_vectors // self.groups

    @cached_property
    def taps(self) -> int:
        return self.window.kernel[0] * self.window.kernel[1]

    @cached_property
    def beats(self) -> int:
        groups = -(-self.target.height * self.target.width // self.config.px_p)
        drain = conv_drain(self.config, self.y_vectors)
        return sum(s.chunks * max(s.vectors * self.x_vectors * self.taps, drain) for s in self.spans) * groups

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """The spans of the layer: one if it is dense or if whole groups fill lanes, else one for each group or word."""
        vectors = -(-self.source.channels // self.config.ic_p) // self.x_vectors
        chunks, lanes = len(self.slots), int((self.slots[0] >= 0).sum())
        if self.groups == 1:
            return (Span(0, chunks, 0, vectors),)
        inputs, outputs = self.of_group
        if inputs % self.config.ic_p == 0 and outputs % lanes == 0 and outputs * self.groups == lanes * chunks:
            span = Span(0, chunks, 0, inputs // self.config.ic_p, outputs // lanes)
            unit = self._unit(span)
            if self.taps * span.vectors * unit <= self.config.weight_depth // 2 and unit <= self.config.param_depth // 2:
                return (span,)
            if span.g_chunks % self.config.chunks_per_word == 0:
                per_group = range(self.groups)
                return tuple(
                    Span(g * span.g_chunks, span.g_chunks, g * span.vectors, span.vectors) for g in per_group
                )
        spans = []
        for chunk in range(0, chunks, self.config.chunks_per_word):
            used = self.slots[chunk : chunk + self.config.chunks_per_word]
            used = used[used >= 0]
            first = used.min() // outputs * inputs // self.config.ic_p
            last = ((used.max() // outputs + 1) * inputs - 1) // self.config.ic_p
            spans.append(Span(chunk, self.config.chunks_per_word, int(first), int(last - first + 1)))
        return tuple(spans)

    def _unit(self, span: Span) -> int:
        """The number of chunks that stay together: whole feature-map words, and whole groups of a grouped convolution."""
        return math.lcm(span.g_chunks or 1, self.config.chunks_per_word)

    def blocks(self, budget: Mapping[Buffer, int]) -> Sequence[Block]:
        room, records = budget[Buffer.WEIGHT], budget[Buffer.PARAM]
        return [self._block(part) for span in self.spans for part in self._parts(span, room, records)]

    def _parts(self, span: Span, room: int, records: int) -> Iterator[Part]:
        unit = self._unit(span)
        step = min(span.vectors, room // (self.taps * unit))
        if unit > records:
            return
        if step < 1:
            yield from self._parts_by_rows(span, room // (self.window.kernel[1] * unit))
            return
        rows = Rows(0, self.window.kernel[0])
        count = min(room // (self.taps * span.vectors), records) // unit * unit if step == span.vectors else unit
        count = -(-span.chunks // -(-span.chunks // count) // unit) * unit
        step = -(-span.vectors // -(-span.vectors // step))
        for first in range(0, span.chunks, count):
            base = span.first_vector + (first // span.g_chunks * span.vectors if span.g_chunks else 0)
            for vector in range(0, span.vectors, step):
                vectors = min(step, span.vectors - vector)
                yield Part(
                    span, span.first_chunk + first, min(count, span.chunks - first), base, vector, vectors, rows,
                    acc_in=vector > 0, acc_out=vector + vectors < span.vectors,
                )  # fmt: skip

    def _parts_by_rows(self, span: Span, most: int) -> Iterator[Part]:
        """Yields parts of one vector each and at most ``most`` kernel rows, where a whole kernel has more weights than fit."""
        unit, height = self._unit(span), self.window.kernel[0]
        if most < 1:
            return
        for first in range(0, span.chunks, unit):
            base = span.first_vector + (first // span.g_chunks * span.vectors if span.g_chunks else 0)
            for vector in range(span.vectors):
                for rows in Rows(0, height).pieces(most):
                    yield Part(
                        span, span.first_chunk + first, min(unit, span.chunks - first), base, vector, 1, rows,
                        acc_in=vector > 0 or rows.begin > 0, acc_out=vector + 1 < span.vectors or rows.end < height,
                    )  # fmt: skip

    def _taps_of(self, part: Part) -> int:
        return len(part.kernel) * self.window.kernel[1]

    def rows_at_most(self, budget: Mapping[Buffer, int]) -> int:
        """The most output rows of a step. A reduction in parts keeps all sums of a step in the accumulator buffer."""
        if all(self.taps * s.vectors * self._unit(s) <= budget[Buffer.WEIGHT] for s in self.spans):
            return self.target.height
        unit = max(self._unit(s) for s in self.spans)
        # One pixel group is left out, because a step may be cut in two where a ring starts again.
        return (self.config.acc_depth // unit - 1) * self.config.px_p // self.target.width

    def emit(self, rows: Rows, block: Block, at: ParameterWords, where: Mapping[str, Placed]) -> list[Pending]:
        assert isinstance(block.part, Part)
        source, target = where[self.inputs[0]], where[self.output]
        pending = []
        entry = 0
        for tile in target.segments(rows):
            pending.append(self._instruction(block.part, block, at, source, target, tile, entry))
            entry += -(-len(tile) * target.width // self.config.px_p) * block.part.chunks
        return pending

    def _instruction(
        self, part: Part, block: Block, at: ParameterWords, source: Placed, target: Placed, rows: Rows, entry: int
    ) -> Pending:
        config, span = self.config, part.span
        columns = Rows(0, target.width)
        plane = part.first_chunk * config.words_per_chunk // config.chunks_per_word * self.y_vectors
        post, table = post_values(self.finish, at)
        values = {
            **window_values(self._window_of(part), source, rows, columns, self.pad_value),
            **output_values(target, rows, columns, plane),
            **post,
            "vectors": part.vectors * self.x_vectors, "chunks": part.chunks,
            "g_chunks": span.g_chunks, "g_step": span.vectors * self.x_vectors * source.plane if span.g_chunks else 0,
            "acc_in": int(part.acc_in), "acc_out": int(part.acc_out),
            "w_addr": at[Buffer.WEIGHT], "w_zp": self.weight_zp, "p_addr": at.get(Buffer.PARAM, 0),
            "a_addr": entry if part.acc_in or part.acc_out else 0,
        }  # fmt: skip
        first_vector = (part.base_vector + part.skip) * self.x_vectors
        values["i_addr"] += first_vector * source.plane
        need = self.rows.needed(rows)
        groups = -(-part.chunks // span.g_chunks) if span.g_chunks else 1
        vectors = ((groups - 1) * span.vectors + part.vectors) * self.x_vectors
        reads = [
            *source.access(need, first_vector, vectors),
            Access(Space.WEIGHT, at[Buffer.WEIGHT], block.sizes[Buffer.WEIGHT]),
            *table,
        ]
        writes: list[Access] = []
        entries = Access(Space.ACCUMULATOR, entry, -(-len(rows) * len(columns) // config.px_p) * part.chunks)
        if part.acc_in:
            reads.append(entries)
        if part.acc_out:
            writes.append(entries)
        if not part.acc_out:
            reads.append(Access(Space.PARAM, at[Buffer.PARAM], block.sizes[Buffer.PARAM]))
            planes = -(-part.chunks * config.words_per_chunk // config.chunks_per_word) * self.y_vectors
            writes = target.access(rows, plane, planes)
        drain = 0 if part.acc_out else conv_drain(config, self.y_vectors)
        beats = max(part.vectors * self.x_vectors * self._taps_of(part), drain)
        beats *= -(-len(rows) * len(columns) // config.px_p) * part.chunks
        return Pending("CONV", values, reads, writes, beats + 4)

    def _window_of(self, part: Part) -> Window:
        """The window of a part: its rows of the kernel, with the padding above the map that belongs to the first of them."""
        window = self.window
        if part.kernel == Rows(0, window.kernel[0]):
            return window
        top, left, bottom, right = window.pads
        pads = (top - part.kernel.begin * window.dilation[0], left, bottom, right)
        return replace(window, kernel=(len(part.kernel), window.kernel[1]), pads=pads)
