"""Walks the words of rows, one after the other."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.sums import chosen_sum
from isa.config import MachineConfig
from isa.instructions import BY_NAME

_FIELDS = BY_NAME["ROW"].fields


class RowWalk(wiring.Component):
    """``addr`` is the address of a word of a row. A ``step`` goes to the next word, or to the first word of the next row.

    ``load`` goes to the first word of the first row. ``closes`` marks the last word of its row, ``last`` the last of all. All
    come from registers, in the cycle after ``load`` or ``step``; nothing stalls. There is one adder: it adds to a word's, a
    row's or an outer row's address the stride that belongs to it.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        bits = config.fm_address_bits
        super().__init__({
            "load": In(1),
            "step": In(1),
            **dict.fromkeys(("first", "s0", "s1", "cs"), In(bits)),
            **{name: In(_FIELDS[name].bits) for name in ("n0", "n1", "words")},
            "addr": Out(bits),
            "closes": Out(1),
            "last": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        row = Signal(len(self.addr))
        outer = Signal(len(self.addr))
        words_left = Signal.like(self.words)
        inner_left = Signal.like(self.n1)
        outer_left = Signal.like(self.n0)
        inner_over = Signal()
        m.d.comb += [
            self.closes.eq(words_left == 1),
            inner_over.eq(inner_left == 1),
            self.last.eq(self.closes & inner_over & (outer_left == 1)),
        ]
        base = Mux(self.closes, Mux(inner_over, outer, row), self.addr)
        following = chosen_sum(base, Mux(self.closes, Mux(inner_over, self.s0, self.s1), self.cs))
        with m.If(self.load):
            m.d.sync += [
                self.addr.eq(self.first), row.eq(self.first), outer.eq(self.first),
                words_left.eq(self.words), inner_left.eq(self.n1), outer_left.eq(self.n0),
            ]  # fmt: skip
        with m.Elif(self.step):
            m.d.sync += [self.addr.eq(following), words_left.eq(Mux(self.closes, self.words, words_left - 1))]
            with m.If(self.closes):
                m.d.sync += [row.eq(following), inner_left.eq(Mux(inner_over, self.n1, inner_left - 1))]
                with m.If(inner_over):
                    m.d.sync += [outer.eq(following), outer_left.eq(outer_left - 1)]
        return m
