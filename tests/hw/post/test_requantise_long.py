"""The requantiser of one lane on sums of 36 bits, which inputs of 16 bits have."""

from __future__ import annotations

import random

import pytest

from hw.post.requantise import RequantiseLane
from isa.config import MachineConfig
from isa.requantisation import LONG_SUM_BITS
from tests.hw.post.post_reference import any_scale, requantise, requantise_long, wrap32
from tests.hw.post.test_requantise import DOUBLED, PLAIN, Case, beside_ties, exactly_half_a_unit_off, run_lane

MOST = (1 << LONG_SUM_BITS - 1) - 1


def assert_exact(cases: list[Case], config: MachineConfig = PLAIN) -> None:
    lane = RequantiseLane(config, LONG_SUM_BITS)
    for case, got in zip(cases, run_lane(cases, config=config, lane=lane), strict=True):
        assert got == requantise_long(*case), f"acc, bias, M, S = {case}: {got}, expected {requantise_long(*case)}"


@pytest.mark.parametrize("config", [PLAIN, DOUBLED], ids=["one DSP for each half", "one DSP"])
def test_any_record(config: MachineConfig) -> None:
    rng = random.Random(1)
    sums = [(rng.getrandbits(rng.randrange(36)) * rng.choice((1, -1)), wrap32(rng.getrandbits(32))) for _ in range(1500)]
    cases = [(*both, *any_scale(rng)) for both in sums]
    cases += [
        (acc, 0, mantissa, 4 * nibbles - doubled)
        for acc in (-MOST - 1, MOST, -1, 3) for mantissa in (0, 1, 1 << 25, (1 << 26) - 1)
        for nibbles in range(16) for doubled in (0, 1)
    ]  # fmt: skip
    assert_exact(cases, config)
    assert any(requantise(*case) != requantise_long(*case) for case in cases)


def test_sums_about_24_significant_bits() -> None:
    """Ties and their neighbours, of every length that loses bits, and those that one more nibble is dropped of."""
    cases = []
    for e in range(1, LONG_SUM_BITS - 24):
        for rest in (-1, 0, 1):
            for odd in (0, 1):
                magnitude = (1 << 23 + e) + (odd << e) + (1 << e - 1) + rest
                cases += [(sign * magnitude, 0, 1 << 23, shift) for sign in (1, -1) for shift in range(22, 48)]
    cases += [(sign * ((1 << n) + step), 0, 1 << 23, shift) for n in range(24, 35) for step in (-1, 0)
              for sign in (1, -1) for shift in range(26, 44)]  # fmt: skip
    assert_exact(cases)


def test_beside_ties_of_products() -> None:
    rng = random.Random(2)
    assert_exact([*beside_ties(rng, 1000), *beside_ties(rng, 1000, wide=True), *exactly_half_a_unit_off(rng, 700)])


def test_results_of_17_bits_and_beyond() -> None:
    values = [32767, 32768, 65534, 65535, 65536, 65537, 1 << 20, MOST]
    cases = [(sign * value, 0, 1, 0) for value in values for sign in (1, -1)]
    cases += [(sign * (2 * value + 1), 0, 1, 1) for value in values[:6] for sign in (1, -1)]
    assert_exact(cases)
