"""Optimus' look-up table: how many operations a group may have for so much memory (section 6, Algorithm 3).

    memo[n] = least over groups of n operations of  sum over its maps of t_c R(l, O_h / 4) R(l, O_w / 4)

``t_c`` comes from Algorithm 2. With less memory no group of ``n`` operations runs in sixteen tiles, and with more tiles its
parameters would be loaded too often. The table does not depend on the size of the memory: it is made once for a network, off
line, and only looked up on line. For that it grows with ``n``: a larger group never needs less than the table has for a smaller
one.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path

from compiler.fusion.grow import grow
from compiler.fusion.legal import Mask, OpSets
from compiler.papers.accelerator import Accelerator
from compiler.papers.optimus.memory_cost import MapFootprint
from compiler.papers.tiles import COLUMNS, ROWS, Tiles
from isa.files import write_atomically

PARTS = 4
"""The parts into which the rows, and the columns, of the output are divided."""


def make_table(
    sets: OpSets, machine: Accelerator, most_ops: int, most_of_a_size: int, key: Callable[[Mask], object]
) -> list[int]:
    """The bytes for 1, 2, ... operations; groups with one ``key`` are measured once."""
    known: dict[object, int] = {}
    least: dict[int, int] = {}
    for mask in grow(sets, sets.joins, most_ops, most_of_a_size, lambda mask: 0).groups:
        if mask.bit_count() > 1 and not sets.keeps_readers_together(mask):
            continue
        shape = key(mask)
        if shape not in known:
            tiles = Tiles(sets, mask)
            rows, columns = (-(-tiles.most(axis) // PARTS) for axis in (ROWS, COLUMNS))
            known[shape] = MapFootprint(machine, tiles).bytes(rows, columns)
        size = mask.bit_count()
        least[size] = min(least.get(size, known[shape]), known[shape])
    largest = max(least, default=0)
    # Where no group of a size keeps its readers together, the next larger size decides.
    return [*accumulate((least.get(size, least[largest]) for size in range(largest, 0, -1)), min)][::-1]


def most_operations(table: Sequence[int], room: int) -> int:
    """The most operations of a group for so much room, by the table."""
    return max(1, bisect_right(table, room))


class TableFile:
    """Tables by network and machine in a file that is kept between runs; a damaged file counts as empty."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, key: str) -> list[int] | None:
        found = self._read().get(key)
        return found if isinstance(found, list) and all(isinstance(words, int) for words in found) else None

    def put(self, key: str, table: Sequence[int]) -> None:
        """Stores a table; raises an ``OSError`` if that is not possible."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, json.dumps(self._read() | {key: [*table]}).encode())

    def _read(self) -> dict[str, object]:
        try:
            found = json.loads(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


def table_key(machine: Accelerator, digest: str) -> str:
    """A digest of all that a table depends on; the sizes of the buffers are not part of it."""
    return hashlib.sha256(repr((machine.channels, machine.word, digest)).encode()).hexdigest()[:24]
