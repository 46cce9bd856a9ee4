"""Parts put together again."""

from __future__ import annotations

import random
from itertools import chain
from typing import Any

import pytest

from hw.post.gather import Gather
from tests.hw.simulation import Simulator


@pytest.mark.parametrize(("lanes", "parts"), [(4, 1), (2, 2), (1, 3), (3, 4)])
def test_parts_become_the_whole_whenever_they_come(lanes: int, parts: int) -> None:
    dut = Gather(lanes, parts)
    rng = random.Random(parts)
    fed = [[rng.randrange(256) for _ in range(lanes)] for _ in range(6 * parts)]
    seen: list[list[int]] = []

    async def bench(ctx: Any) -> None:
        for part in fed:
            while rng.random() < 0.4:
                ctx.set(dut.i.valid, 0)
                ctx.set(dut.i.p, [rng.randrange(256) for _ in range(lanes)])
                assert not ctx.get(dut.o.valid)
                await ctx.tick()
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.i.p, part)
            if ctx.get(dut.o.valid):
                seen.append([ctx.get(byte) for byte in dut.o.p])
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    assert seen == [list(chain(*fed[n : n + parts])) for n in range(0, len(fed), parts)]
