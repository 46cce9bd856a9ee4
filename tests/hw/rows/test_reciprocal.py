"""Roots and reciprocals: every class of numbers below the root, at its squares and between them, and of totals."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest
from amaranth import Module
from amaranth.lib.wiring import connect

from hw.rows.layouts import TOTAL_BITS
from hw.rows.quotient import DIVISOR_DROPPED, LEAST_TOTAL, POWER, WINDOW_STEP
from hw.rows.reciprocal import ROOT_CYCLES, TOTAL_CYCLES, Reciprocal
from hw.rows.root import LATENCY, Root
from isa.checks import MAX_ROW
from isa.rows import D_BITS, D_FRACTION, K_BITS
from tests.hw.rows.row_reference import numbers
from tests.hw.simulation import Simulator

Row = tuple[int, int, int, int]
"""Length, sum, sum of squares, K."""


def check(rows: Iterable[Row]) -> None:
    module = Module()
    module.submodules.root = root = Root()
    module.submodules.reciprocal = reciprocal = Reciprocal()
    connect(module, root.o, reciprocal.roots)
    given, found = root.i, reciprocal.o

    async def script(ctx: Any) -> None:
        ctx.set(found.ready, 1)
        for row in rows:
            for number, port in zip(row, (root.length, given.payload.total, given.payload.squares, root.k), strict=True):
                ctx.set(port, number)
            ctx.set(reciprocal.length, row[0])
            ctx.set(given.valid, 1)
            cycles = 0
            while not ctx.get(found.valid):
                taken = ctx.get(given.ready)
                await ctx.tick()
                if taken:
                    ctx.set(given.valid, 0)
                cycles += 1
                assert cycles <= LATENCY + ROOT_CYCLES + 1
            numbers_found = ctx.get(found.payload.slope), ctx.get(found.payload.offset)
            assert numbers_found == tuple(number % (1 << TOTAL_BITS) for number in numbers(*row)), row
            assert cycles == LATENCY + ROOT_CYCLES
            await ctx.tick()

    simulate(module, script)


def simulate(dut: Any, script: Any) -> None:
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


@pytest.mark.parametrize("count", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_reciprocals_of_totals_of_every_length(count: int) -> None:
    rng = random.Random(count)
    dut = Reciprocal()
    lengths = [bits for bits in range(TOTAL_BITS + 1) for _ in range(count)]
    totals = [rng.choice((rng.getrandbits(bits), (1 << bits) - 1, 1 << max(0, bits - 1))) for bits in lengths]

    async def script(ctx: Any) -> None:
        ctx.set(dut.softmax, 1)
        ctx.set(dut.o.ready, 1)
        for total in totals:
            ctx.set(dut.totals.payload, {"total": total, "most": total & 127})
            ctx.set(dut.totals.valid, 1)
            await ctx.tick().repeat(TOTAL_CYCLES)
            found = dut.o.payload
            assert (ctx.get(dut.o.valid), ctx.get(dut.totals.ready)) == (1, 1)
            assert (ctx.get(found.slope), ctx.get(found.most)) == (total, total & 127)
            divided = ctx.get(found.offset)
            assert divided >> 23 == (total == 0)
            if total:
                window = divided >> 21 & 3
                moved = total << WINDOW_STEP * window
                assert moved >= 1 << LEAST_TOTAL
                assert window == 0 or moved < 1 << LEAST_TOTAL + WINDOW_STEP
                assert divided & (1 << 21) - 1 == (1 << POWER) // (moved >> DIVISOR_DROPPED)
            await ctx.tick()

    simulate(dut, script)
