"""The widths and layouts of a raster's pixels, and of the walk that describes them."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth import Mux, Shape, Value, signed, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data
from amaranth.utils import bits_for

from hw.window.fields import greatest
from isa.config import MachineConfig

ROW_NUMBER = signed(bits_for(greatest("o_h") * greatest("s_y") + greatest("k_h") * greatest("d_y")) + 1)
"""The shape of input row numbers, from the first padding row to the last tap of the last row."""
COLUMN_NUMBER = bits_for(greatest("o_w") * greatest("s_x") + greatest("k_w") * greatest("d_x")) + 1
"""The bits of input column numbers. Columns before the first one have great numbers."""


@dataclass(frozen=True)
class Widths:
    """The bits of a raster's numbers. Rows and columns wrap."""

    row: int
    column: int
    column_step: int
    numbered: bool
    """Rows have numbers and may lie in a ring. Otherwise these inputs are ignored."""

    @property
    def y(self) -> Shape:
        return ROW_NUMBER if self.numbered else unsigned(1)

    def ring_sum(self, total: Value, ring: Value) -> Value:
        return in_ring(total, ring) if self.numbered else total

    @classmethod
    def of_input(cls, config: MachineConfig) -> Widths:
        """The widths for an input. Its columns are numbers as well as parts of addresses."""
        address = config.fm_address_bits
        return cls(address, max(address, COLUMN_NUMBER), greatest("s_x").bit_length(), True)

    @classmethod
    def of_output(cls, config: MachineConfig) -> Widths:
        address = config.fm_address_bits
        return cls(address, address, greatest("o_xs").bit_length(), False)


def ring_add(a: Value, b: Value, ring: Value) -> Value:
    """``a + b``, within the ring if there is one."""
    return in_ring(a + b, ring)


def in_ring(total: Value, ring: Value) -> Value:
    """A sum of two numbers that are in the ring, taken into the ring. One subtraction suffices, and its sign tells whether it
    was due. With no ring (0) it changes nothing."""
    less = total - ring
    return Mux(less[-1], total, less)[: len(total)]


def raster_layout(widths: Widths, carried: ShapeLike) -> data.StructLayout:
    """A walk that goes ``repeats`` times over ``height`` rows of ``width`` pixels.

    Each pixel has a ``row`` address (within ``ring`` if that is not 0), a row number ``y`` and a ``column``. They start as
    given and grow by their steps. ``carried`` comes out unchanged.
    """
    return data.StructLayout({
        "width": unsigned(12),
        "height": unsigned(12),
        "repeats": unsigned(12),
        "row": unsigned(widths.row),
        "row_step": unsigned(widths.row),
        "ring": unsigned(widths.row),
        "y": widths.y,
        "y_step": unsigned(greatest("s_y").bit_length() if widths.numbered else 1),
        "column": unsigned(widths.column),
        "column_step": unsigned(widths.column_step),
        "carried": carried,
    })


def pixel_layout(widths: Widths) -> data.StructLayout:
    """One pixel lane. ``valid`` is low for lanes behind the last pixel."""
    return data.StructLayout({
        "valid": unsigned(1),
        "row": unsigned(widths.row),
        "y": widths.y,
        "column": unsigned(widths.column),
    })


def group_layout(widths: Widths, lanes: int, carried: ShapeLike) -> data.StructLayout:
    """The pixels of one step, whether all lanes have one in the same row, and where the step stands: first or last of the walk,
    or last of one repeat."""
    return data.StructLayout({
        "pixels": data.ArrayLayout(pixel_layout(widths), lanes),
        "one_row": unsigned(1),
        "first": unsigned(1),
        "last_of_repeat": unsigned(1),
        "last": unsigned(1),
        "carried": carried,
    })
