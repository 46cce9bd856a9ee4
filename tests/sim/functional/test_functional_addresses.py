"""Word sets of loop nests, against enumeration."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.functional.addresses import MODULUS, Nest, constant, grid, outside, signed24, steps, words_of

LIMIT = 100

# Offsets near 0, near the limit and near 2^24, so that sums land on both sides of every boundary.
OFFSETS = st.one_of(st.integers(0, 40), st.integers(-50, 0), st.integers(MODULUS - 50, MODULUS - 1), st.integers(0, 1 << 34))
NESTS = st.lists(st.lists(OFFSETS, min_size=0, max_size=4).map(lambda v: np.array(v, dtype=np.int64)), min_size=1, max_size=4)


@given(NESTS)
def test_outside_and_words_of_any_nest(nest: Nest) -> None:
    words = grid(*nest, modulus=MODULUS)
    assert outside(nest, LIMIT) == bool((words >= LIMIT).any())
    if not outside(nest, LIMIT):
        np.testing.assert_array_equal(words_of(nest, LIMIT), np.unique(words))


def test_sums_that_wrap_back_into_the_buffer_are_inside() -> None:
    nest = [constant(MODULUS - 5), steps(3, MODULUS // 2), steps(2, 1)]
    assert outside(nest, LIMIT)
    assert not outside([constant(MODULUS - 5), steps(4, MODULUS), steps(3, 1) + 5], LIMIT)


def test_a_nest_without_words_is_inside() -> None:
    assert not outside([constant(MODULUS - 1), steps(0, 1)], LIMIT)
    assert words_of([constant(7), steps(0, 1)], LIMIT).size == 0


def test_huge_nests_are_decided_without_enumeration() -> None:
    """4096^3 sums: far too many to list."""
    assert outside([steps(4096, 1 << 19), steps(4096, 1 << 18), steps(4096, 3)], LIMIT)
    assert not outside([steps(4096, 0), steps(4096, 0), steps(4096, 0)], LIMIT)


def test_signed24() -> None:
    np.testing.assert_array_equal(
        signed24(np.array([0, 5, (1 << 24) - 1, (1 << 24) + 2, 1 << 23])), [0, 5, -1, 2, -(1 << 23)]
    )
