"""LEAKY where lanes take turns at a multiplier."""

from __future__ import annotations

from typing import Any

from amaranth import Const, Module, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.cascade import cascades_of, registered
from hw.arithmetic.choice import pick
from hw.arithmetic.dsp48e2 import Enables
from hw.post.clamp import Bounds

LEAKY_STAGES = 4
"""Cycles from a lane's turn to its byte."""


class LeakyLanes(wiring.Component):
    """``clamp(leaky(r) + zp, lo, hi)`` of lanes below zero, one of them in each cycle, with one multiplier for all. The bytes
    of other lanes are anything.

    Latency ``LEAKY_STAGES``; it never stalls. ``r`` of lane ``turn`` is looked at while ``take`` is high, ``alpha`` a cycle
    later, and in the third the bounds, while ``there`` names the lane. A lane keeps its byte until its next one.

    ======  ==============================================
    0       the lane whose turn it is
    1, 2    product with alpha; rounded
    3       clamped, to the byte of the lane that is there
    ======  ==============================================
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        super().__init__({
            "take": In(1),
            "turn": In(range(lanes)),
            "r": In(data.ArrayLayout(signed(16), lanes)),
            "alpha": In(unsigned(16)),
            "there": In(lanes),
            "least": In(signed(9)),
            "most": In(signed(9)),
            "zp": In(signed(8)),
            "y": Out(data.ArrayLayout(signed(8), lanes)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes = range(self._lanes)
        value = registered(m, pick([self.r[n] for n in lanes], self.turn).as_signed(), "value", self.take)
        # Product and sum need no enable: they change no more than the value does.
        always = Const(1, 1)
        found = cascades_of(platform).shrunk(m, value, self.alpha, always, Enables.all(always), "leaky")
        y = Bounds(self.least, self.most, self.zp).clamped(found)[:8].as_signed()
        m.d.comb += [self.y[n].eq(registered(m, y, f"y_{n}", self.there[n])) for n in lanes]
        return m
