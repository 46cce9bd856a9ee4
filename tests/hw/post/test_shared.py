"""CONV's finishing lanes with a guest: both get what lanes of their own would give them, and the owner when it would."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hw.post.shared import SharedPostProcess
from isa.config import config_from_dict
from isa.latency import post_latency
from tests.hw.post.post_reference import finish, record, requantise
from tests.hw.simulation import Simulator

SETTINGS = {"zp": 3, "lo": -100, "hi": 90, "act": 0, "table": 0}
CYCLES = 300


def scale(rng: random.Random) -> tuple[int, int, int]:
    return rng.randint(-1000, 1000), rng.getrandbits(24) | 1 << 23, rng.randint(22, 36)


@pytest.mark.parametrize(("own", "guests"), [(1, 1), (4, 2), (1, 2)])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_owner_and_guest_by_turns(own: int, guests: int, share: float) -> None:
    """``share``: of all cycles, those that the owner takes."""
    values = {"base": "nano", "conv_finish": own, "pool_finish": guests, "shared_finish": True}
    config = config_from_dict(values, origin="test")
    dut = SharedPostProcess(config)
    rng = random.Random(7)
    expected: list[list[tuple[int, list[int]]]] = [[], []]
    found: list[list[tuple[int, list[int]]]] = [[], []]

    def show(ctx: Any, port: Any, valid: bool, lanes: int, cycle: int, whose: int) -> None:
        ctx.set(port.valid, valid)
        if not valid:
            return
        sums, scales = [rng.randint(-(1 << 17), 1 << 17) for _ in range(lanes)], [scale(rng) for _ in range(lanes)]
        ctx.set(port.p, {"acc": sums, "params": [record(*s) for s in scales], "bypass": 0, **SETTINGS})
        rows = [finish(requantise(a, *s), 3, -100, 90, 0, []) for a, s in zip(sums, scales, strict=True)]
        expected[whose].append((cycle + post_latency(config), rows))

    async def bench(ctx: Any) -> None:
        asked = room = False
        for cycle in range(CYCLES):
            show(ctx, dut.i, asked, own, cycle, 0)
            show(ctx, dut.guest.vector, room and rng.random() < 0.8, guests, cycle, 1)
            asked = rng.random() < share
            ctx.set(dut.ask, asked)
            room = bool(ctx.get(dut.guest.room))
            assert room is not asked
            for whose, port in enumerate((dut.o, dut.guest.finished)):
                if ctx.get(port.valid):
                    found[whose].append((cycle, list(ctx.get(port.p))))
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(bench)
    sim.run()
    for whose in (0, 1):
        assert found[whose] == [entry for entry in expected[whose] if entry[0] < CYCLES]
    assert bool(found[0]) == (share > 0)
    assert bool(found[1]) == (share < 1)
