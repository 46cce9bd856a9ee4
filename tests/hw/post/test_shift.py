"""Lanes that only shift, in every bit, against the same arithmetic with a mantissa of 2^23 or 2^25."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from hw.post.postprocess import PostProcess
from hw.post.shift import ShiftLane
from isa.bounds import ConfigError
from isa.config import preset
from tests.hw.post.post_reference import any_scale, record, requantise, saturate16, wrap32
from tests.hw.post.test_postprocess import LANES, expected_byte, random_side, run
from tests.hw.post.test_requantise import INT_MAX, INT_MIN, Case, run_lane

SHIFTS = replace(preset("nano"), shared_finish=False, requant="shift")
ONE = 1 << 23


def made(cases: list[Case], *, bypass: bool = False) -> list[int]:
    return run_lane(cases, bypass=bypass, config=SHIFTS, lane=ShiftLane(SHIFTS))


def assert_exact(cases: list[tuple[int, int, int]]) -> None:
    """Records of ``2^23 / 2^S``."""
    got = made([(acc, bias, ONE, shift) for acc, bias, shift in cases])
    for case, is_, (acc, bias, shift) in zip(cases, got, cases, strict=True):
        assert is_ == requantise(acc, bias, ONE, shift), f"acc, bias, S = {case}"


def test_any_record() -> None:
    """Of the mantissa the highest bit counts."""
    rng = random.Random(3)
    cases = [(wrap32(rng.getrandbits(32)) >> rng.randrange(32), rng.randrange(-9, 9), *any_scale(rng)) for _ in range(2000)]
    for case, is_ in zip(cases, made(cases), strict=True):
        acc, bias, mantissa, shift = case
        assert is_ == requantise(acc, bias, 1 << 25 if mantissa >> 25 else 1 << 23, shift), f"acc, bias, M, S = {case}"


def test_anything() -> None:
    rng = random.Random(1)
    assert_exact([
        (wrap32(rng.getrandbits(32)) >> rng.randrange(32), wrap32(rng.getrandbits(32)) >> rng.randrange(32), rng.randrange(64))
        for _ in range(2000)
    ])


def test_ties_and_their_neighbours() -> None:
    """``h + 1/2`` and what lies just beside it, for every shift that leaves a fraction."""
    rng, cases = random.Random(2), []
    for shift in range(24, 55):
        half = 1 << (shift - 24)
        for _ in range(12):
            whole = rng.getrandbits(rng.randrange(16)) * 2 * half
            cases += [(sign * (whole + half + beside), 0, shift) for sign in (1, -1) for beside in (-1, 0, 1)]
    assert_exact([case for case in cases if abs(case[0]) <= INT_MAX])


def test_sums_of_more_than_24_bits_are_rounded_twice() -> None:
    """As float32 is: a sum just above a tie may first become the tie."""
    cases = [
        (sign * ((1 << 30) + (odd << 16) + (1 << 15) + rest), 0, 23 + 16)
        for odd in (0, 1) for rest in range(-70, 71) for sign in (1, -1)
    ]  # fmt: skip
    directly = [saturate16(round(acc / (1 << 16))) for acc, *_ in cases]
    assert directly != [requantise(acc, 0, ONE, shift) for acc, _, shift in cases], "no case needs the second rounding"
    assert_exact(cases)


@pytest.mark.parametrize("acc", [INT_MIN, INT_MIN + 1, INT_MAX, 0, 1, -1, 32767, 32768, -32768, -32769])
def test_every_shift_at_the_ends(acc: int) -> None:
    assert_exact([(acc, bias, shift) for bias in (0, 1, -1) for shift in range(64)])


def test_bypass_saturates_alone() -> None:
    values = [0, 5, -5, 127, -128, 32767, 32768, -32768, -32769, 1 << 24, INT_MAX, INT_MIN, -(1 << 24) - 1]
    assert made([(v, 77, 12345, 33) for v in values], bypass=True) == [saturate16(v) for v in values]


@pytest.mark.parametrize("pause", [0.0, 0.5])
def test_sums_to_bytes(pause: float) -> None:
    rng = random.Random(7)
    vectors, expected = [], []
    for _ in range(100):
        side = random_side(rng)
        sums = [rng.getrandbits(rng.randrange(32)) * rng.choice((1, -1)) for _ in range(LANES)]
        records = [(rng.randrange(-1000, 1000), ONE, 24 + rng.randrange(24)) for _ in range(LANES)]
        vectors.append({"acc": sums, "params": [record(*r) for r in records], "bypass": False, **side})
        results = [requantise(acc, *of_lane) for acc, of_lane in zip(sums, records, strict=True)]
        expected.append([expected_byte(r, side) for r in results])
    outputs, _ = run(PostProcess(SHIFTS, LANES, shifts=True), SHIFTS, vectors, 8, pause=pause)
    assert outputs == expected


def test_lanes_for_two_units_cannot_only_shift() -> None:
    with pytest.raises(ConfigError, match=r"field requant: 'shift' leaves .* make shared_finish false, or requant 'float32'"):
        replace(SHIFTS, shared_finish=True)


def test_another_word_is_refused() -> None:
    with pytest.raises(ConfigError, match="field requant: 'round' is not one of float32, shift"):
        replace(SHIFTS, requant="round")
