"""Finishes put together: what two clamps and tables in a row amount to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from compiler.xgraph.ops import Conv, ConvTranspose, Eltwise, EltwiseKind, Finish, Op, Pool
from compiler.xgraph.reference import execute_op

Int8 = NDArray[np.int8]
VALUES = np.arange(256, dtype=np.uint8).view(np.int8)
Finishing = Conv | ConvTranspose | Pool | Eltwise


def function_of(op: Eltwise) -> Int8:
    """What a PASS makes of each of the 256 values, indexed by the value as uint8."""
    assert op.kind is EltwiseKind.PASS
    return execute_op(op, [VALUES.reshape(1, 1, 1, 256)], (1, 1, 1, 256)).reshape(-1)


def is_pass(op: Op | None) -> bool:
    return isinstance(op, Eltwise) and op.kind is EltwiseKind.PASS


def followed_by(finish: Finish, table: Int8) -> Finish:
    """The finish, then the function, in the simplest form."""
    if finish.table is not None:
        return replace(finish, table=table[finish.table.view(np.uint8)])
    inside = np.arange(finish.lo, finish.hi + 1)
    result = table[inside.astype(np.int8).view(np.uint8)].astype(np.int64)
    lo, hi = int(result.min()), int(result.max())
    if (result == np.clip(inside, lo, hi)).all():
        return replace(finish, lo=int(np.clip(finish.lo, lo, hi)), hi=int(np.clip(finish.hi, lo, hi)))
    return replace(finish, table=table)
