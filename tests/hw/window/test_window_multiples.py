"""Multiples of a raster's steps against plain products, and how long they take."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.window.multiples import held_walk, multiples_layout
from hw.window.pixels import Widths, raster_layout
from isa.latency import raster_rounds
from tests.hw.simulation import Simulator
from tests.hw.window.window_reference import CONFIG


class Held(wiring.Component):
    """A walk that is held, by itself."""

    def __init__(self, widths: Widths, lanes: int) -> None:
        self.widths, self.lanes = widths, lanes
        layout = raster_layout(widths, 1)
        super().__init__({
            "i": In(stream.Signature(layout)), "walk": Out(layout), "steps": Out(multiples_layout(widths, lanes)),
            "armed": Out(1), "released": In(1), "gone": In(1),
        })  # fmt: skip

    def elaborate(self, platform: object) -> Module:
        m = Module()
        walk, steps, armed = held_walk(m, self.i, self.widths, self.lanes, self.released, self.gone)
        m.d.comb += [self.walk.eq(walk), self.steps.eq(steps), self.armed.eq(armed)]
        return m


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 8])
def test_multiples_of_two_walks(lanes: int) -> None:
    """The second walk is taken after the first group of the first is gone, though it was released before."""
    dut = Held(Widths.of_input(CONFIG), lanes)

    async def script(ctx: Any) -> None:
        for row_step, ring in ((7, 0), (11, 12)):
            ctx.set(dut.i.payload, {"row_step": row_step, "ring": ring, "y_step": 2, "column_step": 3, "width": 5})
            ctx.set(dut.i.valid, 1)
            assert ctx.get(dut.i.ready)
            await ctx.tick()
            for _ in range(raster_rounds(lanes)):
                assert (ctx.get(dut.i.ready), ctx.get(dut.armed)) == (0, 0)
                await ctx.tick()
            assert (ctx.get(dut.i.ready), ctx.get(dut.armed)) == (0, 1)
            for k in range(1, lanes + 1):
                row = k * row_step % ring if ring else k * row_step
                assert [ctx.get(dut.steps[part][k]) for part in ("row", "y", "column")] == [row, 2 * k, 3 * k]
            ctx.set(dut.released, 1)
            await ctx.tick()
            ctx.set(dut.released, 0)
            for gone in (0, 1):
                assert (ctx.get(dut.i.ready), ctx.get(dut.armed), ctx.get(dut.walk.width)) == (0, 0, 5)
                ctx.set(dut.gone, gone)
                await ctx.tick()
            ctx.set(dut.gone, 0)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
