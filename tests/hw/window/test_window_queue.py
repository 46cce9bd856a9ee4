"""The queue against a Python list."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hw.window.queue import Queue
from tests.hw.simulation import Simulator


@pytest.mark.parametrize("depth", [2, 3, 4, 5, 16])
def test_order_and_levels_under_random_traffic(depth: int) -> None:
    dut = Queue(16, depth)
    rng = random.Random(depth)
    model: list[int] = []
    seen: set[int] = set()

    async def bench(ctx: Any) -> None:
        eager = 0.5
        for n in range(600):
            if n % (4 * depth) == 0:
                eager = rng.choice([0.1, 0.5, 0.9])
            push, pop = rng.random() < eager, rng.random() < 1 - eager
            ctx.set(dut.i.payload, n)
            ctx.set(dut.i.valid, push)
            ctx.set(dut.o.ready, pop)
            assert ctx.get(dut.i.ready) == (len(model) < depth)
            assert ctx.get(dut.o.valid) == bool(model)
            full = len(model) == depth
            if model:
                assert ctx.get(dut.o.payload) == model[0]
                if pop:
                    model.pop(0)
            if push and not full:
                model.append(n)
            seen.add(len(model))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    assert seen == set(range(depth + 1))
