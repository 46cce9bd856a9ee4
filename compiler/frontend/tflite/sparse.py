"""Writes sparse constants of TFLite with their zeros.

The format stores a tensor dimension by dimension in an order of its own. A dimension may be cut into blocks: then there are
``n`` outer dimensions, and one more for each that has blocks. A dimension is dense, or it lists its places for every place of
the dimensions before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Int64 = NDArray[np.int64]
DENSE = 0


def dense(lite: Any, sparsity: Any, values: Array, shape: tuple[int, ...]) -> Array:
    """The dense constant. ``sparsity`` is the format's own object; ``values`` are all stored values."""
    order = sparsity.TraversalOrderAsNumpy().tolist()
    blocked = sparsity.BlockMapAsNumpy().tolist() if sparsity.BlockMapLength() else []
    rank = len(shape)
    where: dict[int, Int64] = {}
    before = np.zeros(1, np.int64)
    sizes: dict[int, int] = {}
    for level, dimension in enumerate(order):
        told = sparsity.DimMetadata(level)
        if told.Format() == DENSE:
            size = told.DenseSize()
            parents = np.repeat(np.arange(len(before)), size)
            own, before = np.tile(np.arange(size), len(before)), np.arange(len(before) * size)
            sizes[dimension] = size
        else:
            segments, indices = _vector(lite, told, "ArraySegments"), _vector(lite, told, "ArrayIndices")
            parents = np.repeat(np.arange(len(before)), np.diff(segments))
            own, before = indices, np.arange(len(indices))
        where = {known: places[parents] for known, places in where.items()} | {dimension: own}
    for number, dimension in enumerate(blocked):
        where[dimension] = where[dimension] * sizes[rank + number] + where[rank + number]
    out = np.zeros(shape, values.dtype)
    out[tuple(where[axis] for axis in range(rank))] = values
    return out


def _vector(lite: Any, told: Any, name: str) -> Int64:
    """A vector of whole numbers of 8, 16 or 32 bits."""
    kinds = {lite.SparseIndexVector.Int32Vector: "<i4", lite.SparseIndexVector.Uint16Vector: "<u2"}
    kind = np.dtype(kinds.get(getattr(told, f"{name}Type")(), "u1"))
    table = getattr(told, name)()
    at = table.Pos + _field(table)
    start = at + int.from_bytes(table.Bytes[at : at + 4], "little")
    count = int.from_bytes(table.Bytes[start : start + 4], "little")
    return np.frombuffer(table.Bytes, kind, count, start + 4).astype(np.int64)


def _field(table: Any) -> int:
    """The offset of the only field of a table from its beginning; the package has no class for 16 bits."""
    vtable = table.Pos - int.from_bytes(table.Bytes[table.Pos : table.Pos + 4], "little", signed=True)
    return int.from_bytes(table.Bytes[vtable + 4 : vtable + 6], "little")
