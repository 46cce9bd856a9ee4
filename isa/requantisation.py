"""A requantisation record: 64 bits with a bias and a scale (docs/reference/semantics.md), for one channel or for arrays.

========  =========================================================
bits      field
========  =========================================================
0 to 31   bias, with a sign
32 to 57  mantissa M of the scale ``2^doubled * M / 16^nibbles``
58 to 61  nibbles
62        doubled
63        ignored
========  =========================================================

That is what lanes multiply with and shift by. Compilers think in ``M / 2^S`` with the 24 bits of a float32's significand in M;
the part of S that is no multiple of 4 goes into the two factors of the product.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

SCALE_BITS = 24
MOST_SHIFT = 63
"""The greatest ``S`` of a scale ``M / 2^S``."""
ONE_SHIFT = SCALE_BITS - 1
ONE = 1 << ONE_SHIFT
"""``ONE / 2^ONE_SHIFT`` is 1."""

BIAS_BITS = 32
SUM_BITS = 32
LONG_SUM_BITS = 36
"""The bits of a sum of products of weights and 16 bits, for weights that amount to 2^20 at most, whatever the inputs."""
MANTISSA_BITS = 26
NIBBLES_BITS = 4
_BIAS_MASK = (1 << BIAS_BITS) - 1
_SIGN = 1 << (BIAS_BITS - 1)
_NIBBLES_AT = BIAS_BITS + MANTISSA_BITS
_DOUBLED_AT = _NIBBLES_AT + NIBBLES_BITS
_LAST_SHIFT = 60
"""The greatest ``S`` for which ``2^31 M / 2^S`` can reach one half."""

Whole = TypeVar("Whole", int, NDArray[np.int64])


def packed(bias: Whole, mantissa: Whole, shift: Whole) -> Whole:
    """Records of ``M / 2^S``, with any M below 2^24 and S up to 63, or with what ``unpacked`` gives.

    If no sum can reach one half, M is 0 and the nibbles have their greatest value.
    """
    seen = shift <= _LAST_SHIFT
    factor, nibbles = mantissa << (-shift & 2), (shift + 3) >> 2
    return (
        (bias & _BIAS_MASK)
        | (factor * seen) << BIAS_BITS
        | (nibbles - (nibbles >> NIBBLES_BITS)) << _NIBBLES_AT
        | (shift & 1) << _DOUBLED_AT
    )


def unpacked(record: Whole) -> tuple[Whole, Whole, Whole]:
    """The bias, and M and S of a scale ``M / 2^S``: M of 26 bits, S from -1 to 60."""
    bias = ((record & _BIAS_MASK) ^ _SIGN) - _SIGN
    mantissa = record >> BIAS_BITS & ((1 << MANTISSA_BITS) - 1)
    nibbles, doubled = record >> _NIBBLES_AT & ((1 << NIBBLES_BITS) - 1), record >> _DOUBLED_AT & 1
    return bias, mantissa, 4 * nibbles - doubled


def shifted_only(mantissa: Whole) -> Whole:
    """The mantissa that lanes without a multiplier use in place of a mantissa. Its highest bit selects one of two."""
    return ONE << (mantissa >> (MANTISSA_BITS - 2) & 2)
