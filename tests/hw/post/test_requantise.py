"""The requantiser of one lane in every bit: near ties, at the ends of every field, and against float32."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth import Elaboratable, Module

from hw.arithmetic.doubled import halves_of_a_cycle
from hw.post.lane import FinishingLane
from hw.post.requantise import RequantiseLane
from isa.config import MachineConfig, preset
from tests.hw.clocks import add_clocks
from tests.hw.post.post_reference import any_scale, record, requantise, saturate16, wrap32
from tests.hw.simulation import Simulator

PLAIN = preset("nano")
DOUBLED = replace(PLAIN, dsp_packing=True, array_clock=2)
INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
Case = tuple[int, int, int, int]
"""acc, bias, M and S of a scale ``M / 2^S``: M of 24 bits, or what a record can say (``any_scale``)."""


class InHalves(Elaboratable):
    """A lane that is told the halves of its cycles, if it wants to know."""

    def __init__(self, lane: FinishingLane) -> None:
        self.lane = lane

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.lane = self.lane
        if hasattr(self.lane, "second_half"):
            m.d.comb += self.lane.second_half.eq(halves_of_a_cycle(m).second)
        return m


def run_lane(
    cases: Iterable[Case], *, bypass: bool = False, config: MachineConfig = PLAIN, lane: FinishingLane | None = None
) -> list[int]:
    """What the lane makes of each case, one fed in every cycle; that of the configuration unless another one is given."""
    lane = lane or RequantiseLane(config)
    fed = list(cases)
    results: list[int] = []

    async def bench(ctx):  # type: ignore[no-untyped-def]
        ctx.set(lane.advance, (1 << lane.latency) - 1)
        ctx.set(lane.bypass, bypass)
        for cycle in range(len(fed) + lane.latency):
            if cycle < len(fed):
                acc, bias, mantissa, shift = fed[cycle]
                ctx.set(lane.acc, acc)
                ctx.set(lane.param.as_value(), record(bias, mantissa, shift))
            if cycle >= lane.latency:
                results.append(ctx.get(lane.r))
            await ctx.tick()

    sim = Simulator(InHalves(lane))
    add_clocks(sim, config)
    sim.add_testbench(bench)
    sim.run()
    return results


def assert_exact(cases: list[Case], config: MachineConfig = PLAIN) -> None:
    expected = [requantise(*case) for case in cases]
    for case, got, want in zip(cases, run_lane(cases, config=config), expected, strict=True):
        assert got == want, f"acc, bias, M, S = {case}: {got}, expected {want}"


def beside_ties(rng: random.Random, count: int, *, wide: bool = False) -> list[Case]:
    """Accumulators whose product with M comes as near to a half-integer as it can; ``wide``: M has 26 bits."""
    cases: list[Case] = []
    while len(cases) < count:
        mantissa = rng.randrange(1 << 23, 1 << 24) >> rng.choice((0, 0, 0, 1, 7, 15))
        whole = rng.getrandbits(rng.randrange(17))
        shift = rng.randrange(64)
        if wide:
            mantissa, shift = rng.randrange(1 << 25, 1 << 26), 4 * rng.randrange(16) - rng.randrange(2)
            if shift < 0:
                continue
        acc = ((2 * whole + 1 << shift) // 2 + rng.choice((0, mantissa // 2))) // mantissa + rng.randrange(-1, 2)
        if abs(acc) <= INT_MAX:
            cases.append((rng.choice((1, -1)) * acc, 0, mantissa, shift))
    return cases


def exactly_half_a_unit_off(rng: random.Random, count: int) -> list[Case]:
    """Products ``h + 1/2 +- n 2^-c``, ``c`` about the 24th significant bit, factored into accumulator and M."""
    cases: list[Case] = []
    while len(cases) < count:
        whole = rng.getrandbits(rng.randrange(16))
        c = 25 - whole.bit_length() + rng.randrange(-1, 3)
        numerator = (2 * whole + 1 << (c - 1)) + rng.choice((-1, 1)) * rng.randrange(3)
        for factor in (f for f in range(3, 4000, 2) if numerator % f == 0):
            if (numerator // factor).bit_length() <= 24:
                cases.append((rng.choice((1, -1)) * factor, 0, numerator // factor, c))
    return cases


def test_anything() -> None:
    rng = random.Random(1)
    cases = []
    for _ in range(1500):
        acc = rng.getrandbits(rng.randrange(32)) * rng.choice((1, -1))
        bias = wrap32(rng.getrandbits(rng.randrange(33)))
        cases.append((acc, bias, rng.getrandbits(rng.randrange(25)), rng.randrange(64)))
    assert_exact(cases)


@pytest.mark.parametrize("config", [PLAIN, DOUBLED], ids=["one DSP for each half", "one DSP"])
def test_any_record(config: MachineConfig) -> None:
    rng = random.Random(6)
    sums = [(wrap32(rng.getrandbits(32)) >> rng.randrange(32), wrap32(rng.getrandbits(32))) for _ in range(800)]
    cases = [(*both, *any_scale(rng)) for both in sums]
    cases += [
        (acc, 0, mantissa, 4 * nibbles - doubled)
        for acc in (INT_MIN, INT_MAX, -1, 3) for mantissa in (1, 1 << 25, (1 << 26) - 1)
        for nibbles in range(16) for doubled in (0, 1)
    ]  # fmt: skip
    assert_exact(cases, config)


def test_beside_ties() -> None:
    cases = beside_ties(random.Random(2), 2000)
    direct = [saturate16(round_once(*case)) for case in cases]
    assert any(once != requantise(*case) for once, case in zip(direct, cases, strict=True)), "no case needs the second rounding"
    assert_exact(cases)


def test_beside_ties_of_26_bits() -> None:
    cases = beside_ties(random.Random(7), 2000, wide=True)
    direct = [saturate16(round_once(*case)) for case in cases]
    assert any(once != requantise(*case) for once, case in zip(direct, cases, strict=True)), "no case needs the second rounding"
    assert_exact(cases)


def test_the_product_at_twice_the_clock() -> None:
    rng = random.Random(5)
    anything = [(wrap32(rng.getrandbits(32)), 0, rng.getrandbits(24), rng.randrange(20, 56)) for _ in range(500)]
    assert_exact(anything + beside_ties(rng, 500), DOUBLED)


def round_once(acc: int, bias: int, mantissa: int, shift: int) -> int:
    doubled = abs(acc) * mantissa
    half = (1 << shift) >> 1
    floor, rest = divmod(doubled, 1 << shift)
    magnitude = floor + (rest > half or (rest == half != 0 and floor & 1))
    return magnitude if acc >= 0 else -magnitude


def test_half_a_unit_from_a_tie() -> None:
    assert_exact(exactly_half_a_unit_off(random.Random(3), 1500))


def test_accumulators_of_more_than_24_bits() -> None:
    cases = []
    for e in range(1, 9):
        for rest in (-1, 0, 1):
            for odd in (0, 1):
                magnitude = (1 << 23 + e) + (odd << e) + (1 << e - 1) + rest
                cases += [(sign * magnitude, 0, 1 << 23, 30 + s) for sign in (1, -1) if magnitude <= INT_MAX for s in range(16)]
    assert_exact(cases)


@pytest.mark.parametrize("acc", [INT_MIN, INT_MIN + 1, INT_MAX, 0, 1, -1])
def test_every_shift_at_the_ends(acc: int) -> None:
    assert_exact([(acc, 0, mantissa, shift) for mantissa in (0, 1, 1 << 23, (1 << 24) - 1) for shift in range(64)])


def test_sum_with_bias_wraps() -> None:
    assert_exact([(INT_MAX, 1, 1 << 23, 40), (INT_MIN, -1, 1 << 23, 40), (INT_MIN, INT_MIN, 5, 0), (100, -100, 1 << 23, 3)])


def test_saturation_on_both_sides() -> None:
    values = [32766, 32767, 32768, 32769, 65535, 65536, 1 << 20, INT_MAX]
    cases = [(sign * v, 0, 2, 1) for v in values for sign in (1, -1)]
    cases += [(sign * (2 * v + 1), 0, 1, 1) for v in values[:5] for sign in (1, -1)]
    assert_exact(cases)


def test_bypass_saturates_alone() -> None:
    values = [0, 5, -5, 127, -128, 32767, 32768, -32768, -32769, 1 << 24, INT_MAX, INT_MIN, -(1 << 24) - 1]
    assert run_lane([(v, 77, 12345, 33) for v in values], bypass=True) == [saturate16(v) for v in values]


def test_equals_float32_arithmetic() -> None:
    """What onnxruntime computes for the scale M / 2^S."""
    rng = random.Random(4)
    cases = [
        (wrap32(rng.getrandbits(32)) >> rng.randrange(28), 0, rng.randrange(1 << 23, 1 << 24), rng.randrange(20, 60))
        for _ in range(800)
    ]
    cases += [case for case in beside_ties(rng, 3000) if case[2] >= 1 << 23]
    for case, got in zip(cases, run_lane(cases), strict=True):
        acc, _, mantissa, shift = case
        product = np.float32(acc) * np.float32(mantissa / 2.0**shift)
        assert got == saturate16(int(np.rint(product))), case
