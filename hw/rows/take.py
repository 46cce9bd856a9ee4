"""The first pass over a row: its greatest element and its sums."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.misc.delay import Delay
from hw.rows.layouts import TAKEN, slice_layout
from hw.rows.tree import tree
from isa.config import MachineConfig

SQUARES = [min(number, 512 - number) ** 2 % (1 << 16) for number in range(512)]
"""Of numbers of nine bits, signed; -256 is none that occurs."""


def latency(config: MachineConfig) -> int:
    """Cycles from a row's last slice to ``done``."""
    return 3 + (config.row_lanes - 1).bit_length()


class Reduce(wiring.Component):
    """Sums up slices; ``done`` strobes when ``row`` is that of the row that the slice with ``closes`` has ended, ``latency``
    after it. A slice in every cycle, never a stall. Sums are those of ``x - zp``; they are exact. Squares are read from a
    table in block RAM, for adders that make them are eight levels of logic."""

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
        m.submodules.of_square = of_square = Memory(shape=16, depth=512, init=SQUARES)
        elements, squares, most = [], [], []
        for lane in range(self.config.row_lanes):
            x, used = self.i.x[lane], self.i.used[lane]
            less = Signal(signed(9), name=f"less{lane}", reset_less=True)
            seen = Signal(signed(8), name=f"seen{lane}", reset_less=True)
            later, later_most = Signal.like(less, name=f"later{lane}"), Signal.like(seen, name=f"later_most{lane}")
            square = of_square.read_port()
            m.d.sync += [
                less.eq(Mux(used, x - self.zp, 0)), seen.eq(Mux(used, x, -128)),
                later.eq(less), later_most.eq(seen),
            ]  # fmt: skip
            m.d.comb += [square.en.eq(1), square.addr.eq(less)]
            elements.append(later)
            squares.append(square.data)
            most.append(later_most)
        total = tree(m, elements, lambda a, b: a + b, "total")
        of_squares = tree(m, squares, lambda a, b: a + b, "squares")
        greatest = tree(m, most, lambda a, b: Mux(a > b, a, b), "most")
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
