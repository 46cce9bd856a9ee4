"""Softmax and normalisation on the ROW unit. The channels of a pixel are a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from compiler.instructions.pending import Access, Pending, Space
from compiler.layers.eltwise import MiscLayer
from compiler.layers.layer import Block, Ends, ParameterWords, Shifts
from compiler.layers.packing import exponential_words, norm_words
from compiler.layers.placed import Placed, Rows
from compiler.xgraph.row_operations import Normalisation, Softmax
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig
from isa.instructions import Buffer, RowMode, Unit
from sim.cycle.rows import row_cycles


class RowLayer(MiscLayer):
    """A layer on ROW. Its parameters are one block: tables of exponentials, or a record for each channel."""

    unit = Unit.ROW

    def __init__(
        self, config: MachineConfig, op: Softmax | Normalisation, sources: Sequence[Tensor], target: Tensor, shifts: Shifts = ()
    ) -> None:
        self.row = op
        super().__init__(config, op, sources, target, shifts)
        self.last_lanes = target.channels - (self.vectors - 1) * config.ic_p

    def cycles(self, rows: int) -> int:
        slices = self.vectors * self.config.row_parts
        return row_cycles(self.config, rows * self.target.width, slices, isinstance(self.row, Softmax))

    def input_end(self, index: int, output_end: Ends) -> Ends:
        return np.where(output_end > 0, output_end + self.shifts[0][0], 0)

    def input_begin(self, index: int, output_begin: Ends) -> Ends:
        return output_begin + self.shifts[0][0]

    def blocks(self, budget: Mapping[Buffer, int]) -> Sequence[Block]:
        buffer, words = (Buffer.EXP, 256) if isinstance(self.row, Softmax) else (Buffer.NORM, self.vectors)
        return [Block({buffer: words}, None, self._pack)] if words <= budget[buffer] else []

    def _pack(self) -> dict[Buffer, NDArray[np.uint8]]:
        if isinstance(self.row, Softmax):
            return {Buffer.EXP: exponential_words(self.config, self.row.e, self.row.t)}
        return {Buffer.NORM: norm_words(self.config, self.row.g, self.row.b)}

    def emit(self, rows: Rows, block: Block, at: ParameterWords, where: Mapping[str, Placed]) -> list[Pending]:
        source, target = where[self.inputs[0]], where[self.output]
        ((down, right),) = self.shifts
        mode, parameters = self._parameters(at)
        pending = []
        for part in target.segments(rows):
            for read in source.segments(Rows(part.begin + down, part.end + down)):
                tile = Rows(read.begin - down, read.end - down)
                values = {
                    "n0": len(tile), "n1": target.width, "words": self.vectors, "last_lanes": self.last_lanes,
                    "a_addr": source.word(read.begin) + right, "a_s0": source.pitch, "a_s1": 1, "a_cs": source.plane,
                    "o_addr": target.word(tile.begin), "o_s0": target.pitch, "o_s1": 1, "o_cs": target.plane, **mode,
                }  # fmt: skip
                reads = [*source.access(read), parameters]
                pending.append(Pending("ROW", values, reads, target.access(tile), self.cycles(len(tile)) + 4))
        return pending

    def _parameters(self, at: ParameterWords) -> tuple[dict[str, int], Access]:
        """The fields of the mode, and the access to its parameters."""
        op, finish = self.row, self.row.finish
        post = {"zp": finish.zero_point, "lo": finish.lo, "hi": finish.hi}
        if isinstance(op, Softmax):
            return {"mode": int(RowMode.SOFTMAX), **post}, Access(Space.EXP, at[Buffer.EXP], 256)
        first = at[Buffer.NORM]
        values = {
            "mode": int(RowMode.RMS if op.rms else RowMode.NORMALISE), "a_zp": op.a_zp, "shift": op.shift, "p_addr": first,
            "k_lo": op.k & 0xFFFFFFFF, "k_hi": op.k >> 32,
        }  # fmt: skip
        return values | post, Access(Space.NORM, first, self.vectors)
