"""Token counters against a table of numbers."""

from __future__ import annotations

import random

import pytest
from amaranth.sim import SimulatorContext

from hw.control.tokens import Tokens
from isa.faults import TOKEN_MAX
from isa.instructions import Unit
from tests.hw.simulation import Script, Simulator

UNITS = len(Unit)
PAIRS = [(int(p), int(c)) for p in Unit for c in Unit]


def drive(dut: Tokens, script: Script) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()


def set_masks(ctx: SimulatorContext, dut: Tokens, gives: set[tuple[int, int]], takes: set[tuple[int, int]]) -> None:
    """Pairs are (producer, consumer)."""
    for unit in range(UNITS):
        ctx.set(dut.give[unit], sum(1 << c for p, c in gives if p == unit))
        ctx.set(dut.take[unit], sum(1 << p for p, c in takes if c == unit))


def available(ctx: SimulatorContext, dut: Tokens) -> set[tuple[int, int]]:
    masks = [ctx.get(dut.available[consumer]) for consumer in range(UNITS)]
    return {(p, c) for p, c in PAIRS if masks[c] >> p & 1}


def test_every_pair_has_its_own_counter_and_delivers_in_the_next_cycle() -> None:
    dut = Tokens()

    async def script(ctx: SimulatorContext) -> None:
        for pair in PAIRS:
            set_masks(ctx, dut, {pair}, set())
            assert available(ctx, dut) == set()
            await ctx.tick()
            assert available(ctx, dut) == {pair}
            set_masks(ctx, dut, set(), {pair})
            await ctx.tick()
            assert available(ctx, dut) == set()

    drive(dut, script)


@pytest.mark.parametrize("seed", range(3))
def test_random_gives_and_takes_count_as_in_a_table(seed: int) -> None:
    rng = random.Random(seed)
    dut = Tokens()
    count = dict.fromkeys(PAIRS, 0)

    async def script(ctx: SimulatorContext) -> None:
        for _ in range(300):
            takes = {pair for pair in PAIRS if count[pair] and rng.random() < 0.4}
            gives = {pair for pair in PAIRS if rng.random() < 0.4}
            assert not any(ctx.get(dut.full[unit]) for unit in range(UNITS))
            set_masks(ctx, dut, gives, takes)
            await ctx.tick()
            for pair in PAIRS:
                count[pair] += (pair in gives) - (pair in takes)
            assert available(ctx, dut) == {pair for pair in PAIRS if count[pair]}

    drive(dut, script)


def test_a_counter_is_full_at_the_maximum_and_not_before() -> None:
    dut = Tokens()
    pair = (int(Unit.POOL), int(Unit.SAVE))

    def full(ctx: SimulatorContext) -> dict[Unit, int]:
        return {unit: ctx.get(dut.full[unit]) for unit in Unit if ctx.get(dut.full[unit])}

    async def script(ctx: SimulatorContext) -> None:
        set_masks(ctx, dut, {pair}, set())
        for _ in range(TOKEN_MAX):
            assert not full(ctx)
            await ctx.tick()
        assert full(ctx) == {Unit.POOL: 1 << Unit.SAVE}
        set_masks(ctx, dut, {pair}, {pair})
        await ctx.tick()
        assert full(ctx) == {Unit.POOL: 1 << Unit.SAVE}, "one taken, one given"
        set_masks(ctx, dut, set(), {pair})
        for taken in range(TOKEN_MAX):
            assert bool(full(ctx)) == (taken == 0)
            assert available(ctx, dut) == {pair}
            await ctx.tick()
        assert available(ctx, dut) == set()

    drive(dut, script)
