"""Reciprocal square roots: every class of numbers below the root, at its squares and between them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from hw.rows.layouts import TOTAL_BITS
from hw.rows.reciprocal import LATENCY, Reciprocal
from isa.checks import MAX_ROW
from isa.rows import D_BITS, D_FRACTION, K_BITS
from tests.hw.rows.row_reference import numbers
from tests.hw.simulation import Simulator

Row = tuple[int, int, int, int]
"""Length, sum, sum of squares, K."""


def check(rows: Iterable[Row]) -> None:
    dut = Reciprocal()

    async def script(ctx: Any) -> None:
        ctx.set(dut.o.ready, 1)
        for row in rows:
            for port, value in zip((dut.length, dut.i.payload.total, dut.i.payload.squares, dut.k), row, strict=True):
                ctx.set(port, value)
            ctx.set(dut.i.valid, 1)
            assert ctx.get(dut.i.ready)
            cycles = 0
            while not ctx.get(dut.o.valid):
                await ctx.tick()
                ctx.set(dut.i.valid, 0)
                cycles += 1
                assert cycles < LATENCY
            found = ctx.get(dut.o.payload.slope), ctx.get(dut.o.payload.offset)
            assert found == tuple(number % (1 << TOTAL_BITS) for number in numbers(*row)), row
            await ctx.tick()
            assert cycles + 1 == LATENCY

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()


def with_below(rng: random.Random, below: int) -> Row:
    """A row whose number below the root is that one: what K does not hold, a variance makes."""
    k = below % (1 << D_FRACTION) if below >> K_BITS else below
    squares = below - k >> D_FRACTION
    return (1, 0, squares, k) if squares < 1 << 28 else (MAX_ROW, 0, squares // MAX_ROW, k)


def classes(rng: random.Random, count: int) -> Iterable[Row]:
    """Of every length: a power of two, a square and its neighbours, others."""
    for bits in range(1, D_BITS - 1):
        for _ in range(count):
            some = rng.randrange(1 << bits - 1, 1 << bits)
            square = max(1, int(some**0.5)) ** 2
            below = rng.choice((1 << bits - 1, (1 << bits) - 1, some, square, square - 1, square + 1))
            yield with_below(rng, max(1, below))


def rows(rng: random.Random, count: int) -> Iterable[Row]:
    for _ in range(count):
        n = rng.choice((1, 2, 197, 768, MAX_ROW, rng.randint(1, MAX_ROW)))
        spread = rng.choice((0, 1, 5, 255))
        centre = rng.randint(spread - 255, 255 - spread)
        x = [centre + rng.randint(-spread, spread) for _ in range(n)]
        yield n, rng.choice((0, sum(x), sum(x))), sum(v * v for v in x), rng.getrandbits(rng.randint(1, K_BITS)) or 1
    yield MAX_ROW, 255 * MAX_ROW, 255**2 * MAX_ROW, 1
    yield MAX_ROW, -255 * MAX_ROW, 255**2 * MAX_ROW, (1 << K_BITS) - 1
    yield MAX_ROW, 0, 255**2 * MAX_ROW, (1 << K_BITS) - 1


def test_some_lengths_of_numbers_and_some_rows() -> None:
    rng = random.Random(1)
    check([*list(classes(rng, 1))[:: D_BITS // 8], *rows(rng, 4)])


@pytest.mark.slow
def test_every_length_of_number_and_many_rows() -> None:
    rng = random.Random(3)
    check([*classes(rng, 40), *rows(rng, 600)])
