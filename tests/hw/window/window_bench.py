"""Feeds walks to a part of the window machinery and collects what it puts out."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tests.hw.simulation import Simulator

Item = TypeVar("Item")


def run_walks(
    dut: Any, walks: Sequence[Mapping[str, int]], read: Callable[[Any], Item], expected: int, stall: float = 0.0
) -> tuple[list[Item], list[int]]:
    """Everything that comes out in time for ``expected`` items, each as ``read`` sees its payload, and its cycle."""
    rng = random.Random(1)
    got: list[Item] = []
    cycles: list[int] = []

    async def feed(ctx: Any) -> None:
        for walk in walks:
            ctx.set(dut.i.p, walk)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def drain(ctx: Any) -> None:
        for cycle in range(40 * len(walks) + 4 * expected + 40):
            ctx.set(dut.o.ready, rng.random() >= stall)
            if ctx.get(dut.o.valid & dut.o.ready):
                got.append(read(ctx.get(dut.o.p)))
                cycles.append(cycle)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(feed)
    simulator.add_testbench(drain)
    simulator.run()
    return got, cycles
