"""The first pass over a row: its greatest element and its sums."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.choice import pick
from hw.misc.delay import Delay
from hw.rows.layouts import TAKEN, slice_layout
from hw.rows.tree import tree
from isa.config import MachineConfig

SQUARED = 3
"""Cycles from a number to its square."""


def squared(m: Module, x: Value, name: str) -> Value:
    """The square of a number of nine bits, -255 to 255, ``SQUARED`` cycles later. LUTs make it from the two halves of four bits
    of the magnitude."""
    size, product = Signal(8, name=f"{name}_size", reset_less=True), Signal(8, name=f"{name}_product", reset_less=True)
    squares, found = (Signal(16, name=f"{name}{suffix}", reset_less=True) for suffix in ("_squares", ""))
    low, high = size[:4], size[4:]
    m.d.sync += [
        size.eq(Mux(x[-1], -x, x)),
        squares.eq(Cat(pick([n * n for n in range(16)], low), pick([n * n for n in range(16)], high))),
        product.eq(low * high),
        found.eq(squares + (product << 5)),
    ]
    return found


def latency(config: MachineConfig) -> int:
    """The cycles from a row's last slice to ``done``."""
    return SQUARED + 2 + (config.row_lanes - 1).bit_length()


class Reduce(wiring.Component):
    """Sums up the slices of a row, one slice in each cycle; it never stalls.

    ``done`` is high for a cycle, ``latency`` cycles after the slice with ``closes``. ``row`` then holds the sums of the row
    that this slice ended. The sums are those of ``x - zp``, and they are exact.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "i": In(slice_layout(config)),
            "zp": In(signed(8)),
            "done": Out(1),
            "row": Out(TAKEN),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        elements, squares, most = [], [], []
        for lane in range(self.config.row_lanes):
            x, used = self.i.x[lane], self.i.used[lane]
            less = Signal(signed(9), name=f"less{lane}", reset_less=True)
            seen = Signal(signed(8), name=f"seen{lane}", reset_less=True)
            m.d.sync += [less.eq(Mux(used, x - self.zp, 0)), seen.eq(Mux(used, x, -128))]
            elements.append(less)
            squares.append(squared(m, less, f"squared{lane}"))
            most.append(seen)
        total = Delay(m, tree(m, elements, lambda a, b: a + b, "total"), "total")(SQUARED)
        of_squares = tree(m, squares, lambda a, b: a + b, "squares")
        greatest = Delay(m, tree(m, most, lambda a, b: Mux(a > b, a, b), "most"), "most")(SQUARED)
        valid, opens, closes = (
            Delay(m, self.i[name], name)(latency(self.config) - 1) for name in ("valid", "opens", "closes")
        )  # fmt: skip
        row = self.row
        with m.If(valid):
            m.d.sync += [
                row.total.eq(Mux(opens, 0, row.total) + total),
                row.squares.eq(Mux(opens, 0, row.squares) + of_squares),
                row.most.eq(Mux(opens | (greatest > row.most), greatest, row.most)),
            ]
        m.d.sync += self.done.eq(valid & closes)
        return m
