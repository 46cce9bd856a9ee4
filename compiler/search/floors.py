"""Lower bounds of the costs of sets of operations, however they are grouped."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import accumulate

import numpy as np

from compiler.fusion.legal import Mask, OpSets, bits_of
from compiler.planning.objective import Cost, Objective
from compiler.planning.operations import Group
from compiler.planning.residence import PARAMETER_BUFFERS
from isa.config import MachineConfig
from isa.instructions import Unit


class Floors:
    """The floors of the operations of one graph.

    Each unit must do its beats, and the bus must move what cannot stay on chip. The busiest of them bounds the cycles. The
    bytes are bounded by the parameters, once, and by the maps that pass through DRAM in every partition.
    """

    def __init__(self, config: MachineConfig, sets: OpSets, alone: Sequence[Group]) -> None:
        """Computes the floors. ``alone``: each operation as a group of its own."""
        self.config = config
        self._maps = [self._passing(sets, n, group) for n, group in enumerate(alone)]
        self.moved = [own + maps for own, maps in zip(map(self._parameters, alone), self._maps, strict=True)]
        self.beats: dict[Unit, list[int]] = {}
        for number, group in enumerate(alone):
            (layer,) = group.layers
            beats = self.beats.setdefault(layer.unit, [0] * len(alone))
            beats[number] = self._beats(group)
        self._ends = [_suffix_sums(values) for values in (*self.beats.values(), self.moved)]

    def _beats(self, group: Group) -> int:
        """The fewest beats of the operation for all images. Another group may cut a long row into rows that lack no pixel."""
        (layer,) = group.layers
        made = group.tensors[layer.output]
        beats, pixels = layer.beats * made.batch, made.height * made.width
        if not group.lacking:
            return beats
        return beats * (pixels - group.lacking) // (-(-pixels // self.config.px_p) * self.config.px_p)

    def in_words(self, word: int, parameters: Sequence[int]) -> Floors:
        """The floors of a machine with words of ``word`` bytes. ``parameters``: the bytes of each operation's parameters."""
        other = copy(self)
        other.moved = [own + word * maps for own, maps in zip(parameters, self._maps, strict=True)]
        other._ends = [*self._ends[:-1], _suffix_sums(other.moved)]
        return other

    def _parameters(self, group: Group) -> int:
        (layer,) = group.layers
        depth = {b: self.config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
        return sum(block.bytes(self.config) for block in layer.blocks(depth))

    def _passing(self, sets: OpSets, number: int, group: Group) -> int:
        """The bytes of maps that this operation must read from DRAM or write there. A map counts at its first reader."""
        (layer,) = group.layers
        graph, op = sets.graph, sets.ops[number]
        moved = 0
        for index, name in enumerate(op.streamed):
            readers = [user for user in graph.consumers(name) if user in sets.number]
            passes = name not in sets.index and name not in sets.joined
            if passes and readers[0] is op and name not in op.inputs[:index]:
                tensor = group.tensors[name]
                rows = int(layer.input_end(index, np.array([group.tensors[op.output].height]))[0])
                moved += min(rows * tensor.row_bytes * tensor.batch, graph.tensors[name].bytes)
        if sets.stored[number]:
            moved += graph.tensors[op.output].bytes
        return moved

    def of(self, mask: Mask, objective: Objective) -> int:
        """The least cost of these operations."""
        members = list(bits_of(mask))
        totals = [sum(values[n] for n in members) for values in (*self.beats.values(), self.moved)]
        return self._value(totals, objective)

    def rest(self, first: int, but: Mask, objective: Objective) -> int:
        """The least cost of the operations from ``first`` on, without those in ``but``."""
        totals = [ends[first] for ends in self._ends]
        if but:
            for n in bits_of(but):
                for index, values in enumerate((*self.beats.values(), self.moved)):
                    totals[index] -= values[n]
        return self._value(totals, objective)

    def _value(self, totals: Sequence[int], objective: Objective) -> int:
        # A group's bytes are rounded down to whole beats, so each group loses less than one beat.
        bus = max(0, totals[-1] // self.config.axi_bytes - len(self.moved))
        return objective(Cost(max([*totals[:-1], bus]), totals[-1]))


def _suffix_sums(values: Sequence[int]) -> list[int]:
    return [*accumulate(reversed(values), initial=0)][::-1]
