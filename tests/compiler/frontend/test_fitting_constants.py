"""Whether constants of MISC are right in all cases, and the search for some, beside the machine's arithmetic case by case."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.frontend.importer.fitting import _tightest, fitted, right
from compiler.frontend.importer.kernels import CODES
from compiler.frontend.importer.requantise import FACTOR_BITS, MOST_ELTWISE_SHIFT

Int64 = NDArray[np.int64]
X, Y = (codes.reshape(-1) for codes in np.broadcast_arrays(CODES[:, None], CODES))


def rounded(total: int, shift: int) -> int:
    """To 24 significant bits, then to a whole number; ties to even both times."""
    return round(Fraction(float(np.float32(total / 2.0**shift))))


def given(x: Int64, y: Int64, m: tuple[int, int], c: int, shift: int, lo: int, hi: int) -> Int64:
    return np.array(
        [min(max(rounded(int(a) * m[0] + int(b) * m[1] + c, shift), lo), hi) for a, b in zip(x, y, strict=True)], np.int64
    )


@pytest.mark.parametrize("shift", [0, 1, 2, 5, 12, 20, 24, 30, 37])
def test_constants_are_right_if_they_give_every_case(shift: int) -> None:
    """Constants on both sides of where a single case changes its result."""
    rng = random.Random(shift)
    verdicts = set()
    for _ in range(12):
        x, y = (np.array([rng.randint(-128, 127) for _ in range(40)], np.int64) for _ in range(2))
        most = max(1, int(1.2 * 2**shift))
        m = rng.randint(-most, most), rng.randint(-most, most)
        lo, hi = sorted((rng.randint(-128, 127), rng.randint(-128, 127)))
        c = rng.randint(-40 * most, 40 * most)
        target = given(x, y, m, c, shift, lo, hi)
        # The least changes of the constant that take a case to a tie, and those next to them.
        sums = [int(a) * m[0] + int(b) * m[1] + c for a, b in zip(x, y, strict=True)]
        half = 1 << shift >> 1
        steps = [half - total % (1 << shift) for total in rng.sample(sums, 6)]
        for change in {0, *(step + near for step in steps for near in (-1, 0, 1))}:
            wanted = np.array_equal(given(x, y, m, c + change, shift, lo, hi), target)
            assert right(x, y, m, c + change, shift, target, lo, hi) == wanted
            verdicts.add(wanted)
    assert verdicts == {True, False}


def test_a_sum_that_24_bits_do_not_tell_from_a_tie_is_one() -> None:
    """127.5 and less than a 17th bit of its fraction."""
    shift, one = 37, np.array([1], np.int64)
    tie = 255 << 36
    unseen = 1 << (37 - 24 + 6)
    for total, result in ((tie, 128), (tie - unseen, 128), (tie - unseen - 1, 127), (tie + 1, 128), (tie - (255 << 20), 127)):
        assert rounded(total, shift) == result
        for target in (127, 128):
            assert right(one, one, (0, 0), total, shift, np.array([target]), -1000, 1000) == (target == result)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_found_is_counted_right_and_within_its_fields(seed: int) -> None:
    """Ratios of all sizes: factors have 25 bits and a sign, and what the shift says."""
    rng = random.Random(seed)
    size = 2.0 ** rng.uniform(-14, 16)
    ratios = rng.choice([-1, 1]) * size, rng.choice([0.0, size * rng.uniform(-1, 1)])
    exact = np.rint(X * ratios[0] + Y * ratios[1] + rng.uniform(-60, 60))
    target = np.clip(exact, -128, 127).astype(np.int64)
    found = fitted(X, Y, ratios, target, -128, 127)
    assert 0 <= found.shift <= MOST_ELTWISE_SHIFT
    assert all(abs(factor) < 1 << FACTOR_BITS for factor in found.factors)
    assert abs(found.c) < 1 << 47
    total = X * found.factors[0] + Y * found.factors[1] + found.c
    made = np.clip(np.rint((total / 2.0**found.shift).astype(np.float32)), -128, 127)
    assert found.wrong == int((made != target).sum()) <= 8
    assert right(X, Y, found.factors, found.c, found.shift, target, -128, 127) == (found.wrong == 0)


@pytest.mark.parametrize("power", range(4))
def test_factors_near_their_greatest_take_the_shift_that_leaves_room(power: int) -> None:
    """A shift more would need a 26th bit of magnitude; one less would be given away."""
    ratio = (2 - 2.0**-20) * 2.0**power
    target = np.clip(np.rint(X * ratio + 0.25), -128, 127).astype(np.int64)
    found = fitted(X, Y, (ratio, 0.0), target, -128, 127)
    assert found.wrong == 0
    assert abs(found.factors[0]) < 1 << FACTOR_BITS
    assert found.factors[1] == 0
    assert found.shift == FACTOR_BITS - 2 - power


def test_constants_stay_the_nearest_where_an_interval_is_left_for_the_addend() -> None:
    target = np.clip(np.rint(X * 0.5 + Y * 0.25 + 0.125), -128, 127).astype(np.int64)
    found = fitted(X, Y, (0.5, 0.25), target, -128, 127)
    assert found.wrong == 0
    assert found.factors == (1 << found.shift - 1, 1 << found.shift - 2)


@pytest.mark.parametrize("extreme", [np.maximum, np.minimum])
@pytest.mark.parametrize("many", [1, 9, 300])
def test_the_tightest_bound_is_that_of_all_cases_for_each_change(extreme: np.ufunc, many: int) -> None:
    rng = np.random.default_rng(many)
    bound = rng.integers(-(1 << 40), 1 << 40, many)
    x, y = rng.integers(-12, 12, (2, many))
    d_x, d_y = np.arange(-5, 6), np.arange(-3, 4)
    naive = [[extreme.reduce(bound - x * a - y * b) for b in d_y] for a in d_x]
    assert np.array_equal(_tightest(extreme, bound, x, y, d_x, d_y), naive)
