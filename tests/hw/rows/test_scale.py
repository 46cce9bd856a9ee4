"""Factors and offsets of normalised values, on one lane, at the edges of all numbers."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hw.rows.layouts import TOTAL_BITS
from hw.rows.scale import FACTORS, LATENCY, Scale
from isa.rows import B_BITS, B_SHIFT, F_STEP, G_BITS, MOST_F, U_SHIFT
from tests.hw.rows.row_reference import scaled, signed
from tests.hw.simulation import Simulator

MOST_U = 1 << 33
"""The square root of 4096, in units of 2^-27."""


def drawn(rng: random.Random, bits: int) -> int:
    edge = 1 << bits - 1
    return rng.choice((-edge, edge - 1, 0, 1, -1, rng.randrange(-edge, edge)))


def case(rng: random.Random, zp: int, shift: int) -> tuple[int, int, int, int, int]:
    """An element, P and M for some normalised value, G and B, which often bring it next to a half."""
    while True:
        x, p, u = rng.randint(-128, 127), rng.getrandbits(TOTAL_BITS), rng.randrange(-MOST_U, MOST_U)
        m = ((x - zp) * p - (u << U_SHIFT) - rng.randrange(1 << U_SHIFT)) % (1 << TOTAL_BITS)
        g, b = drawn(rng, G_BITS), drawn(rng, B_BITS)
        if rng.random() < 0.7:
            g = rng.choice((g, drawn(rng, 9) << B_SHIFT))
            b = (rng.randrange(-600, 600) << MOST_F - F_STEP * shift - 1) - u * g >> B_SHIFT
        if -(1 << B_BITS - 1) <= b < 1 << B_BITS - 1:
            return x, p, m, g, b


@pytest.mark.parametrize(("zp", "shift"), [(0, 0), (-128, 1), (127, 2), (5, 3)])
def test_edges_and_halves(zp: int, shift: int) -> None:
    """Beyond ten bits any value is right that a zero-point leaves beyond int8."""
    rng = random.Random(shift)
    cases = [case(rng, zp, shift) for _ in range(150)]
    dut = Scale(1)

    async def script(ctx: Any) -> None:
        ctx.set(dut.zp, zp)
        ctx.set(dut.shift, shift)
        for n in range(len(cases) + LATENCY):
            if n < len(cases):
                x, p, m, *_ = cases[n]
                ctx.set(dut.x[0], x)
                ctx.set(dut.slope, p)
                ctx.set(dut.offset, m)
            if 0 <= n - FACTORS < len(cases):
                *_, g, b = cases[n - FACTORS]
                ctx.set(dut.record[0], {"g": g, "b": b})
            if n >= LATENCY:
                x, p, m, g, b = cases[n - LATENCY]
                u = signed((x - zp) * p - m, TOTAL_BITS)
                expected = scaled(1, u, 0, g, b, shift)
                found = ctx.get(dut.whole[0]) + ctx.get(dut.up)
                assert min(max(found, -500), 500) == min(max(expected, -500), 500), cases[n - LATENCY]
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
