"""Round: every sum to the integer that rounding twice gives, close to halves above all."""

from __future__ import annotations

import random
from typing import Any

from hw.misc.rounding import SUM_BITS, WHOLE, Round
from isa.latency import MISC_ROUNDING
from tests.hw.misc.misc_reference import clamp, rounded
from tests.hw.simulation import Simulator

MOST = (1 << SUM_BITS - 1) - 1
TOP = (1 << WHOLE - 1) - 1


def near_half(rng: random.Random, shift: int) -> int:
    """Half-way between two integers, but for a part that 24 significant bits may or may not see."""
    whole = rng.choice([rng.randint(-600, 600), rng.randint(-3, 3), 0])
    if not shift:
        return whole
    off = rng.choice([0, 1, -1, 2, -2]) + rng.choice([0, 1, -1]) * (1 << max(0, shift - rng.randint(14, 27)))
    return (whole << shift) + (1 << shift - 1) + off


def cases(count: int) -> list[tuple[int, int]]:
    """Sums of all shifts; behind those of one a zero, which is the same in all."""
    rng = random.Random(1)
    found: list[tuple[int, int]] = []
    for number in range(count):
        shift = number * 64 // count
        if found and found[-1][1] != shift:
            found.append((0, found[-1][1]))
        total = rng.choice([near_half(rng, shift), near_half(rng, shift), rng.randint(-MOST - 1, MOST), rng.getrandbits(shift)])
        found.append((clamp(total, -MOST - 1, MOST), shift))
    return found


def test_every_sum_is_rounded_twice() -> None:
    dut = Round()
    offered = cases(3000)
    twice = 0

    async def bench(ctx: Any) -> None:
        nonlocal twice
        ctx.set(dut.goes, ~0)
        for n in range(len(offered) + MISC_ROUNDING):
            if n < len(offered):
                ctx.set(dut.total, offered[n][0])
                ctx.set(dut.shift, offered[n][1])
            if n >= MISC_ROUNDING:
                total, shift = offered[n - MISC_ROUNDING]
                assert ctx.get(dut.r) == clamp(rounded(total, shift), -TOP - 1, TOP), (total, shift)
                once = (2 * total + (1 << shift)) // (2 << shift)
                twice += once != rounded(total, shift) and abs(once) < TOP
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    assert twice > 50
