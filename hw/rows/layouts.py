"""The layouts of the data that travel between the parts of ROW."""

from __future__ import annotations

from amaranth import signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out
from amaranth.utils import ceil_log2

from hw.interfaces import field_shape
from isa.checks import MAX_ROW
from isa.config import MachineConfig
from isa.instructions import BY_NAME
from isa.rows import E_BITS, R_BITS
from isa.stages import ROWS_HELD

LENGTH_BITS = MAX_ROW.bit_length()
SUM_BITS = 21
"""The bits of the sum of a row's elements, which have nine bits each and a sign."""
SQUARES_BITS = 28
TOTAL_BITS = 43
"""The bits of the sum of a row's denominators, and of a normalised value before it is rounded."""
assert MAX_ROW * 255 < 1 << SUM_BITS - 1
assert MAX_ROW * 255**2 < 1 << SQUARES_BITS
assert MAX_ROW << E_BITS == 1 << TOTAL_BITS


def slice_layout(config: MachineConfig) -> data.StructLayout:
    """A slice of ``row_lanes`` elements. ``used`` marks those that count. ``opens`` and ``closes`` mark the first and the last
    slice of a row."""
    return data.StructLayout({
        "valid": unsigned(1),
        "x": data.ArrayLayout(signed(8), config.row_lanes),
        "used": unsigned(config.row_lanes),
        "opens": unsigned(1),
        "closes": unsigned(1),
    })


TAKEN = data.StructLayout({"most": signed(8), "total": signed(SUM_BITS), "squares": unsigned(SQUARES_BITS)})
"""The sums of a row without the zero-point: its greatest element, its sum and that of its squares."""
TOTALLED = data.StructLayout({"most": signed(8), "total": unsigned(TOTAL_BITS)})
"""The numbers of a row of SOFTMAX: its greatest element, and the sum of its denominators."""
ROOTED = data.StructLayout({"root": unsigned(R_BITS), "fours": unsigned(5), "total": signed(SUM_BITS)})
"""The numbers of any other row: ``R`` and ``e`` of ``isa/rows.py``, and its sum."""
PREPARED = data.StructLayout({"most": signed(8), "slope": unsigned(TOTAL_BITS), "offset": unsigned(TOTAL_BITS)})
"""The numbers that each element of a row is computed with. SOFTMAX divides by ``slope``, as ``offset`` says (``quotient.py``).
NORMALISE multiplies by ``slope`` and subtracts ``offset``."""


def fields_layout(config: MachineConfig) -> data.StructLayout:
    """The fields of a ROW."""
    return data.StructLayout({name: field_shape(field, config) for name, field in BY_NAME["ROW"].fields.items()})


def place_layout(config: MachineConfig) -> data.StructLayout:
    """The place of a slice in the row buffer: its row, the word of the row, and the part of the word."""
    return data.StructLayout({
        "part": unsigned(ceil_log2(config.row_parts)),
        "word": unsigned(ceil_log2(config.row_words)),
        "row": unsigned(ceil_log2(ROWS_HELD)),
    })


class RowWrite(wiring.Signature):
    """A slice on its way into both copies of the row buffer, seen from the part that writes it."""

    def __init__(self, config: MachineConfig) -> None:
        super().__init__({"en": Out(1), "place": Out(place_layout(config)), "data": Out(8 * config.row_lanes)})
