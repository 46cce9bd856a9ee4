"""Records of scales, bit for bit and value for value."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from isa.requantisation import ONE, ONE_SHIFT, packed, shifted_only, unpacked


def fields(record: int) -> tuple[int, int, int]:
    """Mantissa, nibbles, doubled, as docs/reference/semantics.md has them."""
    return record >> 32 & 0x3FFFFFF, record >> 58 & 15, record >> 62


def test_scales_of_24_bits() -> None:
    """The same value where a sum can be seen, else nothing that half of the least one reaches."""
    for mantissa in (0, 1, 3, ONE, ONE + 1, (1 << 24) - 1):
        for shift in range(64):
            m, nibbles, doubled = fields(packed(-5, mantissa, shift))
            value = Fraction(m << doubled, 16**nibbles)
            if shift <= 60:
                assert value == Fraction(mantissa, 1 << shift)
            else:
                assert (m, nibbles) == (0, 15)
                assert Fraction(mantissa << 31, 1 << shift) < Fraction(1, 2)
                # Of lanes that only shift.
                assert Fraction(shifted_only(m) << 31 + doubled, 16**nibbles) < Fraction(1, 2)


def test_powers_of_two_have_one_of_two_mantissas() -> None:
    """So that lanes that only shift know them by their highest bit."""
    for shift in range(61):
        mantissa = fields(packed(0, ONE, shift))[0]
        assert mantissa in (ONE, 4 * ONE)
        assert shifted_only(mantissa) == mantissa
    assert packed(0, ONE, ONE_SHIFT) == ONE << 32 | 6 << 58 | 1 << 62


def test_every_record_says_something() -> None:
    rng = random.Random(0)
    for _ in range(1000):
        record = rng.getrandbits(63)
        bias, mantissa, shift = unpacked(record)
        m, nibbles, doubled = fields(record)
        assert (mantissa, shift) == (m, 4 * nibbles - doubled)
        assert bias % (1 << 32) == record % (1 << 32)
        assert -(1 << 31) <= bias < 1 << 31
        assert packed(bias, mantissa, shift) == record
        assert unpacked(record | 1 << 63) == (bias, mantissa, shift)


def test_arrays_as_single_records() -> None:
    rng = np.random.default_rng(1)
    bias, mantissa, shift = rng.integers(-(1 << 31), 1 << 31, 500), rng.integers(0, 1 << 24, 500), rng.integers(0, 64, 500)
    records = packed(bias, mantissa, shift)
    assert records.tolist() == [packed(*one) for one in zip(bias.tolist(), mantissa.tolist(), shift.tolist(), strict=True)]
    both = [unpacked(record) for record in records.tolist()]
    assert list(zip(*(part.tolist() for part in unpacked(records)), strict=True)) == both
    assert shifted_only(mantissa << 2).tolist() == [shifted_only(m << 2) for m in mantissa.tolist()]
