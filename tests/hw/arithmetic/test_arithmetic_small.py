"""Small counts and sums beside Python's numbers, every one of them."""

from __future__ import annotations

from itertools import product

import pytest
from amaranth import Module, Signal
from amaranth.sim import SimulatorContext

from hw.arithmetic.small import stepped, summed
from tests.hw.simulation import Script, Simulator


def run(m: Module, script: Script) -> None:
    simulator = Simulator(m)
    simulator.add_testbench(script)
    simulator.run()


@pytest.mark.parametrize("most", [1, 4, 7, 15, 16, 40])
def test_a_level_goes_up_and_down_within_its_bounds(most: int) -> None:
    """Looked up where it is short, counted where it is not."""
    level, up, down, after = Signal(range(most + 1)), Signal(), Signal(), Signal(range(most + 1))
    m = Module()
    m.d.comb += after.eq(stepped(level, up, down, most))

    async def script(ctx: SimulatorContext) -> None:
        for value, more, less in product(range(most + 1), (0, 1), (0, 1)):
            if 0 <= value + more - less <= most:
                ctx.set(level, value)
                ctx.set(up, more)
                ctx.set(down, less)
                assert ctx.get(after) == value + more - less

    run(m, script)


@pytest.mark.parametrize(("bits", "others", "more"), [(3, 3, 0), (3, 2, 5), (5, 4, 0), (4, 1, 15)])
def test_a_sum_in_gates_wraps_as_numbers_do(bits: int, others: int, more: int) -> None:
    value, other, total = Signal(bits), Signal(others), Signal(bits)
    m = Module()
    m.d.comb += total.eq(summed(value, other, more))

    async def script(ctx: SimulatorContext) -> None:
        for a, b in product(range(1 << bits), range(1 << others)):
            ctx.set(value, a)
            ctx.set(other, b)
            assert ctx.get(total) == (a + b + more) % (1 << bits)

    run(m, script)
