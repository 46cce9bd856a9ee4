"""From int32 sums to int8 activations, bit for bit as ``docs/machine.md`` defines it.

The definition is float32 arithmetic on purpose: M < 2^24 and S < 64, so ``M / 2^S`` is a normal float32,
and the product of two normal float32 stays between 2^-63 and 2^55: no step can leave the normal range,
where float32 rounds to 24 significant bits, ties to even.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import numpy.typing as npt

from isa.instructions import Activation
from isa.requantisation import MANTISSA_BITS, ONE, SHIFT_BITS
from sim.functional.state import Bytes, Int8, Int32

Float32 = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.floating]

INT16 = (-32768, 32767)


def unpack_records(raw: Bytes, *, shifts: bool = False) -> tuple[Int32, Float32]:
    """Bias and scale of each 8-byte record; the last axis holds ``lanes * 8`` bytes. ``shifts``: M is 2^23 in all of them."""
    records = np.ascontiguousarray(raw).view("<u8")
    bias = (records & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
    mantissa = np.full_like(records, ONE) if shifts else records >> 32 & ((1 << MANTISSA_BITS) - 1)
    shift = records >> (32 + MANTISSA_BITS) & ((1 << SHIFT_BITS) - 1)
    return bias, np.ldexp(mantissa.astype(np.float32), -shift.astype(np.int32))


def requantise(acc: Int32, bias: Int32, scale: Float32) -> Float32:
    """Steps 1 to 5: whole numbers within int16."""
    r = (acc + bias).astype(np.float32)
    r *= scale
    np.rint(r, out=r)
    return np.clip(r, *INT16, out=r)


def finish(r: FloatArray, f: SimpleNamespace, tables: Int8, alpha: int = 0) -> Int8:
    """Steps 6 to 8; ``r`` holds whole numbers within int16 and is overwritten."""
    if f.act == Activation.LEAKY:
        r = np.where(r < 0, np.rint(r * np.float64(alpha / 65536)), r)
    r += f.zp
    np.maximum(r, f.lo, out=r)
    np.minimum(r, f.hi, out=r)
    y: Int8 = r.astype(np.int8)
    return tables[f.table][y.view(np.uint8)] if f.act == Activation.TABLE else y
