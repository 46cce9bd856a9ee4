"""Lower bounds: what sets of operations cost at least, however they are grouped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from compiler.codegen.operations import Group
from compiler.codegen.plan import PARAMETER_BUFFERS
from compiler.fusion.legal import Mask, OpSets, bits_of
from isa.config import MachineConfig
from isa.instructions import Unit


@dataclass(frozen=True)
class Cost:
    """Of one group, for the whole batch."""

    cycles: int
    dram_bytes: int


Objective = Callable[[Cost], int]


@dataclass(frozen=True)
class Share:
    """What one operation adds at least."""

    beats: tuple[int, ...]
    """Per unit."""
    moved: int
    """Bytes: parameters, and maps that pass through DRAM in every partition."""


class Floors:
    """Each unit must do its beats and the bus must move what cannot stay: the busiest of them bounds the time."""

    def __init__(self, config: MachineConfig, sets: OpSets, alone: Sequence[Group]) -> None:
        """``alone``: each operation as a group of its own."""
        self.config = config
        self.shares = [self._share(sets, n, group) for n, group in enumerate(alone)]
        zero = Share((0,) * len(Unit), 0)
        self._suffix = [zero]
        for share in reversed(self.shares):
            self._suffix.append(_sum(self._suffix[-1], share, 1))
        self._suffix.reverse()

    def _share(self, sets: OpSets, number: int, group: Group) -> Share:
        (layer,) = group.layers
        graph, op = sets.graph, sets.ops[number]
        batch = graph.tensors[op.output].batch
        depth = {b: self.config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
        moved = sum(block.bytes(self.config) for block in layer.blocks(depth))
        for name in dict.fromkeys(op.inputs):
            readers = [user for user in graph.consumers(name) if user in sets.number]
            if name not in sets.index and readers[0] is op:
                moved += graph.tensors[name].bytes
        if sets.kept[number]:
            moved += graph.tensors[op.output].bytes
        return Share(tuple(layer.beats * batch if unit is layer.unit else 0 for unit in Unit), moved)

    def of(self, mask: Mask, objective: Objective) -> int:
        total = Share((0,) * len(Unit), 0)
        for n in bits_of(mask):
            total = _sum(total, self.shares[n], 1)
        return self._value(total, objective)

    def rest(self, first: int, but: Mask, objective: Objective) -> int:
        """Of the operations from ``first`` on, without some."""
        total = self._suffix[first]
        for n in bits_of(but):
            total = _sum(total, self.shares[n], -1)
        return self._value(total, objective)

    def _value(self, total: Share, objective: Objective) -> int:
        # A group's bytes are rounded down to whole beats: less than one beat for each of them.
        bus = max(0, total.moved // self.config.axi_bytes - len(self.shares))
        return objective(Cost(max(*total.beats, bus), total.moved))


def _sum(a: Share, b: Share, sign: int) -> Share:
    return Share(tuple(x + sign * y for x, y in zip(a.beats, b.beats, strict=True)), a.moved + sign * b.moved)
