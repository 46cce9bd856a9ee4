"""The bytes that a group moves between DRAM and chip by Optimus' equations 3 and 4.

    inputs + outputs + tiles * parameters,      tiles = ceil(O_h / t_h)

The tile is the tallest one of rows over the full width whose maps fit in the buffer: of some maps all channels, of the others
as many as the array works on together (``isoa``). If all parameters of a group fit on chip, they stay there and count once;
else none stays.

The paper leaves two cases open. Images of a batch count as further tiles, with as many whole images in a tile as the buffer
holds. Of several outputs with different heights, each has its share of a tile.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from compiler.papers.accelerator import Accelerator
from compiler.papers.optimus.isoa import in_advance
from compiler.papers.tiles import COLUMNS, ROWS, Tiles


@dataclass(frozen=True, eq=False)
class MapFootprint:
    """The room that the maps of a group take on chip."""

    machine: Accelerator
    tiles: Tiles
    advance: bool = True
    """Whether operators are invoked in advance."""

    def channels(self, name: str) -> int:
        """The channels of a map that are on chip at a time."""
        every = self.tiles.sets.graph.tensors[name].channels
        return min(self.machine.channels, every) if name in self.in_advance else every

    @cached_property
    def in_advance(self) -> frozenset[str]:
        """The maps of which some channels are enough, decided for tiles of one pixel."""
        if not self.advance:
            return frozenset()
        tensors = self.tiles.sets.graph.tensors
        rows, columns = self.tiles.needed(1, ROWS), self.tiles.needed(1, COLUMNS)
        pixels = {name: rows[name] * columns[name] for name in self.tiles.maps}
        whole = {name: size * tensors[name].channels for name, size in pixels.items()}
        part = {name: size * min(self.machine.channels, tensors[name].channels) for name, size in pixels.items()}
        return in_advance(self.tiles.maps, self.tiles.readers, whole, part)

    def bytes(self, rows: int, columns: int) -> int:
        """The bytes of tiles of so many rows and columns of the greatest output: the left side of equation 4."""
        high, wide = self.tiles.needed(rows, ROWS), self.tiles.needed(columns, COLUMNS)
        return self.machine.word * sum(self.channels(name) * high[name] * wide[name] for name in self.tiles.maps)


def memory_cost(machine: Accelerator, tiles: Tiles, parameters: int, advance: bool = True) -> int | None:
    """The bytes that a group moves; None if no tile is small enough. ``parameters`` are bytes of all operations."""
    height, width = tiles.most(ROWS), tiles.most(COLUMNS)
    footprint = MapFootprint(machine, tiles, advance)
    least = min(machine.rows, height)
    moved = machine.word * tiles.map_bytes
    smallest = footprint.bytes(least, width)
    if machine.holds(smallest, parameters):
        return moved + parameters
    if smallest > machine.maps:
        return None
    candidates = range(least, height + 1)
    tallest = candidates[bisect_right(candidates, machine.maps, key=lambda rows: footprint.bytes(rows, width)) - 1]
    batch = tiles.sets.graph.tensors[tiles.outputs[0]].batch
    count = -(-height // tallest) * batch
    if tallest == height:
        count = -(-batch // max(1, machine.maps // max(1, footprint.bytes(height, width))))
    return moved + count * parameters
