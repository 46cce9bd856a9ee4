"""Softmax's quotients: every pair of small numbers, and each class of large ones."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest

from hw.rows.layouts import TOTAL_BITS
from hw.rows.quotient import LATENCY, Quotients
from isa.rows import T_BITS
from tests.hw.rows.row_reference import rounded
from tests.hw.simulation import Simulator

LANES = 2


def check(dut: Quotients, cases: Sequence[tuple[int, list[int]]]) -> None:
    """Totals, and a numerator for each lane; one a cycle. From 255 on a quotient is any such."""

    async def script(ctx: Any) -> None:
        for n in range(len(cases) + LATENCY):
            if n < len(cases):
                ctx.set(dut.total, cases[n][0])
                ctx.set(dut.t, cases[n][1])
            if n >= LATENCY:
                total, numerators = cases[n - LATENCY]
                up = ctx.get(dut.up)
                found = [min(255, ctx.get(dut.whole[lane]) + (up >> lane & 1)) for lane in range(dut.lanes)]
                assert found == [rounded(t, total) for t in numerators], (total, numerators)
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()


@pytest.mark.parametrize("bits", [5, pytest.param(8, marks=pytest.mark.slow)])
def test_every_numerator_by_every_total(bits: int) -> None:
    numerators = [list(range(first, first + LANES)) for first in range(0, 1 << bits, LANES)]
    check(Quotients(LANES, bits, bits), list(itertools.product(range(1 << bits), numerators)))


@pytest.mark.parametrize("count", [2, pytest.param(60, marks=pytest.mark.slow)])
def test_every_length_of_both_and_ties(count: int) -> None:
    """Around each half: totals that are multiples of 32 have exact ones."""
    rng = random.Random(1)
    cases = []
    for bits in range(TOTAL_BITS + 1):
        for _ in range(count):
            total = rng.getrandbits(bits) if rng.random() < 0.5 else (rng.getrandbits(bits) >> 5) << 5
            total = rng.choice((total, (1 << bits) - 1))
            near = [(total * rng.randrange(520) // 2 + rng.choice((-16, 0, 0, 15, 16))) // 16 for _ in range(LANES - 1)]
            free = [rng.getrandbits(rng.randint(1, T_BITS))]
            cases.append((total, [min(max(t, 0), (1 << T_BITS) - 1) for t in near + free]))
    check(Quotients(LANES), cases)
