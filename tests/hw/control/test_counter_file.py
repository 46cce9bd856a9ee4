"""Counters in one memory against a list of numbers."""

from __future__ import annotations

import random

import pytest
from amaranth import ResetInserter, Signal
from amaranth.sim import SimulatorContext

from hw.control.counters import CounterFile
from tests.hw.simulation import Script, Simulator


def drive(dut: CounterFile, script: Script, simulated: object = None) -> None:
    simulator = Simulator(simulated or dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()


@pytest.mark.parametrize("asked_often", [False, True])
def test_every_counter_tells_every_event_whenever_it_is_asked(asked_often: bool) -> None:
    """Asked, a counter tells a cycle later what it was, but for one event: that is counted in the cycle after."""
    rng = random.Random(asked_often)
    dut = CounterFile(7)
    counts, late = [0] * 7, [0] * 7

    async def script(ctx: SimulatorContext) -> None:
        nonlocal late
        asked, wanted = False, 0
        told: int | None = None
        for cycle in range(600):
            if told is not None:
                assert ctx.get(dut.value) == told, cycle
            told = counts[wanted] if asked else None
            asked = not asked and (asked_often or rng.random() < 0.1)
            index = 3 if asked_often and cycle < 300 else rng.randrange(7)
            run = cycle % 50 < 45
            events = [int(cycle < 300 or rng.random() < 0.5) for _ in range(7)]
            ctx.set(dut.run, run)
            ctx.set(dut.events, sum(bit << n for n, bit in enumerate(events)))
            ctx.set(dut.ask, asked)
            ctx.set(dut.index, index)
            wanted = index
            await ctx.tick()
            counts[:] = [count + bit for count, bit in zip(counts, late, strict=True)]
            late = [bit * run for bit in events]

    drive(dut, script)


def test_what_the_memory_held_before_reset_does_not_count() -> None:
    dut = CounterFile(2)

    async def script(ctx: SimulatorContext) -> None:
        ctx.set(dut.run, 1)
        ctx.set(dut.events, 0b11)
        ctx.set(dut.index, 1)
        for cleared in (False, True):
            if cleared:
                ctx.set(clear, 1)
                await ctx.tick()
                ctx.set(clear, 0)
            for _ in range(9):
                await ctx.tick()
            ctx.set(dut.ask, 1)
            await ctx.tick()
            ctx.set(dut.ask, 0)
            await ctx.tick()
            assert ctx.get(dut.value) == 9

    clear = Signal()
    drive(dut, script, ResetInserter(clear)(dut))
