"""Multiples of a raster's steps against plain products, and how long they take."""

from __future__ import annotations

from typing import Any

import pytest

from hw.window.multiples import Multiples
from hw.window.pixels import Widths
from isa.latency import raster_rounds
from tests.hw.simulation import Simulator
from tests.hw.window.window_reference import CONFIG


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 8])
def test_multiples_of_two_walks(lanes: int) -> None:
    """The second walk is taken after the first group of the first is gone, though it was released before."""
    dut = Multiples(Widths.of_input(CONFIG), lanes, 1)

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
