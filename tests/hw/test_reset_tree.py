"""The reset tree: what it holds in step with, how far its leaves reach."""

from __future__ import annotations

import random

from amaranth import Elaboratable, Module, ResetInserter, Signal
from amaranth.sim import Simulator, SimulatorContext

from hw.control.lite import LiteEndpoint
from hw.reset import LEAF_BITS, ResetTree
from isa.stages import RESET


class Counters(Elaboratable):
    """Registers of the widths given, each counting by its own step, and parts like it."""

    def __init__(self, rng: random.Random, depth: int) -> None:
        widths = [rng.choice((1, 7, 40, LEAF_BITS, 2 * LEAF_BITS + 3)) for _ in range(rng.randrange(1, 4))]
        self.own = [Signal(width, init=rng.getrandbits(width), name=f"count{n}") for n, width in enumerate(widths)]
        self.free = Signal(8, reset_less=True)
        self.parts = [Counters(rng, depth - 1) for _ in range(rng.randrange(3) if depth else 0)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += [count.eq(3 * count + 5) for count in self.own]
        m.d.sync += self.free.eq(self.free + 1)
        for part in self.parts:
            m.submodules += part
        return m

    def registers(self) -> list[Signal]:
        return [*self.own, self.free, *(register for part in self.parts for register in part.registers())]


def states(part: Counters, held: Elaboratable, reset: Signal, when: set[int], cycles: int) -> list[list[int]]:
    """Of every register in every cycle."""
    found: list[list[int]] = []

    async def script(ctx: SimulatorContext) -> None:
        for cycle in range(cycles):
            ctx.set(reset, cycle in when)
            found.append([ctx.get(register) for register in part.registers()])
            await ctx.tick()

    simulator = Simulator(held)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    return found


def test_all_registers_are_reset_in_one_cycle_so_much_later() -> None:
    for seed in range(12):
        tree, plain = Counters(random.Random(seed), 2), Counters(random.Random(seed), 2)
        reset, later = Signal(), Signal()
        when = {5, 11, 12, 20}
        found = states(tree, ResetTree(tree, reset), reset, when, 30)
        expected = states(plain, ResetInserter(later)(plain), later, {cycle + RESET for cycle in when}, 30)
        assert found == expected
        assert found[5 + RESET + 1][:1] == [tree.own[0].init]


def test_a_host_that_asks_right_after_the_reset_gets_its_answer() -> None:
    """What it offers while the registers are still reset waits."""
    endpoint, reset = LiteEndpoint(), Signal(init=1)
    answered: list[int] = []

    async def script(ctx: SimulatorContext) -> None:
        await ctx.tick().repeat(4)
        ctx.set(reset, 0)
        ctx.set(endpoint.bus.arvalid, 1)
        ctx.set(endpoint.bus.rready, 1)
        for cycle in range(20):
            taken = ctx.get(endpoint.bus.arvalid & endpoint.bus.arready)
            answered.extend([cycle] * ctx.get(endpoint.bus.rvalid))
            await ctx.tick()
            if taken:
                ctx.set(endpoint.bus.arvalid, 0)

    simulator = Simulator(ResetTree(endpoint, reset))
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    assert len(answered) == 1
