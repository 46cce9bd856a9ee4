"""Combines two finishes in a row, each a clamp or a table, into one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from compiler.xgraph.functions import Int8
from compiler.xgraph.ops import Conv, ConvTranspose, Eltwise, Finish, Pool
from compiler.xgraph.products import Product

Finishing = Conv | ConvTranspose | Pool | Eltwise | Product


def followed_by(finish: Finish, table: Int8) -> Finish:
    """The finish that does ``finish`` and then the function ``table``, in the simplest form."""
    if finish.table is not None:
        return replace(finish, table=table[finish.table.view(np.uint8)])
    inside = np.arange(finish.lo, finish.hi + 1)
    result = table[inside.astype(np.int8).view(np.uint8)].astype(np.int64)
    lo, hi = int(result.min()), int(result.max())
    if (result == np.clip(inside, lo, hi)).all():
        return replace(finish, lo=int(np.clip(finish.lo, lo, hi)), hi=int(np.clip(finish.hi, lo, hi)))
    return replace(finish, table=table)
