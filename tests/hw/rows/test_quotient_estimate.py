"""Softmax's estimate of a quotient, for every divisor and every numerator: what it rounds to is the estimate, or one more.

All totals that have the same reciprocal, and all numerators that have the same estimate with it, are intervals: the ends tell
what holds within.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hw.rows.quotient import DIVISOR_BITS, DIVISOR_DROPPED, HELD_BITS, HELD_DROPPED, LEAST_TOTAL, POINT, POWER
from isa.rows import MOST_QUOTIENT, T_SHIFT

Ints = NDArray[np.int64]
LEAST_DIVISOR, MOST_DIVISOR = 1 << LEAST_TOTAL - DIVISOR_DROPPED, (1 << DIVISOR_BITS) - 1
ESTIMATES = np.arange(MOST_QUOTIENT + 2, dtype=np.int64)
"""Those that are not clamped, and the first that is."""
CHUNK = 4096


def reciprocals() -> Ints:
    """All that there are: of small divisors each has its own, of great ones each number is that of some divisor."""
    edge = 1 << (POWER + 1) // 2
    small = (1 << POWER) // np.arange(LEAST_DIVISOR, edge, dtype=np.int64)
    return np.union1d(small, np.arange((1 << POWER) // MOST_DIVISOR, (1 << POWER) // edge + 1, dtype=np.int64))


def wrong(of: Ints, dropped: int) -> int:
    """Pairs of a reciprocal and an estimate with a quotient that rounds to something else; ``dropped``: bits that
    the estimate does not see of a numerator."""
    count, point = 0, POINT + HELD_DROPPED - dropped
    for first in range(0, len(of), CHUNK):
        reciprocal = of[first : first + CHUNK, None]
        least = np.maximum(LEAST_DIVISOR, (1 << POWER) // (reciprocal + 1) + 1)
        most = np.minimum(MOST_DIVISOR, (1 << POWER) // reciprocal)
        held = -(-(ESTIMATES << point) // reciprocal)
        following = -(-(ESTIMATES + 1 << point) // reciprocal)
        there = held < np.minimum(following, 1 << HELD_BITS + HELD_DROPPED - dropped)
        # Twice the quotient, times the total, against twice an estimate less a half and twice one and a half more.
        smallest, greatest = held << dropped + T_SHIFT + 1, (following << dropped) - 1 << T_SHIFT + 1
        low = smallest > (2 * ESTIMATES - 1) * ((most + 1 << DIVISOR_DROPPED) - 1)
        high = greatest < (2 * ESTIMATES + 3) * (least << DIVISOR_DROPPED)
        count += int((there & ~(low & (high | (ESTIMATES > MOST_QUOTIENT)))).sum())
    return count


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 61])
def test_an_estimate_is_what_it_rounds_to_or_one_less(every: int) -> None:
    assert wrong(reciprocals()[::every], HELD_DROPPED) == 0


def test_fewer_bits_of_a_numerator_are_too_few() -> None:
    assert wrong(reciprocals()[::61], HELD_DROPPED + 9) > 0


def test_all_divisors_have_one_of_the_reciprocals() -> None:
    known = reciprocals()
    assert len(known) == len({*known.tolist()})
    drawn = np.random.default_rng(1).integers(LEAST_DIVISOR, MOST_DIVISOR + 1, 100_000)
    assert np.isin((1 << POWER) // drawn, known).all()
    assert np.isin((1 << POWER) // np.array([LEAST_DIVISOR, MOST_DIVISOR]), known).all()
