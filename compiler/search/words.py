"""Words of the feature-map buffer that many groups need at least, told without planning them.

A group that walks over its rows in ``s`` steps runs its layers one after the other in each of them (``presence.py``). Between
the layer that makes a map, or the first that reads what is loaded, and the last that reads it, all rows lie on chip that the
step adds; and at all times those that a window will read again. All steps together add each row once, so that some step has

    (sum of all rows of the maps that are in use at one moment + sum over steps of rows that windows keep) / s

words in use at least, of which neither maps that share words nor layers that run behind each other need fewer. Parts of a map
that is put together on chip lie in one ring, which is in use as a whole from the first part on. A layer computes in the words
of what it is the last to read if it is element-wise, or if it can slide: its parameters come in one block then.
"""

from __future__ import annotations

from collections.abc import Sequence
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
Members = NDArray[np.bool_]
"""Of each group, a row, and each operation: whether the group holds it."""


@dataclass(frozen=True)
class Reader:
    """An operation and what it needs of one of its inputs."""

    number: int
    index: int
    """Of the input."""
    rows: int
    words: int
    """Of a row."""
    again: int
    """Rows that a window between two of its rows has in common with the next one."""


@dataclass(frozen=True)
class InUse:
    """One ring of many groups: all words that go through it, and the moments from the first to the last at which it is in use.

    The moments of layer ``n`` are ``2 n``, when it begins, and ``2 n + 1``, when it ends. A last moment of -1: no ring.
    """

    words: Reals
    first: Counts
    last: Counts
    kept: Sequence[tuple[int, int]]
    """Readers, and the words that their windows keep between steps."""
    where: NDArray[np.bool_]
    """In which groups readers keep any."""


