"""Words of the feature-map buffer that many groups need at least, told without planning them.

A group that goes over its rows in steps runs its layers one after the other in each of them, and from the layer that makes a
map, or the first that reads what is loaded, to the last that reads it, the rows that the step adds are in use; at all times
those that a later step reads again (``presence.py`` has the same for one group). What is in use at the worst moment is needed
wherever it lies, for neither maps that share words nor layers that run behind each other need less.

Parts of a map that is put together on chip lie in one ring, which is in use as a whole from the first part on. A layer computes
in the words of what it is the last to read if it is element-wise, or if it can slide: its parameters come in one block then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler.layers.layer import Layer
from compiler.layers.lower import lower
from compiler.planning.operations import Group
from compiler.planning.residence import PARAMETER_BUFFERS
from compiler.search.cost import Evaluator
from compiler.xgraph.ops import Eltwise

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Members = NDArray[np.bool_]
"""Of each group, a row, and each operation: whether the group holds it."""
NEVER = np.iinfo(np.int64).max
"""A row that is not reached."""
Ends = Mapping[int, Counts]
"""Of operations: rows of the result by the end of each step, in each group."""


@dataclass(frozen=True)
class Reader:
    """An operation that reads a map as one of its inputs."""

    number: int
    index: int
    words: int
    """Of a row, where the map is loaded for it alone."""
    sampled: bool
    """Whether only some of the rows are loaded, if it alone reads them."""


@dataclass(frozen=True)
class Ring:
    """A ring of many groups, in use from its first moment to its last, which is -1 where there is none.

    The moments of layer ``n`` are ``2 n``, when it begins, and ``2 n + 1``, when it ends.
    """

    readers: Sequence[Reader]
    makers: Sequence[int]
    words: Reals
    """Of a row."""
    first: Counts
    last: Counts
    slides: Flags
    """Whether its last reader frees its rows one by one."""

    def those(self, chosen: Counts) -> Ring:
        first, last = self.first[chosen], self.last[chosen]
        return Ring(self.readers, self.makers, self.words[chosen], first, last, self.slides[chosen])


class Words:
    """Of groups of one graph that run over all channels and columns at once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.config, self.sets = evaluator.config, evaluator.sets
        sets = self.sets
        alone = [evaluator.group(1 << n) for n in range(len(sets.ops))]
        self.heights = np.array([sets.graph.tensors[op.output].height for op in sets.ops], np.int64)
        self.layers = [lower(self.config, op, sets.graph.tensors) for op in sets.ops]
        """On whole maps."""
        made = zip(sets.ops, alone, strict=True)
        self._row = [group.vectors(self.config, op.output) * group.width(op.output) for op, group in made]
        self._readers: dict[str, list[Reader]] = {}
        for n, (op, group) in enumerate(zip(sets.ops, alone, strict=True)):
            for index, name in enumerate(op.inputs):
                reader = Reader(n, index, self._row_of(group, name), name in group.sampled)
                self._readers.setdefault(name, []).append(reader)
        self._joined = {name: [sets.index[part] for part in parts] for name, parts in sets.joined.items()}
        self._slides = {part: [_slides(evaluator, group.layers[0], part) for group in alone] for part in (1, 3)}
        users = np.array([[users >> n & 1 for n in range(len(sets.ops))] for users in sets.users], np.float64)
        self._users = users.reshape(len(sets.ops), len(sets.ops))

    def _row_of(self, group: Group, name: str) -> int:
        """Folded for one reader, a map may take more words than as it is."""
        tensor, unit = group.tensors[name], self.config.ic_p * self.config.words_per_chunk
        plain = -(-tensor.channels // unit) * self.config.words_per_chunk * tensor.width
        return min(plain, group.vectors(self.config, name) * group.width(name))

    def outputs(self, members: Members) -> Members:
        """What each group leaves in DRAM."""
        inside: Members = members.astype(np.float64) @ self._users.T < self._users.sum(axis=1)
        found: Members = members & (inside | np.array(self.sets.stored, bool))
        return found

    def rings(self, members: Members, in_one_step: bool) -> list[Ring]:
        """Of maps by themselves, and of those that are put together on chip. In one step, parameters come in thirds."""
        together, outputs = self._together(members), self.outputs(members)
        part = 3 if in_one_step else 1
        slides = np.array(self._slides[part], bool)
        found = []
        for name in dict.fromkeys([*self._readers, *self.sets.index]):
            readers, maker = self._readers.get(name, []), self.sets.index.get(name)
            where = np.ones(len(members), bool)
            if name in self._joined:
                where = ~together[name]
                found.append(self._put_together(members & together[name][:, None], name))
            for joined, parts in self._joined.items():
                if maker in parts:
                    where &= ~together[joined]
            some = members & where[:, None]
            words = np.zeros(len(members))
            first, last = self._reading(some, readers)
            for each in readers:
                words[some[:, each.number]] = np.maximum(words[some[:, each.number]], each.words)
            if maker is not None:
                made = some[:, maker]
                words[made] = self._row[maker]
                apart = self._apart(members, outputs, together, maker, part)
                first[made] = 2 * maker + 1 - apart[made]
                last[made] = np.maximum(last[made], 2 * maker + 1)
            makers = [] if maker is None else [maker]
            found.append(Ring(readers, makers, words, first, last, slides[last // 2] & (last % 2 == 0)))
        return found

    def _together(self, members: Members) -> dict[str, Flags]:
        """In which groups a joined map is put together: they make a part, and read the whole."""
        found = {}
        for name, parts in self._joined.items():
            reads = np.any(members[:, [each.number for each in self._readers[name]]], axis=1)
            found[name] = np.logical_and(np.any(members[:, parts], axis=1), reads)
        return found

    def _reading(self, members: Members, readers: Sequence[Reader]) -> tuple[Counts, Counts]:
        first, last = np.full(len(members), 2 * len(self.layers)), np.full(len(members), -1)
        for each in readers:
            has = members[:, each.number]
            first[has], last[has] = np.minimum(first[has], 2 * each.number), np.maximum(last[has], 2 * each.number)
        return first, last

    def _put_together(self, members: Members, name: str) -> Ring:
        parts = self._joined[name]
        readers = [*self._readers[name]]
        for part in parts:
            readers += self._readers.get(self.sets.ops[part].output, [])
        first, last = self._reading(members, readers)
        last[last >= 0] += 1
        for part in parts:
            first[members[:, part]] = np.minimum(first[members[:, part]], 2 * part)
        words = np.full(len(members), float(sum(self._row[part] for part in parts)))
        return Ring(readers, parts, words, first, last, np.zeros(len(members), bool))

    def _apart(self, members: Members, outputs: Members, together: Mapping[str, Flags], maker: int, part: int) -> Flags:
        """In which groups what a layer makes cannot lie in the place of what it reads."""
        op = self.sets.ops[maker]
        apart = np.full(len(members), not self._slides[part][maker])
        for name in op.inputs if isinstance(op, Eltwise) else ():
            free = ~together[name] if name in together else np.ones(len(members), bool)
            for each in self._readers[name]:
                if each.number != maker:
                    free &= ~members[:, each.number]
            if name in self.sets.index:
                free &= ~outputs[:, self.sets.index[name]]
            apart &= ~free
        return apart

    def in_use(self, members: Members, rings: Sequence[Ring], ends: Ends, steps: int) -> Reals:
        """At the worst moment of each group."""
        change = np.zeros((len(members), steps, 2 * len(self.layers) + 2))
        each_step = np.arange(steps)
        for ring in rings:
            used = np.flatnonzero(ring.last >= 0)
            if len(used):
                before, during, ending, after = self._rows(members[used], used, ring, ends, steps)
                words, first, last = ring.words[used, None], ring.first[used, None], ring.last[used, None]
                change[used, :, 0] += before * words
                change[used[:, None], each_step, first] += (during - before) * words
                change[used[:, None], each_step, last] += (ending - during) * words
                change[used[:, None], each_step, last + 1] += (after - ending) * words
        found: Reals = np.cumsum(change, axis=2).max(axis=(1, 2))
        return found

    def _rows(
        self, members: Members, used: Counts, ring: Ring, ends: Ends, steps: int
    ) -> tuple[Counts, Counts, Counts, Counts]:  # fmt: skip
        """In use before the first moment of each step, from then on to the last, at the last, and after it."""
        made = np.zeros((len(used), steps), np.int64)
        kept, at_last = np.full((2, len(used), steps), NEVER)
        readers = members[:, [each.number for each in ring.readers]].sum(axis=1)
        inside = np.zeros(len(used), bool)
        for maker in ring.makers:
            has = members[:, maker]
            inside |= has
            if has.any():
                made[has] = np.maximum(made[has], ends[maker][used[has]])
        for each in ring.readers:
            has = members[:, each.number]
            if has.any():
                end, layer = ends[each.number][used[has]], self.layers[each.number]
                needed, begin = layer.input_end(each.index, end), layer.input_begin(each.index, _before(end))
                if each.sampled:
                    # Of what is loaded for it alone. Beside others, which read the whole map: no fewer than it makes.
                    loaded, alone = ~inside[has, None], readers[has, None] == 1
                    needed = np.where(loaded, end, needed)
                    begin = np.where(loaded, np.where(alone, _before(end), NEVER), begin)
                made[has], kept[has] = np.maximum(made[has], needed), np.minimum(kept[has], begin)
                still = (ring.last[used[has], None] == 2 * each.number) & (_before(end) < end)
                at_last[has] = np.where(still, np.minimum(at_last[has], begin), at_last[has])
        ahead = _before(made)
        begin = np.minimum(kept, ahead)
        later = np.minimum(made, np.concatenate([kept[:, 1:], made[:, -1:]], axis=1))
        ending = np.where(ring.slides[used, None], np.minimum(at_last, later), begin)
        return ahead - begin, made - begin, made - ending, made - later


def _before(ends: Counts) -> Counts:
    return np.concatenate([np.zeros((len(ends), 1), np.int64), ends[:, :-1]], axis=1)


def _slides(evaluator: Evaluator, layer: Layer, part: int) -> bool:
    """Whether the parameters may come in one block of this part of the buffers, or of all if they have none so small."""
    if layer.window is None:
        return False
    depth = {b: evaluator.config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
    blocks = layer.blocks({b: max(1, words // part) for b, words in depth.items()}) or layer.blocks(depth)
    return len(blocks) == 1 and blocks[0].divisible
