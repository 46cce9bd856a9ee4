"""The counter of what is out, against a number."""

from __future__ import annotations

import random

import pytest
from amaranth.sim import SimulatorContext

from hw.axi.credits import Credits
from tests.hw.simulation import Simulator


@pytest.mark.parametrize(("most", "step"), [(1, 1), (7, 1), (31, 16)])
def test_it_counts_what_is_taken_and_given(most: int, step: int) -> None:
    dut = Credits(most, step)
    rng = random.Random(most)
    seen = set()

    async def script(ctx: SimulatorContext) -> None:
        out = 0
        for cycle in range(300):
            filling = cycle % 100 < 50
            assert ctx.get(dut.out) == out
            seen.add(out)
            take = rng.randint(0, min(step, most - out)) if filling or rng.random() < 0.1 else 0
            give = int(out > 0 and rng.random() < (0.2 if filling else 0.9))
            ctx.set(dut.take, take)
            ctx.set(dut.give, give)
            await ctx.tick()
            out += take - give

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    assert {0, most} <= seen
