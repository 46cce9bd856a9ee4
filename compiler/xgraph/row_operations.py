"""Softmax and normalisation over all channels of each pixel, in the integers of ``isa/rows.py``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from compiler.xgraph.ops import Channels, Finish, Int8, Op
from isa.checks import MAX_ROW
from isa.rows import (
    B_BITS,
    B_SHIFT,
    D_BITS,
    D_FRACTION,
    E_BITS,
    F_STEP,
    G_BITS,
    K_BITS,
    MOST_F,
    MOST_QUOTIENT,
    P_SHIFT,
    Q_POINT,
    SHIFTS,
    T_BITS,
    T_SHIFT,
    U_SHIFT,
)

if TYPE_CHECKING:
    from compiler.xgraph.verify import Checks

Int64 = NDArray[np.int64]
Shape = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class _OfRows(Op):
    """An operation on rows; the channels of one pixel are a row."""

    @property
    def reads_channels(self) -> Channels:
        return Channels.WHOLE


@dataclass(frozen=True, eq=False)
class Softmax(_OfRows):
    """A softmax. ``e`` and ``t`` are the exponentials of differences -255 to 0, as denominators and as numerators."""

    e: Int64
    t: Int64
    finish: Finish


@dataclass(frozen=True, eq=False)
class Normalisation(_OfRows):
    """A normalisation. ``g`` and ``b`` are factor and offset of each channel, ``k`` stands for the epsilon.

    With ``rms``, the mean is not taken off.
    """

    g: Int64
    b: Int64
    shift: int
    k: int
    rms: bool
    a_zp: int
    finish: Finish


def softmax(op: Softmax, inputs: list[Int8], shape: Shape) -> Int8:
    x = inputs[0].astype(np.int64)
    index = x - x.max(axis=3, keepdims=True) + 255
    quotient = _nearest(op.t[index] << T_SHIFT, op.e[index].sum(axis=3, keepdims=True))
    return _finished(np.minimum(quotient, MOST_QUOTIENT), op.finish)


def normalisation(op: Normalisation, inputs: list[Int8], shape: Shape) -> Int8:
    x = inputs[0].astype(np.int64) - op.a_zp
    slopes = np.apply_along_axis(_slope_and_offset, 3, x, op)
    u = x * slopes[..., :1] - slopes[..., 1:] >> U_SHIFT
    return _finished(_nearest(u * op.g + (op.b << B_SHIFT), 1 << MOST_F - F_STEP * op.shift), op.finish)


def _slope_and_offset(row: Int64, op: Normalisation) -> Int64:
    """The numbers ``P`` and ``M`` of a row: slope and offset."""
    n, total = len(row), 0 if op.rms else int(row.sum())
    d = (n * int((row * row).sum()) - total**2 << D_FRACTION) + op.k
    fours = (D_BITS - d.bit_length()) // 2
    q = (1 << Q_POINT) // math.isqrt(d << 2 * fours)
    down = max(P_SHIFT - fours, 0)
    return np.array([n * q >> down, total * q >> down])


def _nearest(dividend: Int64, divisor: Int64 | int) -> Int64:
    """The nearest integer to a quotient; ties go to the even one."""
    quotient, rest = np.divmod(dividend, divisor)
    found: Int64 = quotient + (2 * rest + quotient % 2 > divisor)
    return found


def _finished(y: Int64, finish: Finish) -> Int8:
    return np.clip(y + finish.zero_point, finish.lo, finish.hi).astype(np.int8)


def check_softmax(checks: Checks, op: Softmax) -> None:
    _check(checks, op.finish)
    for what, values, bits in (("e", op.e, E_BITS), ("t", op.t, T_BITS)):
        checks.array(what, values, np.int64, (256,))
        checks.within(f"least of {what}", int(values.min()), 0, (1 << bits) - 1)
        checks.within(f"greatest of {what}", int(values.max()), 0, (1 << bits) - 1)
    checks.within("last of e", int(op.e[-1]), 1, (1 << E_BITS) - 1)


def check_normalisation(checks: Checks, op: Normalisation) -> None:
    _check(checks, op.finish)
    for what, values, bits in (("g", op.g, G_BITS), ("b", op.b, B_BITS)):
        checks.array(what, values, np.int64, (checks.target.channels,))
        checks.within(f"least of {what}", int(values.min()), -(1 << bits - 1), (1 << bits - 1) - 1)
        checks.within(f"greatest of {what}", int(values.max()), -(1 << bits - 1), (1 << bits - 1) - 1)
    checks.within("shift", op.shift, 0, SHIFTS - 1)
    checks.within("k", op.k, 1, (1 << K_BITS) - 1)
    checks.within("a_zp", op.a_zp, -128, 127)


def _check(checks: Checks, finish: Finish) -> None:
    checks.shape(checks.sources[0].shape)
    checks.within("channels", checks.target.channels, 1, MAX_ROW)
    checks.finish(finish)
    checks.equal("table", finish.table, None)
