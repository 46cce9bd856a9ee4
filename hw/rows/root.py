"""What normalisation multiplies and subtracts: a reciprocal square root for each row, bit by bit."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.rows.layouts import LENGTH_BITS, SQUARES_BITS, SUM_BITS, TOTAL_BITS
from isa.rows import D_BITS, D_FRACTION, K_BITS, P_SHIFT, Q_POINT, R_BITS

Q_BITS = Q_POINT - R_BITS + 2
"""The root has its highest bit set, so that this is what a quotient has."""
PRODUCT_BITS = SUM_BITS + Q_BITS
REST_BITS = R_BITS + 4
"""Four times a rest, which is at most twice the root; and a sign."""
HALVINGS = (32, 16, 8, 4, 2)
SHIFTS = (16, 8, 4, 2, 1)
LATENCY = 4 + 2 * SUM_BITS + len(HALVINGS) + R_BITS + Q_BITS + len(SHIFTS)
"""Cycles from a row to its numbers."""

ROW_SUMS = data.StructLayout({"total": signed(SUM_BITS), "squares": unsigned(SQUARES_BITS)})
NUMBERS = data.StructLayout({"slope": unsigned(TOTAL_BITS), "offset": unsigned(TOTAL_BITS)})


class Reciprocal(wiring.Component):
    """``P`` and ``M`` of ``isa/rows.py`` from the sums of a row (``slope``, ``offset``: modulo 2^43, which is what normalised
    values have). One row at a time, always in ``LATENCY`` cycles. ``length`` and ``k`` stay as they are meanwhile.

    =========  ======  ===================================================================================
    state      cycles
    =========  ======  ===================================================================================
    IDLE       1       takes the sums
    SQUARES    21      two products, from their highest bits: n S2, S S
    SPREAD     1       their difference
    BELOW      1       the number below the root, with K
    HALVE      5       four to the e times that, until one of the two highest bits is set
    ROOT       28      its root, a bit in each cycle
    DIVIDE     36      2^62 by the root, a bit in each cycle
    PRODUCTS   21      n Q, S Q
    SHIFT      5       both, as far as e asks for
    OFFER      1       until they are taken
    =========  ======  ===================================================================================

    Adders: two for the products, one for root and quotient. No DSP; about 500 LUTs.
    """

    def __init__(self) -> None:
        super().__init__({
            "i": In(stream.Signature(ROW_SUMS)),
            "length": In(LENGTH_BITS),
            "k": In(K_BITS),
            "o": Out(stream.Signature(NUMBERS)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        length = Signal(SUM_BITS)
        total = Signal(signed(SUM_BITS))
        """Multipliers, which turn once in the course of a product."""
        by_length = Signal(Q_BITS)
        by_total = Signal(signed(Q_BITS + 1))
        n_product = Signal(signed(PRODUCT_BITS))
        s_product = Signal(signed(PRODUCT_BITS))
        below = Signal(D_BITS)
        fours = Signal(range(D_BITS // 2))
        rest = Signal(REST_BITS - 2)
        root = Signal(R_BITS)
        quotient = Signal(Q_BITS)
        shift = Signal(range(P_SHIFT + 1))
        left = Signal(range(max(SUM_BITS, R_BITS, Q_BITS)))
        first = Signal()

        def multiply(following: str) -> None:
            """A bit of both multipliers; the first one of ``total`` is its sign."""
            term = Mux(total[-1], Mux(first, -by_total, by_total), 0)
            m.d.sync += [
                n_product.eq((n_product << 1) + Mux(length[-1], by_length, 0)),
                s_product.eq((s_product << 1) + term),
                length.eq(Cat(length[-1], length[:-1])),
                total.eq(Cat(total[-1], total[:-1])),
                first.eq(0),
                left.eq(left - 1),
            ]
            with m.If(left == 0):
                m.next = following

        def begin(state: str, cycles: int) -> None:
            m.d.sync += left.eq(cycles - 1)
            m.next = state

        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [
                    length.eq(self.length), total.eq(self.i.payload.total), by_length.eq(self.i.payload.squares),
                    by_total.eq(self.i.payload.total), n_product.eq(0), s_product.eq(0), first.eq(1), fours.eq(0),
                ]  # fmt: skip
                with m.If(self.i.valid):
                    begin("SQUARES", SUM_BITS)
            with m.State("SQUARES"):
                multiply("SPREAD")
            with m.State("SPREAD"):
                m.d.sync += n_product.eq(n_product - s_product)
                m.next = "BELOW"
            with m.State("BELOW"):
                m.d.sync += below.eq((n_product << D_FRACTION) + self.k)
                begin("HALVE", len(HALVINGS))
            with m.State("HALVE"):
                with m.Switch(left):
                    for number, bits in enumerate(reversed(HALVINGS)):
                        with m.Case(number), m.If(~below[-bits:].any()):
                            m.d.sync += [below.eq(below << bits), fours.eq(fours + bits // 2)]
                m.d.sync += [rest.eq(0), root.eq(0), left.eq(left - 1)]
                with m.If(left == 0):
                    begin("ROOT", R_BITS)
            with m.State("ROOT"):
                fits, remains = self._subtract(m, "root", Cat(below[-2:], rest), Cat(Const(1, 2), root))
                m.d.sync += [rest.eq(remains), root.eq(Cat(fits, root)), below.eq(below << 2), left.eq(left - 1)]
                with m.If(left == 0):
                    m.d.sync += rest.eq(1 << R_BITS - 2)
                    begin("DIVIDE", Q_BITS)
            with m.State("DIVIDE"):
                fits, remains = self._subtract(m, "quotient", Cat(Const(0, 1), rest), root)
                m.d.sync += [rest.eq(remains), quotient.eq(Cat(fits, quotient)), left.eq(left - 1)]
                m.d.sync += [by_length.eq(Cat(fits, quotient)), by_total.eq(Cat(fits, quotient)[:Q_BITS])]
                m.d.sync += [n_product.eq(0), s_product.eq(0), first.eq(1)]
                m.d.sync += shift.eq(Mux(fours >= P_SHIFT, 0, P_SHIFT - fours))
                with m.If(left == 0):
                    begin("PRODUCTS", SUM_BITS)
            with m.State("PRODUCTS"):
                multiply("SHIFT")
                with m.If(left == 0):
                    m.d.sync += left.eq(len(SHIFTS) - 1)
            with m.State("SHIFT"):
                with m.Switch(left):
                    for number, bits in enumerate(reversed(SHIFTS)):
                        with m.Case(number), m.If(shift[number]):
                            m.d.sync += [n_product.eq(n_product >> bits), s_product.eq(s_product >> bits)]
                m.d.sync += left.eq(left - 1)
                with m.If(left == 0):
                    m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
        m.d.comb += [self.o.payload.slope.eq(n_product), self.o.payload.offset.eq(s_product)]
        return m

    def _subtract(self, m: Module, name: str, minuend: Value, subtrahend: Value) -> tuple[Value, Value]:
        """Whether it fits, and what remains."""
        difference = Signal(signed(REST_BITS + 1), name=f"{name}_difference")
        m.d.comb += difference.eq(minuend - subtrahend)
        fits = ~difference[-1]
        return fits, Mux(fits, difference, minuend)
