"""Element-wise operations and nearest-neighbour resize on the MISC unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from compiler.instructions.pending import Pending
from compiler.layers.layer import Block, Ends, ParameterWords, Shifts
from compiler.layers.placed import Placed, Rows
from compiler.layers.post import post_values
from compiler.xgraph.ops import OVER_CHANNELS, Eltwise, EltwiseKind, Op, Upsample, Window
from compiler.xgraph.tensor import Tensor
from isa.config import MachineConfig
from isa.instructions import Buffer, MiscMode, Unit

_MODES = {kind: MiscMode[kind.name] for kind in EltwiseKind}


class MiscLayer:
    """A layer on MISC. It has no parameters, and takes ``misc_parts`` cycles for each word of the result."""

    unit = Unit.MISC
    window: Window | None = None
    table: NDArray[np.int8] | None = None

    def __init__(self, config: MachineConfig, op: Op, sources: Sequence[Tensor], target: Tensor, shifts: Shifts = ()) -> None:
        self.config, self.op, self.target = config, op, target
        self.inputs, self.output = op.inputs, op.output
        self.shifts = shifts or [(0, 0)] * len(sources)
        self.vectors = -(-target.channels // config.ic_p)
        self.beats = self.cycles(target.height)

    def cycles(self, rows: int) -> int:
        return self.vectors * rows * self.target.width * self.config.misc_parts

    def rows_at_most(self, budget: Mapping[Buffer, int]) -> int:
        return self.target.height

    def blocks(self, budget: Mapping[Buffer, int]) -> Sequence[Block]:
        return [Block({}, None)]


class EltwiseLayer(MiscLayer):
    """A layer that adds, multiplies, compares or requantises maps; or one that sums or compares over channels.

    Over channels, all words of a pixel are in the innermost loop.
    """

    def __init__(
        self, config: MachineConfig, op: Eltwise, sources: Sequence[Tensor], target: Tensor, shifts: Shifts = ()
    ) -> None:
        super().__init__(config, op, sources, target, shifts)
        self.eltwise, self.table = op, op.finish.table
        self.over = -(-sources[0].channels // config.ic_p) if op.kind in OVER_CHANNELS else 0
        """The words of a pixel that become one word. 0: the layer does not reduce channels."""
        self.last_lanes = sources[0].channels - (self.over - 1) * config.ic_p if self.over else 0
        cycles = max(self.vectors, self.over) * target.height * target.width * config.misc_parts
        self.beats = 1 if op.copies else cycles
        pixel = (1, 1)
        self.broadcast = tuple((s.height, s.width) == pixel != (target.height, target.width) for s in sources)

    def input_end(self, index: int, output_end: Ends) -> Ends:
        if self.broadcast[index]:
            return np.minimum(output_end, 1)
        return np.where(output_end > 0, output_end + self.shifts[index][0], 0)

    def input_begin(self, index: int, output_begin: Ends) -> Ends:
        return np.zeros_like(output_begin) if self.broadcast[index] else output_begin + self.shifts[index][0]

    def emit(self, rows: Rows, block: Block, at: ParameterWords, where: Mapping[str, Placed]) -> list[Pending]:
        op = self.eltwise
        target, sources = where[self.output], [where[name] for name in self.inputs]
        if op.copies and target == sources[0] and self.shifts[0] == (0, 0):
            return []
        post, table = post_values(op.finish, at)
        pending = []
        for tile in self._tiles(rows, target, sources):
            values = {
                "mode": int(_MODES[op.kind]), "a_zp": op.a_zp, "b_zp": op.b_zp, "m_a": op.m_a, "m_b": op.m_b,
                "c_lo": op.c & 0xFFFFFFFF, "c_hi": op.c >> 32, "shift": op.shift,
                "n0": 1, "n1": 1, "n2": self.vectors, "n3": len(tile), "n4": target.width,
                "o_addr": target.word(tile.begin), "o_s2": target.plane, "o_s3": target.pitch, "o_s4": 1, **post,
            }  # fmt: skip
            if self.over:
                values |= {"n2": len(tile), "n3": target.width, "n4": self.over, "last_lanes": self.last_lanes}
                values |= {"o_s2": target.pitch, "o_s3": 1, "o_s4": 0}
            reads = list(table)
            for letter, source, wide, (down, right) in zip("ab", sources, self.broadcast, self.shifts, strict=False):
                row = Rows(0, 1) if wide else Rows(tile.begin + down, tile.end + down)
                values |= {
                    f"{letter}_addr": source.word(row.begin) + right, f"{letter}_s2": source.plane,
                    f"{letter}_s3": 0 if wide else source.pitch, f"{letter}_s4": 0 if wide else 1,
                }  # fmt: skip
                if self.over:
                    values |= {"a_s2": source.pitch, "a_s3": 1, "a_s4": source.plane}
                reads += source.access(row)
            cycles = max(self.vectors, self.over) * len(tile) * target.width * self.config.misc_parts
            pending.append(Pending("MISC", values, reads, target.access(tile), cycles + 4))
        return pending

    def _tiles(self, rows: Rows, target: Placed, sources: Sequence[Placed]) -> Iterator[Rows]:
        """Yields the rows, cut wherever the ring of a map starts again."""
        parts = [*target.segments(rows)]
        for placed, wide, (down, _) in zip(sources, self.broadcast, self.shifts, strict=False):
            if not wide:
                parts = [
                    Rows(cut.begin - down, cut.end - down)
                    for part in parts for cut in placed.segments(Rows(part.begin + down, part.end + down))
                ]  # fmt: skip
        yield from parts


class UpsampleLayer(MiscLayer):
    """A resize to the nearest neighbour. The loops over copies have stride 0 on the input."""

    def __init__(self, config: MachineConfig, op: Upsample, source: Tensor, target: Tensor) -> None:
        super().__init__(config, op, [source], target)
        self.factor = op.factor

    def input_end(self, index: int, output_end: Ends) -> Ends:
        return -(-output_end // self.factor[0])

    def input_begin(self, index: int, output_begin: Ends) -> Ends:
        return output_begin // self.factor[0]

    def emit(self, rows: Rows, block: Block, at: ParameterWords, where: Mapping[str, Placed]) -> list[Pending]:
        source, target = where[self.inputs[0]], where[self.output]
        f_y, f_x = self.factor
        pending = []
        for tile in self._tiles(rows, source, target):
            values = {
                "mode": int(MiscMode.PASS), "m_a": 1, "lo": -128, "hi": 127,
                "n0": self.vectors, "n2": len(tile), "n3": source.width, "n4": f_x,
                "a_s0": source.plane, "a_s3": 1,
                "o_s0": target.plane, "o_s2": target.pitch, "o_s3": f_x, "o_s4": 1,
                "a_addr": source.word(tile.begin // f_y), "o_addr": target.word(tile.begin),
            }  # fmt: skip
            if tile.begin % f_y == 0 and len(tile) % f_y == 0:
                values |= {"n1": len(tile) // f_y, "a_s1": source.pitch, "o_s1": f_y * target.pitch, "n2": f_y}
            else:
                values["n1"] = 1
            used = Rows(tile.begin // f_y, (tile.end - 1) // f_y + 1)
            pending.append(Pending("MISC", values, source.access(used), target.access(tile), self.cycles(len(tile)) + 4))
        return pending

    def _tiles(self, rows: Rows, source: Placed, target: Placed) -> Iterator[Rows]:
        """Yields the rows, cut where either ring starts again, into parts that are whole input rows or copies of one row."""
        f_y = self.factor[0]
        for segment in target.segments(rows):
            begin = segment.begin
            while begin < segment.end:
                if begin % f_y or segment.end - begin < f_y:
                    end = min(segment.end, (begin // f_y + 1) * f_y)
                else:
                    whole = Rows(begin // f_y, segment.end // f_y)
                    end = next(source.segments(whole)).end * f_y
                yield Rows(begin, end)
                begin = end
