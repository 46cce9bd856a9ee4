"""Sums weights that come from a map, channel vector by channel vector."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.sums import chosen_sum, extended
from hw.conv.tree import add_tree
from hw.copies import Spread
from hw.misc.delay import Delay
from hw.move.product_records import SUM_BITS
from isa.config import MachineConfig
from isa.latency import tree_stages

LANE_SUM_BITS = 21
"""The bits of the sum of a channel over all pixels: 4 095 + 63 of them, each of at most 8 bits."""


class ProductSums(wiring.Component):
    """Makes the sums of ``w - w_zp`` over the inputs of each output, one channel vector per cycle. It never stalls.

    With ``turned`` an output is a pixel, whose vectors are ``counted`` from its ``first`` to its ``last`` one. They go through
    a tree of adders, and the sum comes ``tree_stages(ic_p) + 2`` cycles after the last vector.

    Otherwise an output is a channel. Only the first vector of all is ``first``, and each lane has its own sum, which is 0 a
    cycle after ``clear``. ``shift``, a bit for each lane, gives the next lane's sum a cycle later, from lane 0 on. It must not
    come before ``tree_stages(ic_p) + 1`` cycles after the last vector, because the zero-points go through the stages of the
    tree. ``vector`` is 0 then.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "clear": In(1),
            "turned": In(1),
            "w_zp": In(signed(8)),
            "vector": In(8 * config.ic_p),
            "counted": In(1),
            "first": In(1),
            "last": In(1),
            "shift": In(config.ic_p),
            "valid": Out(1),
            "value": Out(signed(SUM_BITS)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes = self.config.ic_p
        stages = tree_stages(lanes)
        weights = [self.vector.word_select(lane, 8).as_signed() for lane in range(lanes)]
        of_vector = add_tree(m, list(weights), "of_vector")
        flags = Delay(m, Cat(self.counted, self.first, self.last), "flags")
        counted, first, last = flags(stages)
        total = Signal(signed(SUM_BITS))
        complete = Signal()
        zero_points = Signal(signed(SUM_BITS))
        """The sum of all zero-points that are in ``total``."""
        of_step = Signal(signed(15))
        """The sum of the zero-points that a vector adds."""
        m.d.sync += [of_step.eq(Mux(self.turned, self.w_zp * lanes, self.w_zp)), complete.eq(counted & last)]
        with m.If(counted):
            m.d.sync += [
                total.eq(Mux(first, 0, total) + of_vector),
                zero_points.eq(Mux(first, 0, zero_points) + of_step),
            ]

        sums = [Signal(signed(LANE_SUM_BITS), name=f"lane_{lane}", reset_less=True) for lane in range(lanes)]
        clear = Signal()
        moves = Signal()
        clears = Spread(m, clear, self.clear, "sync")
        all_move = Spread(m, moves, self.shift[0] | (self.counted & ~self.turned))
        followers = [*sums[1:], Const(0, signed(LANE_SUM_BITS))]
        for lane_sum, weight, following, shift in zip(sums, weights, followers, self.shift, strict=True):
            with m.If(clears.of(LANE_SUM_BITS)):
                m.d.sync += lane_sum.eq(0)
            with m.Elif(all_move.of(LANE_SUM_BITS)):
                # This takes one LUT for each bit, because with ``shift`` there is no weight to add.
                m.d.sync += lane_sum.eq(chosen_sum(extended(weight, LANE_SUM_BITS), Mux(shift, following, lane_sum)))
        m.d.sync += [
            self.valid.eq(complete | self.shift[0]),
            self.value.eq(Mux(self.turned, total, sums[0]) - zero_points),
        ]
        return m
