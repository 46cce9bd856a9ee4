"""Computes the root of a row's variance, bit by bit."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.sums import chosen_sum
from hw.rows.layouts import LENGTH_BITS, ROOTED, SQUARES_BITS, SUM_BITS
from isa.rows import D_BITS, D_FRACTION, K_BITS, R_BITS

ROW_SUMS = data.StructLayout({"total": signed(SUM_BITS), "squares": unsigned(SQUARES_BITS)})
STEPS = 2 * R_BITS - 1
"""The steps after which the highest bit of the root is set, for any number that is not 0."""
LATENCY = 1 + SUM_BITS + 2 + STEPS
"""The cycles from a row's sums to its root."""


class Root(wiring.Component):
    """``R`` and ``e`` of ``isa/rows.py`` (``root``, ``fours``) from the sums of a row. The row's total goes along. It takes one
    row at a time, always in ``LATENCY`` cycles, and stalls in OFFER while ``o`` is not taken. ``i``, ``length`` and ``k`` must
    not change meanwhile, and ``i`` is taken at the end.

    ========  ======  ====================================================================================
    state     cycles
    ========  ======  ====================================================================================
    IDLE      1       takes the multipliers
    SQUARES   21      two products, from their lowest bits: n S2, S S
    SPREAD    1       their difference
    BELOW     1       the number below the root, with K
    ROOT      55      a bit in each cycle, until the highest of the root is set; each step after the 28th makes the number
                      four times as great
    OFFER             until it is taken
    OVER      1       lets the sums go
    ========  ======  ====================================================================================
    """

    def __init__(self) -> None:
        super().__init__({
            "i": In(stream.Signature(ROW_SUMS)),
            "length": In(LENGTH_BITS),
            "k": In(K_BITS),
            "o": Out(stream.Signature(ROOTED)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        sums = self.i.payload
        size = SUM_BITS - 1
        of_total = Signal(size)
        """The magnitude of the total, whose square is wanted."""
        magnitude = Signal(size, reset_less=True)
        n_high = Signal(SQUARES_BITS, reset_less=True)
        s_high = Signal(size, reset_less=True)
        n_low = Signal(SUM_BITS, reset_less=True)
        s_low = Signal(SUM_BITS, reset_less=True)
        """``n_low`` and ``s_low`` hold the multipliers, which leave as the products' low halves come."""
        spread = Signal(D_BITS - D_FRACTION, reset_less=True)
        addend = Signal(K_BITS, reset_less=True)
        """K where it is added to the number below the root, otherwise 0."""
        below = Signal(D_BITS, reset_less=True)
        rest = Signal(R_BITS + 1, reset_less=True)
        root = Signal(R_BITS, reset_less=True)
        fours = Signal(range(R_BITS), reset_less=True)
        left = Signal(range(STEPS))
        starts, multiplies, spreads, begins, roots = (
            Signal(name=name) for name in ("starts", "multiplies", "spreads", "begins", "roots")
        )
        m.d.comb += [
            of_total.eq(Mux(sums.total[-1], -sums.total, sums.total)),
            self.o.payload.root.eq(root),
            self.o.payload.fours.eq(fours),
            self.o.payload.total.eq(sums.total),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += starts.eq(1)
                m.d.sync += left.eq(SUM_BITS - 1)
                with m.If(self.i.valid):
                    m.next = "SQUARES"
            with m.State("SQUARES"):
                m.d.comb += multiplies.eq(1)
                m.d.sync += left.eq(left - 1)
                with m.If(left == 0):
                    m.next = "SPREAD"
            with m.State("SPREAD"):
                m.d.comb += spreads.eq(1)
                m.next = "BELOW"
            with m.State("BELOW"):
                m.d.comb += begins.eq(1)
                m.d.sync += left.eq(STEPS - 1)
                m.next = "ROOT"
            with m.State("ROOT"):
                m.d.comb += roots.eq(~root[-1])
                m.d.sync += left.eq(left - 1)
                with m.If(left == 0):
                    m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "OVER"
            with m.State("OVER"):
                m.d.comb += self.i.ready.eq(1)
                m.next = "IDLE"
        m.d.sync += magnitude.eq(of_total)
        for high, low, by, multiplier in ((n_high, n_low, sums.squares, self.length), (s_high, s_low, magnitude, of_total)):
            more = chosen_sum(Cat(high, Const(0, 1)), Cat(Mux(low[0], by, 0), Const(0, 1)))
            with m.If(starts):
                m.d.sync += [high.eq(0), low.eq(multiplier)]
            with m.Elif(multiplies):
                m.d.sync += Cat(low, high).eq(Cat(low[1:], more))
        m.d.sync += spread.eq(Cat(n_low, n_high) - Cat(s_low, s_high))
        with m.If(spreads):
            m.d.sync += addend.eq(self.k)
        with m.Else():
            m.d.sync += addend.eq(0)
        m.d.sync += below.eq(chosen_sum(Cat(addend, Const(0, D_BITS - K_BITS)), Mux(begins, spread << D_FRACTION, below << 2)))
        minuend = Cat(below[-2:], rest)
        difference = Signal(signed(len(minuend) + 1))
        m.d.comb += difference.eq(minuend - Cat(Const(1, 2), root))
        fits = ~difference[-1]
        with m.If(begins):
            m.d.sync += [rest.eq(0), root.eq(0)]
        with m.Elif(roots):
            m.d.sync += [
                rest.eq(Mux(fits, difference, minuend)),
                root.eq(Cat(fits, root)),
                fours.eq(STEPS - R_BITS - left),
            ]
        return m
