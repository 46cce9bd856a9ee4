"""Requantises int32 sums to int8 activations, bit for bit as ``docs/reference/semantics.md`` defines it.

The definition is float32 arithmetic on purpose. Scales lie between 2^-60 and 2^27, and products with sums below 2^58. So no
step can leave the normal range, where float32 rounds to 24 significant bits, ties to even. A scale of 25 or 26 significant bits
is a float64, and so is its exact product with a float32, which is then rounded to float32.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

from isa.instructions import Activation
from isa.requantisation import LONG_SUM_BITS, shifted_only, unpacked
from sim.functional.state import Bytes, Int8, Int32, Sums

Float32 = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.floating]

INT16 = (-32768, 32767)
INT17 = (-65536, 65535)


def unpack_records(raw: Bytes, *, shifts: bool = False) -> tuple[Int32, FloatArray]:
    """The bias and scale of each 8-byte record; the last axis holds ``lanes * 8`` bytes. ``shifts``: the lanes can only
    shift."""
    bias, mantissa, shift = unpacked(np.ascontiguousarray(raw).view("<i8"))
    if shifts:
        mantissa = shifted_only(mantissa)
    factor: FloatArray = mantissa.astype(np.float32)
    if (factor != mantissa).any():
        factor = mantissa.astype(np.float64)
    return bias.astype(np.int32), np.ldexp(factor, -shift.astype(np.int32))


def wrapped(sums: Sums) -> Sums:
    """The sums as accumulators hold them. Sums of 32 bits wrap by themselves; int64 stands for ``LONG_SUM_BITS``."""
    if sums.dtype != np.int64:
        return sums
    half = 1 << (LONG_SUM_BITS - 1)
    return (sums + half) % (2 * half) - half


def requantise(acc: Sums, bias: Int32, scale: FloatArray) -> Float32:
    """Steps 1 to 5. Returns whole numbers within int16, or within 17 bits for long sums."""
    r: Float32 = wrapped(acc + bias).astype(np.float32)
    # The product is made in the precision of the scale and rounded to float32.
    r *= scale
    np.rint(r, out=r)
    return np.clip(r, *(INT17 if acc.dtype == np.int64 else INT16), out=r)


def finish(r: FloatArray, f: SimpleNamespace, tables: Int8) -> Int8:
    """Steps 6 and 7. ``r`` holds whole numbers within int16 and is overwritten."""
    r += f.zp
    np.maximum(r, f.lo, out=r)
    np.minimum(r, f.hi, out=r)
    y: Int8 = r.astype(np.int8)
    return tables[f.table][y.view(np.uint8)] if f.act == Activation.TABLE else y


def finish16(r: FloatArray, f: SimpleNamespace) -> Int8:
    """Step 6 with numbers of 16 bits. Returns the low bytes less 128, and the high bytes; ``r`` is overwritten."""
    r += _joined(f.zp, f.zp_high)
    np.maximum(r, _joined(f.lo, f.lo_high), out=r)
    np.minimum(r, _joined(f.hi, f.hi_high), out=r)
    y = r.astype(np.int16)
    return np.stack([(y ^ 0x80).astype(np.int8), (y >> 8).astype(np.int8)])


def _joined(low: int, high: int) -> int:
    """The int16 whose bytes these are."""
    return (low % 256 + 256 * high + 32768) % 65536 - 32768
