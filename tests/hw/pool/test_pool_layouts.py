"""Words of POOL's memories, which are known to be beyond them for good, against whole numbers."""

from __future__ import annotations

import random

import pytest
from amaranth import Module, Signal
from amaranth.sim import SimulatorContext

from hw.pool.layouts import Word
from tests.hw.simulation import Simulator


@pytest.mark.parametrize("depth", [2, 3, 50, 64, 512, 65536])
def test_a_word_is_exact_until_it_is_beyond_the_memory_and_stays_beyond(depth: int) -> None:
    rng = random.Random(depth)
    word = Word(depth)
    beyond = 1 << (depth - 1).bit_length()
    field, number, small, other = Signal(16), Signal(word.shape), Signal(3), Signal(word.shape)
    m = Module()
    of, after_small, after_word = (Signal(word.shape, name=name) for name in ("of", "after_small", "after_word"))
    m.d.comb += [of.eq(word.of(field)), after_small.eq(word.after(number, small)), after_word.eq(word.after(number, other))]

    def holds(shown: int, exact: int) -> bool:
        return shown == exact if exact < beyond else shown >= beyond

    async def script(ctx: SimulatorContext) -> None:
        for _ in range(300):
            first, step = (min(65535, rng.choice((rng.randrange(2 * depth), rng.randrange(1 << 16)))) for _ in range(2))
            exact = first
            ctx.set(field, first)
            shown = ctx.get(of)
            assert holds(shown, exact)
            ctx.set(field, step)
            ctx.set(other, ctx.get(of))
            for _ in range(6):
                more = rng.randrange(5)
                ctx.set(number, shown)
                ctx.set(small, more)
                by_step = rng.random() < 0.5
                shown = ctx.get(after_word if by_step else after_small)
                exact += step if by_step else more
                assert holds(shown, exact), (first, step, exact, shown)

    simulator = Simulator(m)
    simulator.add_testbench(script)
    simulator.run()