class Words:
    """Of groups of one graph that run over all channels and columns at once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.config, self.sets = evaluator.config, evaluator.sets
        sets = self.sets
        alone = [evaluator.group(1 << n) for n in range(len(sets.ops))]
        self.heights = np.array([sets.graph.tensors[op.output].height for op in sets.ops])
        self.layers = [lower(self.config, op, sets.graph.tensors) for op in sets.ops]
        """On whole maps: alone an operation may read fewer rows of an input."""
        made = zip(sets.ops, alone, strict=True)
        self._row = [group.vectors(self.config, op.output) * group.width(op.output) for op, group in made]
        self._own = np.array(self._row, np.float64) * self.heights
        self._readers: dict[str, list[Reader]] = {}
        for n, (op, group) in enumerate(zip(sets.ops, alone, strict=True)):
            for index, name in enumerate(op.inputs):
                self._readers.setdefault(name, []).append(self._reader(n, index, name, group))
        self._joined = {name: [sets.index[part] for part in parts] for name, parts in sets.joined.items()}
        self._slides = [[_slides(evaluator, group.layers[0], part) for group in alone] for part in (3, 1)]
        users = np.array([[users >> n & 1 for n in range(len(sets.ops))] for users in sets.users], np.float64)
        self._users = users.reshape(len(sets.ops), len(sets.ops))

    def _reader(self, number: int, index: int, name: str, group: Group) -> Reader:
        (layer,) = group.layers
        tensor, height = group.tensors[name], group.tensors[layer.output].height
        unit = self.config.ic_p * self.config.words_per_chunk
        # Folded for one reader alone, a map may take more words than as it is.
        plain = -(-tensor.channels // unit) * self.config.words_per_chunk * tensor.width
        ends = np.arange(1, height)
        again = int((layer.input_end(index, ends) - layer.input_begin(index, ends)).min()) if height > 1 else 0
        rows = min(tensor.height, int(layer.input_end(index, np.array([height]))[0]))
        return Reader(number, index, rows, min(plain, group.vectors(self.config, name) * group.width(name)), max(0, again))

    def outputs(self, members: Members) -> Members:
        """What each group leaves in DRAM."""
        inside: Members = members.astype(np.float64) @ self._users.T < self._users.sum(axis=1)
        found: Members = members & (inside | np.array(self.sets.kept))
        return found

    def rings(self, members: Members) -> list[InUse]:
        """Of maps by themselves, and of those that are put together on chip."""
        together = self._together(members)
        found = []
        for name in dict.fromkeys([*self._readers, *self.sets.index]):
            readers = self._readers.get(name, [])
            maker = self.sets.index.get(name)
            where = np.ones(len(members), bool)
            if name in self._joined:
                where = ~together[name]
                found.append(self._ring_together(members & together[name][:, None], name, together[name]))
            for joined, parts in self._joined.items():
                if maker in parts:
                    where = where & ~together[joined]
            found.append(self._ring(members & where[:, None], readers, maker, where))
        return found

    def _together(self, members: Members) -> dict[str, NDArray[np.bool_]]:
        """In which groups a joined map is put together: they make a part, and read the whole."""
        found = {}
        for name, parts in self._joined.items():
            makes = np.any(members[:, parts], axis=1)
            found[name] = np.logical_and(makes, np.any(members[:, [each.number for each in self._readers[name]]], axis=1))
        return found

    def _ring(
        self, members: Members, readers: Sequence[Reader], maker: int | None, where: NDArray[np.bool_]
    ) -> InUse:  # fmt: skip
        words, first, last = _nothing(len(members))
        for each in readers:
            has = members[:, each.number]
            words[has] = np.maximum(words[has], each.rows * each.words)
            first[has] = np.minimum(first[has], 2 * each.number)
            last[has] = np.maximum(last[has], 2 * each.number)
        if maker is not None:
            has = members[:, maker]
            words[has & (last < 0)] = self._own[maker]
            first[has] = 2 * maker + 1
            last[has] = np.maximum(last[has], 2 * maker + 1)
        return InUse(words, first, last, [(each.number, each.again * each.words) for each in readers], where)

    def _ring_together(self, members: Members, name: str, where: NDArray[np.bool_]) -> InUse:
        parts = self._joined[name]
        row = sum(self._row[part] for part in parts)
        readers = [*self._readers[name]]
        for part in parts:
            readers += self._readers.get(self.sets.ops[part].output, [])
        words, first, last = _nothing(len(members))
        for each in readers:
            has = members[:, each.number]
            words[has] = np.maximum(words[has], each.rows * row)
            first[has] = np.minimum(first[has], 2 * each.number)
            last[has] = np.maximum(last[has], 2 * each.number + 1)
        for part in parts:
            has = members[:, part]
            first[has] = np.minimum(first[has], 2 * part)
        return InUse(words, first, last, [(each.number, each.again * row) for each in readers], where)

    def most(self, members: Members, rings: Sequence[InUse], in_one_step: bool) -> Reals:
        """Words of all rows in use at the worst moment, of each group. In one step, parameters come in smaller blocks."""
        change = np.zeros((len(members), 2 * len(self.layers) + 2))
        for ring in rings:
            used = np.flatnonzero(ring.last >= 0)
            change[used, ring.first[used]] += ring.words[used]
            change[used, ring.last[used] + 1] -= ring.words[used]
        in_use = np.cumsum(change, axis=1)
        together, outputs = self._together(members), self.outputs(members)
        for n, op in enumerate(self.sets.ops):
            apart = members[:, n].copy()
            if isinstance(op, Eltwise):
                for name in op.inputs:
                    apart &= ~self._in_place(members, outputs, together, n, name)
            elif self._slides[0 if in_one_step else 1][n]:
                continue
            for name, parts in self._joined.items():
                if n in parts:
                    apart &= ~together[name]
            in_use[apart, 2 * n] += self._own[n]
        found: Reals = in_use.max(axis=1)
        return found

    def _in_place(
        self, members: Members, outputs: Members, together: dict[str, NDArray[np.bool_]], number: int, name: str
    ) -> NDArray[np.bool_]:
        """In which groups the result may lie in the place of this operand: nobody else needs it."""
        free = np.ones(len(members), bool)
        if name in together:
            free &= ~together[name]
        for each in self._readers[name]:
            if each.number != number:
                free &= ~members[:, each.number]
        maker = self.sets.index.get(name)
        return free if maker is None else free & ~outputs[:, maker]


def _nothing(groups: int) -> tuple[Reals, Counts, Counts]:
    return np.zeros(groups), np.full(groups, np.iinfo(np.int64).max), np.full(groups, -1)


def _slides(evaluator: Evaluator, layer: Layer, part: int) -> bool:
    """Whether the parameters may come in one block of this part of the buffers, or of all if they have none so small."""
    if layer.window is None:
        return False
    depth = {b: evaluator.config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
    blocks = layer.blocks({b: max(1, words // part) for b, words in depth.items()}) or layer.blocks(depth)
    return len(blocks) == 1 and blocks[0].divisible
