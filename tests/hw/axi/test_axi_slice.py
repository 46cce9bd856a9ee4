"""A register slice hands on what it gets, and no path crosses it."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth import unsigned
from amaranth.lib.data import StructLayout

from hw.axi.slice import RegisterSlice
from tests.hw.move_streams import run_streams
from tests.hw.simulation import Simulator

LAYOUT = StructLayout({"value": unsigned(8)})


@pytest.mark.parametrize("pause", [0.0, 0.4])
def test_items_come_out_in_order(pause: float) -> None:
    items = [{"value": n} for n in range(100)]
    dut = RegisterSlice(LAYOUT)
    got, cycles = run_streams(dut, [(dut.i, items)], dut.o, ("value",), len(items), pause=pause)
    assert got == items
    if not pause:
        assert cycles == list(range(1, 101))


def test_ready_does_not_depend_on_the_ready_of_the_same_cycle() -> None:
    dut = RegisterSlice(LAYOUT)
    seen = []

    async def drive(ctx: Any) -> None:
        ctx.set(dut.i.valid, 1)
        await ctx.tick().repeat(2)
        for ready in (0, 1):
            ctx.set(dut.o.ready, ready)
            seen.append((ctx.get(dut.i.ready), ctx.get(dut.o.valid)))
        await ctx.tick()
        seen.append((ctx.get(dut.i.ready), ctx.get(dut.o.valid)))

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(drive)
    simulator.run()
    assert seen == [(0, 1), (0, 1), (1, 1)]
