"""What MISC computes on each lane: factors, products, their sum, rounding."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.sums import chosen_sum, extended
from hw.misc import rounding
from hw.misc.delay import Delay
from hw.misc.numbers import SETTINGS, slice_layout
from hw.misc.reduce import LaneReduce
from hw.misc.rounding import SUM_BITS, WHOLE, Round
from isa.config import MachineConfig


class Arithmetic(wiring.Component):
    """``r`` of a slice in every cycle, ``latency`` cycles after it; it never stands still.

    Two multipliers a lane, the second one first: ``v w`` is ``y m_b``, or the product ``x y`` that meets ``m_a`` then, or
    (SLOPE, ``x >= 0``) ``x m_b``::

        a - a_zp = x -+----------------------------> u --(x m_a)--+
                      +-> v --(x w)-+- x y --------> u            +-- sum, or one of both -- + C -- Round -> r
        b - b_zp = y -+-> v, w      +-----------------------------+
                      +--(reduce)------------------> u

    Products are between registers, as a DSP has them: factors, product. All sums are exact: ``x y`` has 17 bits, a reduction
    18, ``u m_a`` 44, so the total stays within 49.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self._reduce = LaneReduce(config.misc_lanes)
        self._factors = max(4, 1 + self._reduce.latency)
        """Cycles from a slice to ``u``: ``x``, ``v``, ``x y``, ``u``, or a reduction."""
        self.latency = self._factors + 3 + rounding.LATENCY
        super().__init__({
            "i": In(slice_layout(config)),
            "settings": In(SETTINGS),
            "r": Out(data.ArrayLayout(signed(WHOLE), config.misc_lanes)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.reduce = reduce = self._reduce
        after = {name: Delay(m, self.settings[name], name) for name in SETTINGS.members}
        m.d.comb += [
            reduce.valid.eq(self.i.valid),
            reduce.opens.eq(self.i.opens),
            reduce.highest.eq(self.settings.highest),
            reduce.used.eq(self.i.used),
            reduce.values.eq(self.i.a),
        ]
        reduced = Delay(m, reduce.total, "reduced")
        for lane in range(self.config.misc_lanes):
            total = self._lane(m, lane, after, reduced)
            m.submodules[f"round{lane}"] = round_ = Round()
            m.d.comb += [round_.total.eq(total), round_.shift.eq(after["shift"](self._factors + 3)), self.r[lane].eq(round_.r)]
        return m

    def _lane(self, m: Module, lane: int, after: dict[str, Delay], reduced: Delay) -> Value:
        def register(shape: Any, name: str, value: Any) -> Signal:
            signal = Signal(shape, name=f"{name}_{lane}", reset_less=True)
            m.d.sync += signal.eq(value)
            return signal

        at = self._factors
        b = Mux(self.settings.b_one, self.i.one, self.i.b[lane])
        x = Delay(m, register(signed(9), "x", self.i.a[lane] - self.settings.a_zp), f"x_{lane}")
        y = Delay(m, register(signed(9), "y", b - self.settings.b_zp), f"y_{lane}")

        this_x, this_y, multiplies = x(at - 4), y(at - 4), after["multiplies"](at - 3)
        without_y = Delay(m, after["by_sign"](at - 3) & ~this_x[-1], f"without_y_{lane}")
        is_product = Delay(m, multiplies & ~without_y(0), f"is_product_{lane}")
        v = register(signed(9), "v", Mux(multiplies, this_x, this_y))
        w = register(signed(26), "w", Mux(is_product(0), extended(this_y, 26), after["m_b"](at - 3)))
        second = Delay(m, register(signed(35), "second", v * w), f"second_{lane}")

        first = Mux(is_product(2), second(0)[:18].as_signed(), x(at - 2))
        reduced_now = reduced(at - 1 - self._reduce.latency)
        u = register(signed(18), "u", Mux(without_y(2), 0, Mux(after["reduces"](at - 1), reduced_now, first)))
        product_a, product_b = register(signed(44), "product_a", u * after["m_a"](at)), second(2)
        adds = without_y(4) | after["uses_y"](at + 1)
        subtracts = after["compares"](at + 1)
        operand = (extended(product_b, 45) & adds.replicate(45)) ^ subtracts.replicate(45)
        both = register(signed(45), "both", chosen_sum(extended(product_a, 45), operand, subtracts))
        own_a, own_b = register(signed(35), "own_a", product_a), register(signed(35), "own_b", product_b)
        takes_b = both[-1] ^ after["picks_less"](at + 2)
        kept = Mux(after["compares"](at + 2), Mux(takes_b, own_b, own_a), both)
        constant = extended(after["constant"](at + 2), SUM_BITS)
        return register(signed(SUM_BITS), "total", chosen_sum(constant, extended(kept, SUM_BITS)))
