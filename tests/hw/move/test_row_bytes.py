"""The serial product of pixels and bytes."""

from __future__ import annotations

from typing import Any

from hw.move.product import RowBytes
from tests.hw.simulation import Simulator

CASES = [(1, 1), (1, 65535), (4095, 65535), (2, 7), (3, 5), (64, 24), (1000, 999)]


def test_products_and_their_time() -> None:
    dut = RowBytes()

    async def drive(ctx: Any) -> None:
        for pixels, run in CASES:
            ctx.set(dut.pixels, pixels)
            ctx.set(dut.run, run)
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            cycles = 0
            while not ctx.get(dut.ready):
                await ctx.tick()
                cycles += 1
            assert ctx.get(dut.product) == pixels * run
            assert cycles == -(-pixels.bit_length() // 2)

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(drive)
    simulator.run()
