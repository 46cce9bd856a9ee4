"""The benches' simulator against Amaranth's own: what testbenches see is the same, and nothing is left of the script before."""

from __future__ import annotations

import random
from typing import Any

from amaranth import Module, Signal
from amaranth import sim as amaranth
from amaranth.lib.memory import Memory

from isa.config import preset
from tests.hw import simulation
from tests.hw.clocks import PERIOD

NANO = preset("nano")


class Design:
    """A sum that follows its inputs, another that is kept, and a memory."""

    def __init__(self) -> None:
        self.module = m = Module()
        self.a, self.b, self.both, self.total, self.read = (Signal(16) for _ in range(5))
        m.submodules.memory = memory = Memory(shape=16, depth=4, init=[7, 8, 9, 10])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [self.both.eq(self.a + self.b), write.addr.eq(self.a[:2]), write.data.eq(self.both), write.en.eq(self.b[0])]
        m.d.comb += [read.addr.eq(self.b[:2]), self.read.eq(read.data)]
        m.d.sync += self.total.eq(self.total + self.both)

    async def play(self, ctx: Any, seed: int, seen: list[int]) -> None:
        """Sets, looks and waits in any order, and waits in the end."""
        rng = random.Random(seed)
        for _ in range(60):
            what = rng.randrange(5)
            if what < 3:
                ctx.set(rng.choice((self.a, self.b)), rng.getrandbits(16))
            elif what == 3:
                seen += [ctx.get(self.both), ctx.get(self.total), ctx.get(self.read)]
            else:
                _, _, *values = await ctx.tick().sample(self.both, self.total)
                seen += values
        await ctx.tick()
        seen.append(ctx.get(self.total))


def of_amaranth(seed: int) -> list[int]:
    design, seen = Design(), list[int]()

    async def bench(ctx: Any) -> None:
        await design.play(ctx, seed, seen)

    simulator = amaranth.Simulator(design.module)
    simulator.add_clock(PERIOD, phase=PERIOD / 2)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def test_scripts_on_a_design_that_is_kept_see_what_each_sees_on_a_new_one() -> None:
    design = Design()
    kept = simulation.Kept(design.module, NANO)
    for seed in (1, 2, 3, 1):
        seen, watched = list[int](), list[int]()

        async def bench(ctx: Any, seed: int = seed, seen: list[int] = seen) -> None:
            await design.play(ctx, seed, seen)

        async def watches(ctx: Any, watched: list[int] = watched) -> None:
            async for _, _, both in ctx.tick().sample(design.both):
                watched.append(both)

        kept.run(bench, *[watches] * (seed - 1))
        assert len(seen) > 30
        assert seen == of_amaranth(seed)
        # Each sees all that is added up, and nobody else does.
        assert sum(watched) % (1 << 16) == (seed - 1) * seen[-1] % (1 << 16)


def test_the_design_settles_once_for_all_that_is_set() -> None:
    design, settled = Design(), list[bool]()

    async def bench(ctx: Any) -> None:
        settle = ctx.settle

        def counted() -> None:
            settled.append(not ctx._settled)
            settle()

        ctx.settle = counted
        for value in range(10):
            ctx.set(design.a, value)
            ctx.set(design.b, value)
        assert ctx.get(design.both) == 18

    simulation.Kept(design.module, NANO).run(bench)
    assert sum(settled) == 1
