"""Finds the part of each map of a group that a tile of its outputs needs: Optimus' ``R(l, t)``, DNNVM's ``F^-1`` and ``G^-1``.

    t(l - 1) = t(l) S(l) + K(l) - S(l)

The formula goes from the last output backwards (Optimus section 2.3), and never to more than the map has. If several operations
read a map, the greatest part counts. Rows and columns have the same formula.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from compiler.fusion.legal import Mask, OpSets
from compiler.xgraph.ops import Op

ROWS, COLUMNS = 0, 1
"""The axes, as in windows and strides."""


@dataclass(frozen=True, eq=False)
class Tiles:
    """The tiles of one group."""

    sets: OpSets
    mask: Mask

    @cached_property
    def ops(self) -> list[Op]:
        return self.sets.members(self.mask)

    @cached_property
    def made(self) -> tuple[str, ...]:
        return tuple(op.output for op in self.ops)

    @cached_property
    def reads(self) -> list[tuple[Op, str]]:
        """The operations with the maps that they read. A joined map that is put together on chip counts as its parts."""
        made = set(self.made)
        found = []
        for op in self.ops:
            for name in op.streamed:
                parts = self.sets.joined.get(name, ())
                found += [(op, part) for part in (parts if not made.isdisjoint(parts) else (name,))]
        return found

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for _, name in self.reads if name not in set(self.made)))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The results that other groups or the caller read."""
        sets = self.sets
        numbers = [sets.index[name] for name in self.made]
        return tuple(
            name for name, n in zip(self.made, numbers, strict=True) if sets.stored[n] or sets.users[n] & ~self.mask
        )  # fmt: skip

    @cached_property
    def maps(self) -> tuple[str, ...]:
        """All maps in topological order: those that are read, then those that are made."""
        return (*self.inputs, *self.made)

    @cached_property
    def readers(self) -> dict[str, list[str]]:
        """The maps that are made of each map."""
        found: dict[str, list[str]] = {name: [] for name in self.maps}
        for op, name in self.reads:
            if op.output not in found[name]:
                found[name].append(op.output)
        return found

    def size(self, name: str, axis: int) -> int:
        return self.sets.graph.tensors[name].shape[1 + axis]

    def most(self, axis: int) -> int:
        """The rows of the tallest output, or the columns of the widest."""
        return max(self.size(name, axis) for name in self.outputs)

    def needed(self, tile: int, axis: int) -> dict[str, int]:
        """The rows (columns) of each map under ``tile`` of those of the greatest output; other outputs have an equal share."""
        count = -(-self.most(axis) // tile)
        found = dict.fromkeys(self.maps, 0)
        for name in self.outputs:
            size = self.size(name, axis)
            found[name] = min(tile, size) if size == self.most(axis) else -(-size // count)
        sources: dict[Op, list[str]] = {}
        for op, name in self.reads:
            sources.setdefault(op, []).append(name)
        for op in reversed(self.ops):
            for name in sources[op]:
                needed = min(self.size(name, axis), op.under(axis, max(1, found[op.output])))
                found[name] = max(found[name], needed)
        return found

    @cached_property
    def map_bytes(self) -> int:
        """The bytes that pass between DRAM and chip: inputs, and results that others need, once each."""
        tensors = self.sets.graph.tensors
        return sum(tensors[name].bytes for name in (*self.inputs, *self.outputs))
