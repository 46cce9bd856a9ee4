"""An operation that the compiler does not know, with all that it must be told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from compiler.instructions.pending import Pending
from compiler.layers.eltwise import MiscLayer
from compiler.layers.layer import Block, Ends, ParameterWords
from compiler.layers.lower import register
from compiler.layers.placed import Placed, Rows
from compiler.xgraph.ops import Op, Span
from compiler.xgraph.reference import Int8, Shape
from compiler.xgraph.verify import Checks
from isa.instructions import MiscMode


@dataclass(frozen=True, eq=False)
class RowDifference(Op):
    """Each row but the first, less the one above it, times ``factor / 2^shift``."""

    factor: int
    shift: int = 0

    def reads(self, axis: int, first: int, past: int) -> Span:
        return first, past + (axis == 0)


class RowDifferenceLayer(MiscLayer):
    """MISC adds each row to the one above it, which it multiplies by the negative factor."""

    def input_end(self, index: int, output_end: Ends) -> Ends:
        return np.where(output_end > 0, output_end + self.shifts[0][0] + 1, 0)

    def input_begin(self, index: int, output_begin: Ends) -> Ends:
        return output_begin + self.shifts[0][0]

    def emit(self, rows: Rows, block: Block, at: ParameterWords, where: Mapping[str, Placed]) -> list[Pending]:
        return [self._row(y, where[self.inputs[0]], where[self.output]) for y in range(rows.begin, rows.end)]

    def _row(self, y: int, source: Placed, target: Placed) -> Pending:
        assert isinstance(self.op, RowDifference)
        ((down, right),) = self.shifts
        values = {
            "mode": int(MiscMode.ADD), "m_a": self.op.factor, "m_b": -self.op.factor, "shift": self.op.shift,
            "lo": -128, "hi": 127, "n0": 1, "n1": 1, "n2": self.vectors, "n3": 1, "n4": target.width,
            "a_addr": source.word(y + down + 1) + right, "a_s2": source.plane, "a_s4": 1,
            "b_addr": source.word(y + down) + right, "b_s2": source.plane, "b_s4": 1,
            "o_addr": target.word(y), "o_s2": target.plane, "o_s4": 1,
        }  # fmt: skip
        reads = source.access(Rows(y + down, y + down + 2))
        return Pending("MISC", values, reads, target.access(Rows(y, y + 1)), self.cycles(1) + 4)


def computed(op: RowDifference, inputs: list[Int8], shape: Shape) -> Int8:
    total = np.diff(inputs[0].astype(np.int64), axis=1) * op.factor
    out: Int8 = np.clip(np.rint(total / 2**op.shift), -128, 127).astype(np.int8)
    return out


def check(checks: Checks, op: RowDifference) -> None:
    n, h, w, c = checks.sources[0].shape
    checks.shape((n, h - 1, w, c))
    checks.within("factor", op.factor, -(1 << 25) + 1, (1 << 25) - 1)
    checks.within("shift", op.shift, 0, 63)


def register_row_difference() -> None:
    register(RowDifference, computed=computed, check=check, layer=RowDifferenceLayer)
