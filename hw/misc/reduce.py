"""Reduces lanes to one number, their sum or maximum, over the slices of as many words as an instruction says."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

SUM_BITS = 18
"""The bits of a sum: at most 1024 lanes of 8 bits, and as many as one operand of a DSP holds."""


class LaneReduce(wiring.Component):
    """``total`` is the sum, or with ``highest`` the maximum, of the used lanes of all slices since ``opens``.

    A tree, two lanes a stage, comes before one accumulator: ``latency`` cycles from a slice to the total that includes it. It
    takes a slice in every cycle and never stalls. Slices without ``valid`` change nothing.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.latency = ceil_log2(lanes) + 1
        super().__init__({
            "valid": In(1),
            "opens": In(1),
            "highest": In(1),
            "used": In(lanes),
            "values": In(data.ArrayLayout(signed(8), lanes)),
            "total": Out(signed(SUM_BITS)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        rest = Mux(self.highest, -128, 0).as_signed()
        level: list[Value] = []
        for lane in range(self.lanes):
            value = Signal(signed(8), name=f"used{lane}")
            m.d.comb += value.eq(Mux(self.used[lane], self.values[lane], rest))
            level.append(value)
        travelling = data.StructLayout({"valid": unsigned(1), "opens": unsigned(1), "highest": unsigned(1)})
        now = Signal(travelling)
        m.d.comb += [now.valid.eq(self.valid), now.opens.eq(self.opens), now.highest.eq(self.highest)]
        stage = 0
        while len(level) > 1:
            stage += 1
            after = []
            for pair in range(0, len(level), 2):
                combined = combine(now.highest, *level[pair : pair + 2])
                register = Signal(combined.shape(), name=f"stage{stage}_{pair // 2}", reset_less=True)
                m.d.sync += register.eq(combined)
                after.append(register)
            level = after
            later = Signal(travelling, name=f"stage{stage}")
            m.d.sync += later.eq(now)
            now = later
        with m.If(now.valid):
            m.d.sync += self.total.eq(Mux(now.opens, level[0], combine(now.highest, self.total, level[0])))
        return m


def combine(highest: Value, first: Value, second: Value | None = None) -> Value:
    """The sum of both, or with ``highest`` the greater one; a single one itself."""
    if second is None:
        return first
    return Mux(highest, Mux(first > second, first, second), first + second)
