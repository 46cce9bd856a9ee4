"""Normalised values and quotients on one lane, at the edges of all numbers."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hw.rows.layouts import TOTAL_BITS
from hw.rows.quotient import DIVISOR_DROPPED, LEAST_TOTAL, POWER, WINDOW_STEP
from hw.rows.results import DIFFERENT, LATENCY, T_AT, Results
from isa.rows import B_BITS, B_SHIFT, F_STEP, G_BITS, MOST_F, T_BITS, U_SHIFT
from tests.hw.rows.row_reference import rounded, scaled, signed
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


def simulate(dut: Results, script: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()


@pytest.mark.parametrize(("zp", "shift"), [(0, 0), (-128, 1), (127, 2), (5, 3)])
def test_edges_and_halves(zp: int, shift: int) -> None:
    """Beyond ten bits any value is right that a zero-point leaves beyond int8."""
    rng = random.Random(shift)
    cases = [case(rng, zp, shift) for _ in range(150)]
    dut = Results(1)

    async def script(ctx: Any) -> None:
        ctx.set(dut.zp, zp)
        ctx.set(dut.shift, shift)
        for n in range(len(cases) + LATENCY):
            if n < len(cases):
                x, p, m, *_ = cases[n]
                ctx.set(dut.x[0], x)
                ctx.set(dut.row.slope, p)
                ctx.set(dut.row.offset, m)
            if 0 <= n - DIFFERENT < len(cases):
                *_, g, b = cases[n - DIFFERENT]
                ctx.set(dut.record[0], {"g": g, "b": b})
            if n >= LATENCY:
                x, p, m, g, b = cases[n - LATENCY]
                u = signed((x - zp) * p - m, TOTAL_BITS)
                expected = scaled(1, u, 0, g, b, shift)
                found = ctx.get(dut.whole[0]) + ctx.get(dut.up)
                assert min(max(found, -500), 500) == min(max(expected, -500), 500), cases[n - LATENCY]
            await ctx.tick()

    simulate(dut, script)


def divides(total: int) -> int:
    """What a row of that total says of it, by ``hw/rows/quotient.py``."""
    window = next(steps for steps in range(4) if total << WINDOW_STEP * steps >= 1 << LEAST_TOTAL) if total else 3
    divisor = total << WINDOW_STEP * window >> DIVISOR_DROPPED
    reciprocal = (1 << POWER) // divisor if divisor else 0
    return reciprocal | window << 21 | (total == 0) << 23


@pytest.mark.parametrize("count", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_quotients_of_every_class_and_ties(count: int) -> None:
    """Totals of every length, at both ends of it, and such as have exact halves; numerators around each quotient's half, and
    of every length."""
    rng = random.Random(1)
    cases = []
    for bits in range(TOTAL_BITS + 1):
        for _ in range(count):
            total = rng.choice((rng.getrandbits(bits), rng.getrandbits(bits) >> 5 << 5, (1 << bits) - 1, 1 << max(0, bits - 1)))
            near = (total * rng.randrange(520) // 2 + rng.choice((-16, 0, 0, 15, 16))) // 16
            for t in (near, near, rng.getrandbits(rng.randint(1, T_BITS)), (1 << T_BITS) - 1, 0):
                cases.append((total, min(max(t, 0), (1 << T_BITS) - 1)))
    dut = Results(1)

    async def script(ctx: Any) -> None:
        ctx.set(dut.softmax, 1)
        for n in range(len(cases) + LATENCY):
            if n < len(cases):
                ctx.set(dut.row.slope, cases[n][0])
                ctx.set(dut.row.offset, divides(cases[n][0]))
            if 0 <= n - T_AT < len(cases):
                ctx.set(dut.t[0], cases[n - T_AT][1])
            if n >= LATENCY:
                total, t = cases[n - LATENCY]
                assert min(255, ctx.get(dut.whole[0]) + ctx.get(dut.up)) == rounded(t, total), (total, t)
            await ctx.tick()

    simulate(dut, script)
