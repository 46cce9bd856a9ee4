"""WindowGenerator against the formulas of docs/machine.md, step by step."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hw.window.generator import WindowGenerator
from tests.hw.window.window_reference import Step, plain_window, random_window, steps


def run(walks: list[dict[str, int]], lanes: int, stall: float = 0.0) -> tuple[list[Step], list[int]]:
    """The steps that come out, and the cycle of each."""
    dut = WindowGenerator(lanes)
    rng = random.Random(1)
    expected = sum(len(steps(w, lanes)) for w in walks)
    got: list[Step] = []
    cycles: list[int] = []

    async def feed(ctx: Any) -> None:
        for w in walks:
            ctx.set(dut.i.p, w)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
        ctx.set(dut.i.valid, 0)

    async def drain(ctx: Any) -> None:
        for cycle in range(40 * len(walks) + 4 * expected + 40):
            ctx.set(dut.o.ready, rng.random() >= stall)
            if ctx.get(dut.o.valid & dut.o.ready):
                p = ctx.get(dut.o.p)
                words = tuple(lane.addr if lane.read else None for lane in p.lanes)
                flags = (p.first, p.last, p.last_of_outer, p.last_of_instruction)
                got.append(Step(words, *(bool(f) for f in flags)))
                cycles.append(cycle)
            await ctx.tick()

    sim = Simulator(dut)
    sim.add_clock(1e-6)
    sim.add_testbench(feed)
    sim.add_testbench(drain)
    sim.run()
    return got, cycles


@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_random_walks(lanes: int, stall: float) -> None:
    rng = random.Random(lanes)
    walks = [random_window(rng) for _ in range(12)]
    got, _ = run(walks, lanes, stall)
    assert got == [s for w in walks for s in steps(w, lanes)]


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_a_step_in_every_cycle_also_between_instructions(lanes: int) -> None:
    """1x1 windows of one vector change the pixel group in every cycle; rows of one pixel wrap every lane."""
    walks = [
        plain_window(o_h=9, o_w=7, i_h=9, i_w=7, i_ys=7, i_off=3, outer=2),
        plain_window(o_h=40, o_w=1, i_h=40, i_ys=5, i_ring=11, outer=2, outer_period=1, outer_step=100),
        plain_window(o_h=3, o_w=5, i_h=5, i_w=7, k_h=3, k_w=3, i_ys=7, t_ys=7, inner=2, inner_step=50, pad_t=1, pad_l=1),
        plain_window(o_h=6, o_w=6, i_h=12, i_w=12, s_x=2, s_y=2),
    ]
    got, cycles = run(walks, lanes)
    assert got == [s for w in walks for s in steps(w, lanes)]
    assert cycles == list(range(cycles[0], cycles[0] + len(cycles)))


@pytest.mark.parametrize(("lanes", "latency"), [(1, 8), (2, 9), (4, 11)])
def test_latency_to_the_first_step(lanes: int, latency: int) -> None:
    _, cycles = run([plain_window(o_w=5)], lanes)
    assert cycles[0] == latency
