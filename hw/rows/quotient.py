"""Quotients of softmax: one numerator a lane and cycle, by the row's total."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.sums import chosen_sum
from hw.misc.delay import Delay
from hw.rows.layouts import TOTAL_BITS
from isa.rows import MOST_QUOTIENT, T_BITS, T_SHIFT

BITS = MOST_QUOTIENT.bit_length() + 1
"""Of twice a quotient: its lowest bit is the half that decides how it is rounded."""
LOW = BITS - T_SHIFT - 1
"""Bits of a numerator that come one by one."""
STEPS = BITS + 1
"""The first one finds whether the quotient is too great."""
LATENCY = STEPS + 3


class Quotients(wiring.Component):
    """``16 t / total`` on every lane, ``LATENCY`` cycles later: ``whole``, 255 at most, and whether to add one (``up``), which
    rounds to nearest, ties to even. Exact for every numerator and total; a total of 0 gives 255 as well.

    A step for each bit, without restoring: a rest that is negative gets the divisor back with the next bit, so a step is one
    adder between registers. Lanes share the divisor, which goes along from step to step. No stalls.

    A lane takes some ``12 x 45`` LUTs and no DSP.
    """

    def __init__(self, lanes: int, t_bits: int = T_BITS, total_bits: int = TOTAL_BITS) -> None:
        """Other widths than ROW's are for tests of every pair of numbers."""
        self.lanes = lanes
        self._total_bits = total_bits
        self._rest_bits = max(total_bits, t_bits - LOW) + 2
        """A rest lies within the total on both sides of zero; doubled, it has a bit more."""
        super().__init__({
            "t": In(data.ArrayLayout(unsigned(t_bits), lanes)),
            "total": In(total_bits),
            "whole": Out(data.ArrayLayout(unsigned(BITS - 1), lanes)),
            "up": Out(lanes),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        total = Delay(m, self.total, "total")
        for lane in range(self.lanes):
            self._lane(m, lane, total)
        return m

    def _lane(self, m: Module, lane: int, total: Delay) -> None:
        low = Delay(m, self.t[lane][:LOW], f"low{lane}")
        bits_of_rest, t = self._rest_bits, self.t[lane]
        doubled: Value = Cat(t[LOW:], Const(0, bits_of_rest + LOW - len(t)))
        subtracts: Value = Const(1, 1)
        bits: Value = Const(0, 0)
        rest = Signal(bits_of_rest)
        for step in range(STEPS):
            divisor = Cat(total(step), Const(0, bits_of_rest - self._total_bits)) ^ subtracts.replicate(bits_of_rest)
            rest = Signal(bits_of_rest, name=f"rest{lane}_{step}", reset_less=True)
            m.d.sync += rest.eq(chosen_sum(doubled, divisor, subtracts))
            known = Signal(step, name=f"bits{lane}_{step}", reset_less=True)
            m.d.sync += known.eq(bits)
            subtracts = ~rest[-1]
            bits = Cat(subtracts, known)
            doubled = Cat(low(step + 1)[LOW - 1 - step] if step < LOW else Const(0, 1), rest[:-1])
        self._round(m, lane, rest, bits, total(STEPS))

    def _round(self, m: Module, lane: int, rest: Value, bits: Value, total: Value) -> None:
        """A negative rest lacks the divisor. The highest bit says that the quotient is too great, the lowest one is a half."""
        restored = Signal(self._total_bits + 1, name=f"restored{lane}", reset_less=True)
        m.d.sync += restored.eq(rest[: self._total_bits + 1] + Mux(rest[-1], total, 0))
        exact = Signal(name=f"exact{lane}", reset_less=True)
        m.d.sync += exact.eq(restored == 0)
        found = Delay(m, bits, f"found{lane}")(2)
        whole, great = found[1:BITS], found[BITS]
        m.d.sync += [
            self.whole[lane].eq(whole | great.replicate(BITS - 1)),
            self.up[lane].eq(found[0] & ~great & (found[1] | ~exact)),
        ]
