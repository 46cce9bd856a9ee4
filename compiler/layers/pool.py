"""Window operations on the POOL unit, which keep channels apart: maximum, average and depthwise convolution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler.instructions.pending import Access, Pending, Space
from compiler.layers.layer import Block, Ends, ParameterWords, Shifts
from compiler.layers.packing import pool_param_words, records, tap_words
from compiler.layers.placed import Placed, Rows
from compiler.layers.post import post_values
from compiler.layers.window import WindowRows, output_values, window_values
from compiler.tuned import LEAST_POOL_PIECE as LEAST
from compiler.tuned import MOST_POOL_PIECES as MOST
from compiler.xgraph.ops import Conv, Finish, Op, Pool, PoolKind, Requantisation, Window
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig
from isa.instructions import Buffer, PoolMode, Unit
from isa.requantisation import packed


@dataclass(frozen=True)
class Part:
    """Neighbouring channel vectors."""

    first_vector: int
    vectors: int

    def pieces(self, most: int) -> list[Part]:
        """The part in parts of at most ``most`` vectors."""
        end = self.first_vector + self.vectors
        return [Part(first, min(most, end - first)) for first in range(self.first_vector, end, most)]


class _WindowLayer:
    """A layer with a window on POOL: pooling, or depthwise convolution."""

    unit = Unit.POOL
    shifts: Shifts = ()
    several = True
    """Whether the unit takes several taps in a cycle."""

    def __init__(self, config: MachineConfig, op: Op, window: Window, source: Tensor, target: Tensor, finish: Finish) -> None:
        self.config, self.op = config, op
        self.inputs, self.output = op.inputs, op.output
        self.window, self.finish, self.target, self.table = window, finish, target, finish.table
        self.rows = WindowRows(window, source.height)
        self.vectors = -(-source.channels // config.ic_p)
        self.taps = window.kernel[0] * window.kernel[1]
        at_once = config.taps_at_once(window.stride[1], window.dilation[1]) if self.several else 1
        self.steps = max(window.kernel[0] * -(-window.kernel[1] // at_once), config.px_p * config.pool_parts)
        """The cycles of a pixel group and a channel vector."""
        self.beats_of_vector = -(-target.height * target.width // config.px_p) * self.steps
        self.beats = self.vectors * self.beats_of_vector

    def input_end(self, index: int, output_end: Ends) -> Ends:
        return self.rows.end(output_end)

    def input_begin(self, index: int, output_begin: Ends) -> Ends:
        return self.rows.begin(output_begin)

    def rows_at_most(self, budget: Mapping[Buffer, int]) -> int:
        return self.target.height

    def _emit(
        self, rows: Rows, part: Part, where: Mapping[str, Placed], at: ParameterWords,
        mode: dict[str, int], pad_value: int, reads: list[Access],
    ) -> list[Pending]:  # fmt: skip
        source, target = where[self.inputs[0]], where[self.output]
        post, table = post_values(self.finish, at)
        pending = []
        for tile in target.segments(rows):
            columns = Rows(0, target.width)
            values = {
                **window_values(self.window, source, tile, columns, pad_value),
                **output_values(target, tile, columns, part.first_vector),
                **post, **mode, "vectors": part.vectors,
            }  # fmt: skip
            values["i_addr"] += part.first_vector * source.plane
            need = self.rows.needed(tile)
            touched = [*source.access(need, part.first_vector, part.vectors), *reads, *table]
            written = target.access(tile, part.first_vector, part.vectors)
            beats = part.vectors * -(-len(tile) * target.width // self.config.px_p) * self.steps
            pending.append(Pending("POOL", values, touched, written, beats + 4))
        return pending


class DepthwiseLayer(_WindowLayer):
    """A depthwise convolution: ``px_p`` channel vectors and up to ``pool_taps`` taps in each cycle, beside CONV."""

    def __init__(
        self, config: MachineConfig, op: Op, source: Tensor, target: Tensor, *,
        window: Window, taps: NDArray[np.int8], requantisation: Requantisation, finish: Finish, pad_value: int,
        weight_zp: int,
    ) -> None:  # fmt: skip
        super().__init__(config, op, window, source, target, finish)
        self.tap_values, self.requantisation, self.pad_value, self.weight_zp = taps, requantisation, pad_value, weight_zp

    @classmethod
    def of(cls, config: MachineConfig, op: Conv, source: Tensor, target: Tensor) -> DepthwiseLayer:
        return cls(
            config, op, source, target, window=op.window, taps=op.weights[:, :, :, 0],
            requantisation=op.requantisation, finish=op.finish, pad_value=op.pad_value, weight_zp=op.weight_zp,
        )  # fmt: skip

    def blocks(self, budget: Mapping[Buffer, int]) -> Sequence[Block]:
        most = min(budget[Buffer.TAPS] // self.taps, budget[Buffer.POOL_PARAM])
        if most < 1:
            return []
        pieces = -(-self.vectors // most)
        step = -(-self.vectors // pieces)
        return [self._block(Part(v, min(step, self.vectors - v))) for v in range(0, self.vectors, step)]

    def _block(self, part: Part) -> Block:
        sizes = {Buffer.TAPS: part.vectors * self.taps, Buffer.POOL_PARAM: part.vectors}
        return Block(sizes, part, lambda: self._pack(part))

    def _pack(self, part: Part) -> dict[Buffer, NDArray[np.uint8]]:
        channels = slice(part.first_vector * self.config.ic_p, (part.first_vector + part.vectors) * self.config.ic_p)
        return {
            Buffer.TAPS: tap_words(self.config, self.tap_values[channels]),
            Buffer.POOL_PARAM: pool_param_words(self.config, records(self.requantisation)[channels]),
        }

    def emit(self, rows: Rows, block: Block, at: ParameterWords, where: Mapping[str, Placed]) -> list[Pending]:
        assert isinstance(block.part, Part)
        mode = {
            "mode": int(PoolMode.DEPTHWISE), "w_zp": self.weight_zp,
            "t_addr": at[Buffer.TAPS], "t_step": self.taps,
            "p_addr": at[Buffer.POOL_PARAM], "p_step": 1,
        }  # fmt: skip
        reads = [
            Access(Space.TAPS, at[Buffer.TAPS], block.sizes[Buffer.TAPS]),
            Access(Space.POOL_PARAM, at[Buffer.POOL_PARAM], block.sizes[Buffer.POOL_PARAM]),
        ]
        return self._emit(rows, block.part, where, at, mode, self.pad_value, reads)


class PoolLayer(_WindowLayer):
    """A maximum or an average. The scale of an average is one parameter word, or one for each count of pixels."""

    def __init__(self, config: MachineConfig, op: Pool, source: Tensor, target: Tensor) -> None:
        self.several = op.kind is not PoolKind.MAX
        super().__init__(config, op, op.window, source, target, op.finish)
        self.pool = op

    def blocks(self, budget: Mapping[Buffer, int]) -> Sequence[Block]:
        part = Part(0, self.vectors)
        if self.pool.kind is PoolKind.MAX:
            return [Block({}, part)]
        counts = [self.taps] if self.pool.count_pad else range(self.taps + 1)
        if len(counts) > budget[Buffer.POOL_PARAM]:
            return []
        return [Block({Buffer.POOL_PARAM: len(counts)}, part, lambda: self._pack(counts))]

    def _pack(self, counts: Sequence[int]) -> dict[Buffer, NDArray[np.uint8]]:
        table = np.array([packed(*self.pool.scales.get(n, (0, 0, 0))) for n in counts], np.uint64)
        return {Buffer.POOL_PARAM: pool_param_words(self.config, np.repeat(table, self.config.ic_p))}

    def emit(self, rows: Rows, block: Block, at: ParameterWords, where: Mapping[str, Placed]) -> list[Pending]:
        """The instructions of these rows. A map of one row, as global pooling makes it, is cut by channels, so that the first
        channels are pooled while CONV makes the last."""
        assert isinstance(block.part, Part)
        parts = [block.part]
        if self.target.height == 1:
            parts = block.part.pieces(max(-(-LEAST // self.beats_of_vector), -(-self.vectors // MOST)))
        return [pending for part in parts for pending in self._emit_part(rows, part, block, at, where)]

    def _emit_part(
        self, rows: Rows, part: Part, block: Block, at: ParameterWords, where: Mapping[str, Placed]
    ) -> list[Pending]:
        if self.pool.kind is PoolKind.MAX:
            return self._emit(rows, part, where, at, {"mode": int(PoolMode.MAX)}, self.pool.pad_value, [])
        mode = {
            "mode": int(PoolMode.AVERAGE), "by_count": int(not self.pool.count_pad),
            "p_addr": at[Buffer.POOL_PARAM], "p_step": 0,
        }  # fmt: skip
        reads = [Access(Space.POOL_PARAM, at[Buffer.POOL_PARAM], block.sizes[Buffer.POOL_PARAM])]
        return self._emit(rows, part, where, at, mode, self.pool.pad_value, reads)
