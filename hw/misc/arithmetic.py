"""Computes MISC's results on each lane: factors, products, their sum, rounding."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.cascade import registered
from hw.arithmetic.doubled import lanes_by_turns
from hw.arithmetic.sums import chosen_sum, extended
from hw.copies import Spread
from hw.misc.delay import Delay, Goes
from hw.misc.numbers import SETTINGS, slice_layout
from hw.misc.reduce import LaneReduce
from hw.misc.rounding import SUM_BITS, WHOLE, Round
from isa.config import MachineConfig
from isa.latency import MISC_ROUNDING, misc_factors, product_latency

TOTAL_BITS = 45
"""The bits of the sum of both products."""
SHIFT_PINS = 60
"""The pins of ``Round`` that each bit of the shift drives."""
ROUND_PINS = 80
"""The pins of a stage of ``Round`` that the enable of the stage drives: its registers, and logic before them."""


class Arithmetic(wiring.Component):
    """Computes ``r`` of a slice in every cycle, ``latency`` cycles after the slice. It never stalls, and registers stand still
    where there is no slice. ``settings`` stay as they are while slices of an instruction are on their way.

    A lane has two multipliers, and the second one works first. Its product ``v w`` is ``y m_b``, or the product ``x y`` that is
    then multiplied by ``m_a``, or (SLOPE, ``x >= 0``) ``x m_b``::

        a - a_zp = x -+----------------------------> u --(x m_a)--+
                      +-> v --(x w)-+- x y --------> u            +-- sum, or one of both -- + C -- Round -> r
        b - b_zp = y -+-> v, w      +-----------------------------+
                      +--(reduce)------------------> u

    The multipliers have registers before and behind them, as in a DSP. All sums are exact: ``x y`` has 17 bits, a reduction 18,
    ``u m_a`` 44, so the total stays within 49.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self._reduce = LaneReduce(config.misc_lanes)
        self._factors = misc_factors(config)
        """The cycles from a slice to ``u``, by way of ``x``, ``v``, ``x y`` and ``u``, or of a reduction."""
        self._products = self._factors + product_latency(config)
        """The cycles from a slice to its product."""
        self.latency = self._products + 2 + MISC_ROUNDING
        super().__init__({
            "i": In(slice_layout(config)),
            "settings": In(SETTINGS),
            "r": Out(data.ArrayLayout(signed(WHOLE), config.misc_lanes)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.reduce = reduce = self._reduce
        m.d.comb += [
            reduce.valid.eq(self.i.valid),
            reduce.opens.eq(self.i.opens),
            reduce.highest.eq(self.settings.highest),
            reduce.used.eq(self.i.used),
            reduce.values.eq(self.i.a),
        ]
        reduced = Delay(m, reduce.total, "reduced")
        goes = Goes(m, self.i.valid, "goes")
        lanes = [_Lane(m, lane, goes) for lane in range(self.config.misc_lanes)]
        factors = [self._factor(m, lane, reduced) for lane in lanes]
        products = self._multiplied(m, platform, factors, goes)
        compares = Signal(reset_less=True)
        shift = Signal.like(self.settings.shift, reset_less=True)
        # No slice is on its way when the settings change, so a copy may be a cycle late.
        told = Spread(m, compares, self.settings.compares, "sync")
        shifts = Spread(m, shift, self.settings.shift, "sync")
        for lane, product in zip(lanes, products, strict=True):
            m.submodules[f"round{lane.number}"] = round_ = Round()
            m.d.comb += [
                round_.total.eq(self._total(m, lane, product, told.of(2 * TOTAL_BITS))),
                round_.goes.eq(Cat(goes(self._products + 2 + stage, ROUND_PINS) for stage in range(MISC_ROUNDING))),
                round_.shift.eq(shifts.of(SHIFT_PINS)),
                self.r[lane.number].eq(round_.r),
            ]
        return m

    def _factor(self, m: Module, lane: _Lane, reduced: Delay) -> Value:
        """The factor ``u`` of a lane, made after its second multiplier."""
        at, n = self._factors, lane.number
        b = Mux(self.settings.b_one, self.i.one, self.i.b[n]).as_signed()
        x = Delay(m, lane.register(0, 9, "x", self.i.a[n] - self.settings.a_zp), f"x_{n}")
        y = Delay(m, lane.register(0, 9, "y", chosen_sum(extended(~self.settings.b_zp, 9), extended(b, 9), 1)), f"y_{n}")
        this_x, this_y, multiplies = x(at - 4), y(at - 4), self.settings.multiplies
        lane.without_y = without_y = Delay(m, self.settings.by_sign & ~this_x[-1], f"without_y_{n}")
        is_product = Delay(m, multiplies & ~without_y(0), f"is_product_{n}")
        v = lane.register(at - 3, 9, "v", Mux(multiplies, this_x, this_y))
        w = lane.register(at - 3, 26, "w", Mux(is_product(0), extended(this_y, 26), self.settings.m_b))
        lane.second = Delay(m, lane.register(at - 2, 35, "second", v * w), f"second_{n}")
        first = Mux(is_product(2), lane.second(0)[:18].as_signed(), x(at - 2))
        reduced_now = reduced(at - 1 - self._reduce.latency)
        return lane.register(at - 1, 18, "u", Mux(without_y(2), 0, Mux(self.settings.reduces, reduced_now, first)))

    def _multiplied(self, m: Module, platform: Any, factors: list[Signal], goes: Goes) -> list[Value]:
        """The product ``u m_a`` of each lane. With ``array_clock`` 2 a DSP makes those of two lanes by turns."""
        if self.config.array_clock == 1:
            return [
                registered(m, (u * self.settings.m_a)[:44].as_signed(), f"product_a_{n}", goes(self._factors, 44))
                for n, u in enumerate(factors)
            ]
        return lanes_by_turns(m, platform, factors, self.settings.m_a, 44, "product_a")

    def _total(self, m: Module, lane: _Lane, product_a: Value, compares: Value) -> Signal:
        """The sum of both products plus the constant. Where it ``compares``, one of the products takes the place of their
        sum."""
        settings = self.settings
        at = self._products
        since = at - self._factors
        product_b = lane.second(since + 1)
        adds = registered(m, lane.without_y(since + 2) | settings.uses_y, f"adds_{lane.number}")
        operand = (extended(product_b, TOTAL_BITS) & adds.replicate(TOTAL_BITS)) ^ compares.replicate(TOTAL_BITS)
        total = Signal(signed(TOTAL_BITS), name=f"total_{lane.number}")
        m.d.comb += total.eq(chosen_sum(extended(product_a.as_signed(), TOTAL_BITS), operand, compares))
        both = lane.register(at, TOTAL_BITS, "both", total)
        # With one signal for the choice, each bit of it is part of the LUT that adds the constant.
        takes_b = lane.register(at, 1, "takes_b", total[-1] ^ settings.picks_less)
        own_a, own_b = lane.register(at, 35, "own_a", product_a), lane.register(at, 35, "own_b", product_b)
        kept = Mux(compares, Mux(takes_b, own_b, own_a), both)
        constant = extended(settings.constant, SUM_BITS)
        return lane.register(at + 1, SUM_BITS, "total", chosen_sum(constant, extended(kept, SUM_BITS)))


class _Lane:
    """A lane's number, and what its second multiplier hands to the sum."""

    second: Delay
    without_y: Delay

    def __init__(self, m: Module, number: int, goes: Goes) -> None:
        self._m = m
        self._goes = goes
        self.number = number

    def register(self, cycle: int, bits: int, name: str, value: Value) -> Signal:
        """A register with that value, which stands still where there was no slice ``cycle`` cycles before."""
        signal = Signal(signed(bits), name=f"{name}_{self.number}", reset_less=True)
        with self._m.If(self._goes(cycle, bits)):
            self._m.d.sync += signal.eq(value)
        return signal
