"""Steps 1 to 8 of docs/reference/semantics.md in whole numbers and fractions, as slowly as they read."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from isa.instructions import Activation
from isa.requantisation import packed


def wrap32(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def saturate16(value: int) -> int:
    return max(-(1 << 15), min((1 << 15) - 1, value))


def to_24_bits(value: int) -> int:
    """To 24 significant bits, ties to even."""
    drop = max(0, abs(value).bit_length() - 24)
    return round(Fraction(value, 1 << drop)) << drop


def requantise_long(acc: int, bias: int, mantissa: int, shift: int) -> int:
    """Of a sum of 36 bits, to 17 bits."""
    wrapped = (acc + bias + (1 << 35)) % (1 << 36) - (1 << 35)
    q = to_24_bits(to_24_bits(wrapped) * mantissa)
    return max(-(1 << 16), min((1 << 16) - 1, round(q / Fraction(2) ** shift)))


def requantise(acc: int, bias: int, mantissa: int, shift: int) -> int:
    """With the scale ``mantissa / 2^shift``."""
    a = to_24_bits(wrap32(acc + bias))
    q = to_24_bits(a * mantissa)
    return saturate16(round(q / Fraction(2) ** shift))


def finish(r: int, zp: int, lo: int, hi: int, act: int, table: Sequence[int]) -> int:
    y = min(max(r + zp, lo), hi)
    return table[y & 0xFF] if act == Activation.TABLE else y


def any_scale(rng: random.Random) -> tuple[int, int]:
    """Mantissa and shift of a record that may be any: 26 bits, four times the nibbles, one less if doubled."""
    return rng.getrandbits(26) >> rng.choice((0, 0, 0, 1, 2, 7, 26)), 4 * rng.randrange(16) - rng.randrange(2)


def record(bias: int, mantissa: int, shift: int) -> int:
    """The 64-bit record of a parameter word."""
    return packed(bias, mantissa, shift)
