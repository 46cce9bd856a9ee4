"""The least cost of one group, however it is executed: its parameters and maps once, and the beats of its units."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from compiler.fusion.legal import Mask, bits_of
from compiler.layers.lower import is_depthwise
from compiler.planning.objective import Cost, Objective
from compiler.search.cost import Evaluator
from compiler.xgraph.ops import Conv, ConvTranspose


class Least:
    """Tells the least costs of groups of one graph."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.sets = evaluator, evaluator.sets
        self._known: dict[Mask, Cost] = {}

    def of(self, mask: Mask, objective: Objective) -> int:
        if mask not in self._known:
            moved = sum(self._parameters[n] for n in bits_of(mask)) + self._maps(mask)
            beats = max(sum(values[n] for n in bits_of(mask)) for values in self.evaluator.floors.beats.values())
            self._known[mask] = Cost(max(beats, moved // self.evaluator.config.axi_bytes), moved)
        return objective(self._known[mask])

    def may_fit(self, mask: Mask) -> bool:
        """Whether the group may fit: the buffer holds, for each operation by itself, a row of its result and the operand rows.

        Other maps may share words with these. Only a group in which a dense layer reads what the group makes is tested: passes
        over channels do not make that smaller, nor do more operations. All other groups may fit.
        """
        if mask & self._narrow or not any(self._makers[n] & mask for n in bits_of(mask)):
            return True
        return max(self._words[n] for n in bits_of(mask)) <= self.evaluator.config.fm_words

    @cached_property
    def _narrow(self) -> Mask:
        """The operations that alone fit only in column tiles. A group with one of them may be tiled in columns."""
        return self.evaluator.narrow

    @cached_property
    def _makers(self) -> list[Mask]:
        """For each operation: the operations whose maps it reads, if it is a dense layer; else none."""
        sets = self.sets
        found = []
        for op in sets.ops:
            dense = isinstance(op, Conv | ConvTranspose) and not is_depthwise(op)
            names = [part for name in op.inputs for part in sets.joined.get(name, (name,))] if dense else []
            found.append(sum(1 << sets.index[name] for name in {*names} if name in sets.index))
        return found

    @cached_property
    def _words(self) -> list[int]:
        """For each operation: the words of a row of its result and of the operand rows that this row needs.

        A result that may lie in an operand's place does not count.
        """
        config = self.evaluator.config
        found = []
        for n, op in enumerate(self.sets.ops):
            group = self.evaluator.group(1 << n)
            (layer,) = group.layers
            ends = np.arange(1, group.tensors[op.output].height + 1)
            operands: dict[str, int] = {}
            for index, name in enumerate(op.streamed):
                if name not in self.sets.joined:
                    window = int((layer.input_end(index, ends) - layer.input_begin(index, ends - 1)).max())
                    rows = max(1, min(window, group.tensors[name].height))
                    words = rows * group.vectors(config, name) * group.width(name)
                    operands[name] = max(words, operands.get(name, 0))
            result = 0 if op.in_place else group.vectors(config, op.output) * group.width(op.output)
            found.append(result + sum(operands.values()))
        return found

    def _maps(self, mask: Mask) -> int:
        """The bytes of maps that the group reads from DRAM, and of its results that others need.

        Of a map with several readers, the one that needs most of it counts.
        """
        sets = self.sets
        read: dict[str, int] = {}
        moved = 0
        for n in bits_of(mask):
            for name, size, parts in self._reads[n]:
                if any(mask >> sets.index[part] & 1 for part in parts):
                    for part in parts:
                        if not mask >> sets.index[part] & 1:
                            share = sets.graph.tensors[part].channels / sets.graph.tensors[name].channels
                            read[part] = max(read.get(part, 0), int(size * share))
                elif name not in sets.index or not mask >> sets.index[name] & 1:
                    read[name] = max(read.get(name, 0), size)
            if sets.stored[n] or sets.users[n] & ~mask:
                moved += sets.graph.tensors[sets.ops[n].output].bytes
        return moved + sum(read.values())

    @cached_property
    def _parameters(self) -> list[int]:
        config = self.evaluator.config
        return [sum(block.bytes(config) for block in blocks) for blocks in self.evaluator.parameter_blocks]

    @cached_property
    def _reads(self) -> list[list[tuple[str, int, tuple[str, ...]]]]:
        """For each operation: the maps that it reads, the bytes of them that it needs, and the parts of joined maps."""
        found = []
        for n, op in enumerate(self.sets.ops):
            group = self.evaluator.group(1 << n)
            (layer,) = group.layers
            height = np.array([group.tensors[op.output].height])
            own = []
            for index, name in enumerate(op.streamed):
                tensor = group.tensors[name]
                rows = min(tensor.height, int(layer.input_end(index, height)[0]))
                size = rows * tensor.width * self.sets.graph.tensors[name].pixel_bytes * tensor.batch
                own.append((name, min(size, self.sets.graph.tensors[name].bytes), tuple(self.sets.joined.get(name, ()))))
            found.append(own)
        return found
