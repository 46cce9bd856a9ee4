"""Makes the numbers that a row's elements are computed with: softmax's total and its reciprocal, or normalisation's factor and
offset."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.sums import chosen_sum, extended
from hw.rows.layouts import LENGTH_BITS, PREPARED, ROOTED, SUM_BITS, TOTAL_BITS, TOTALLED
from hw.rows.quotient import DIVIDES, DIVISOR_BITS, DIVISOR_DROPPED, LEAST_TOTAL, RECIPROCAL_BITS, divisor_of, window_of
from isa.rows import P_SHIFT, Q_POINT, R_BITS

Q_BITS = Q_POINT - R_BITS + 2
"""The bits of a quotient. They suffice because the root has its highest bit set."""
TOTAL_CYCLES = 2 + RECIPROCAL_BITS
"""The cycles from a total to its reciprocal."""
ROOT_CYCLES = 2 + Q_BITS + SUM_BITS + P_SHIFT
"""The cycles from a root to its factor and offset."""
assert DIVISOR_BITS == R_BITS


class Reciprocal(wiring.Component):
    """Divides for one row at a time. With ``softmax`` it takes ``totals``, and always ``TOTAL_CYCLES``. Otherwise it takes
    ``roots``, and ``ROOT_CYCLES``: it makes ``P`` and ``M`` of ``isa/rows.py`` modulo 2^43, the range of normalised values. It
    stalls in OFFER while ``o`` is not taken.

    ========  ============  ==============================================================================
    state     cycles
    ========  ============  ==============================================================================
    IDLE      1
    TAKE      1             the divisor: a root, or the highest bits of a total
    DIVIDE    21 or 36      2^35 or 2^62 by the divisor, a bit in each cycle
    PRODUCTS  21            n Q, S Q, from the multipliers' lowest bits
    SHIFT     20            both, as far down as e asks for
    OFFER                   until it is taken; ``totals``, too, which stays as it is until then
    ========  ============  ==============================================================================
    """

    def __init__(self) -> None:
        super().__init__({
            "softmax": In(1),
            "totals": In(stream.Signature(TOTALLED)),
            "roots": In(stream.Signature(ROOTED)),
            "length": In(LENGTH_BITS),
            "o": Out(stream.Signature(PREPARED)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        total, rooted = self.totals.payload.total, self.roots.payload
        window = Signal(2, reset_less=True)
        divisor = Signal(R_BITS, reset_less=True)
        rest = Signal(R_BITS, reset_less=True)
        quotient = Signal(Q_BITS, reset_less=True)
        shift = Signal(range(P_SHIFT + 1))
        left = Signal(range(Q_BITS))
        takes, divides, multiplies, shifts = (Signal(name=name) for name in ("takes", "divides", "multiplies", "shifts"))
        m.d.sync += [window.eq(window_of(total)), left.eq(left - 1)]
        with m.FSM():
            with m.State("IDLE"), m.If(Mux(self.softmax, self.totals.valid, self.roots.valid)):
                m.next = "TAKE"
            with m.State("TAKE"):
                m.d.comb += [takes.eq(1), self.roots.ready.eq(~self.softmax)]
                m.d.sync += left.eq(Mux(self.softmax, RECIPROCAL_BITS - 1, Q_BITS - 1))
                m.next = "DIVIDE"
            with m.State("DIVIDE"):
                m.d.comb += divides.eq(1)
                with m.If(left == 0):
                    m.d.sync += left.eq(SUM_BITS - 1)
                    m.next = "PRODUCTS"
                    with m.If(self.softmax):
                        m.next = "OFFER"
            with m.State("PRODUCTS"):
                m.d.comb += multiplies.eq(1)
                with m.If(left == 0):
                    m.d.sync += left.eq(P_SHIFT - 1)
                    m.next = "SHIFT"
            with m.State("SHIFT"):
                m.d.comb += shifts.eq(left < shift)
                with m.If(left == 0):
                    m.next = "OFFER"
            with m.State("OFFER"):
                m.d.comb += [self.o.valid.eq(1), self.totals.ready.eq(self.softmax & self.o.ready)]
                with m.If(self.o.ready):
                    m.next = "IDLE"

        minuend = Cat(Const(0, 1), rest)
        difference = Signal(signed(R_BITS + 2))
        m.d.comb += difference.eq(minuend - divisor)
        fits = ~difference[-1]
        with m.If(takes):
            m.d.sync += [
                divisor.eq(Mux(self.softmax, divisor_of(total, window), rooted.root)),
                rest.eq(Mux(self.softmax, 1 << LEAST_TOTAL - DIVISOR_DROPPED - 1, 1 << R_BITS - 2)),
                shift.eq(Mux(rooted.fours >= P_SHIFT, 0, P_SHIFT - rooted.fours)),
            ]
        with m.Elif(divides):
            m.d.sync += [rest.eq(Mux(fits, difference, minuend)), quotient.eq(Cat(fits, quotient))]
        moves = Signal()
        sign = Signal()
        m.d.comb += [moves.eq(multiplies | shifts), sign.eq(multiplies & (left == 0))]
        slope = self._product(m, "slope", self.length, takes, moves, Mux(multiplies, quotient, 0), Const(0, 1))
        offset = self._product(m, "offset", rooted.total, takes, moves, Mux(multiplies, quotient, 0), sign)
        divided = Signal(DIVIDES)
        m.d.comb += [
            divided.reciprocal.eq(quotient),
            divided.window.eq(window),
            divided.empty.eq(~total.any()),
            self.o.payload.most.eq(self.totals.payload.most),
            self.o.payload.slope.eq(Mux(self.softmax, total, slope)),
            self.o.payload.offset.eq(Mux(self.softmax, divided.as_value(), offset)),
        ]
        return m

    def _product(self, m: Module, name: str, multiplier: Value, takes: Value, moves: Value, term: Value, sign: Value) -> Value:
        """A product, made with one bit of the multiplier in each move. These bits go out below while the product comes in. The
        last one may be a ``sign``."""
        high = Signal(signed(Q_BITS + 1), name=f"{name}_high", reset_less=True)
        low = Signal(SUM_BITS, name=f"{name}_low", reset_less=True)
        wide = extended(high, Q_BITS + 2)
        chosen = Cat(term, Const(0, 2))
        subtracts = low[0] & sign
        following = chosen_sum(wide, (chosen & low[0].replicate(len(chosen))) ^ subtracts.replicate(len(chosen)), subtracts)
        with m.If(takes):
            m.d.sync += [high.eq(0), low.eq(multiplier)]
        with m.Elif(moves):
            m.d.sync += Cat(low, high).eq(Cat(low[1:], following))
        return Cat(low, high)[:TOTAL_BITS]
