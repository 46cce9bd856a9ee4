"""Bytes of parameters that many groups must load again at least, told without planning them.

What the parameter buffers do not hold beside each other comes again in each step in which its layer works. How few steps there
can be is told by the words that maps need (``words.py``), and in how many of them each layer works by the rows of the group,
as the planner deduces them (``ranges.py``). A byte too many thus costs as many bytes as the layer with parameters that works
in the fewest steps has steps, less one.

Nothing is said of groups that may be cut in another way: in passes over channels, as where no dense layer reads what the group
makes, in tiles of columns, in images, or in parts of one long row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from compiler.layers.lower import is_depthwise
from compiler.planning.residence import PARAMETER_BUFFERS, SHARES
from compiler.search.cost import Evaluator
from compiler.search.words import Counts, Ends, Members, Reals, Words
from compiler.xgraph.ops import Conv, ConvTranspose

AT_ONCE = 256
"""Groups whose rows are deduced together: as many as do not need much memory."""


class Reloads:
    """Of groups of one graph."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator, self._config, sets = evaluator, evaluator.config, evaluator.sets
        self._words = Words(evaluator)
        depth = {b: self._config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
        self._parameters = {b: np.zeros(len(sets.ops)) for b in PARAMETER_BUFFERS}
        for n in range(len(sets.ops)):
            for block in evaluator.group(1 << n).layers[0].blocks(depth):
                for buffer, words in block.sizes.items():
                    if buffer in depth:
                        self._parameters[buffer][n] += words
        self._has_parameters = np.any([words > 0 for words in self._parameters.values()], axis=0)
        self._readers = [
            [
                (user, index) for user, other in enumerate(sets.ops) for index, name in enumerate(other.inputs)
                if op.output in sets.joined.get(name, (name,))
            ]
            for op in sets.ops
        ]  # fmt: skip
        makers = np.zeros((len(sets.ops), len(sets.ops)), bool)
        """Of what dense layers read."""
        for n, op in enumerate(sets.ops):
            if isinstance(op, Conv | ConvTranspose) and not is_depthwise(op):
                names = [part for name in op.inputs for part in sets.joined.get(name, (name,))]
                makers[n, [sets.index[name] for name in names if name in sets.index]] = True
        self._makers = makers

    def of(self, members: Members) -> Reals:
        """Of each group; infinite: it fits in no number of steps."""
        found = np.zeros(len(members))
        told = np.flatnonzero(self._told(members))
        for first in range(0, len(told), AT_ONCE):
            some = told[first : first + AT_ONCE]
            found[some] = self._least(members[some])
        return found

    def _told(self, members: Members) -> NDArray[np.bool_]:
        evaluator, sets = self._evaluator, self._evaluator.sets
        tensors = sets.graph.tensors
        if evaluator.columns or any(tensor.batch > 1 for tensor in tensors.values()):
            return np.zeros(len(members), bool)
        parts = [part for names in sets.joined.values() for part in names]
        otherwise = np.array([
            evaluator.narrow >> n & 1 or parts.count(op.output) > 1
            or (tensors[op.output].height == 1 and tensors[op.output].width > 1) for n, op in enumerate(sets.ops)
        ], bool)  # fmt: skip
        reads_made = ((members.astype(np.float64) @ self._makers.T) > 0) & members
        found: NDArray[np.bool_] = reads_made.any(axis=1) & ~(members & otherwise).any(axis=1)
        return found

    def _least(self, members: Members) -> Reals:
        words, room = self._words, self._config.fm_words
        outputs, too_many = words.outputs(members), self._too_many(members)
        best = np.full(len(members), np.inf)
        ends = self._ends(members, outputs, 1)
        best[words.in_use(members, words.rings(members, in_one_step=True), ends, 1) <= room] = 0
        rings = words.rings(members, in_one_step=False)
        # In some step at least an equal share of all rows is in use.
        fewest = words.in_use(members, rings, ends, 1) / room
        highest = np.where(outputs, words.heights, 0).max(axis=1)
        for height in np.unique(highest).tolist():
            for steps in sorted({-(-height // rows) for rows in range(1, height)}):
                chosen = np.flatnonzero((highest == height) & (best > 0) & (fewest <= steps))
                if len(chosen):
                    some, ends = members[chosen], self._ends(members[chosen], outputs[chosen], steps)
                    fits = words.in_use(some, [ring.those(chosen) for ring in rings], ends, steps) <= room
                    again = np.where(fits, too_many[chosen] * (self._fewest(some, ends) - 1), np.inf)
                    best[chosen] = np.minimum(best[chosen], again)
        return best

    def _too_many(self, members: Members) -> Reals:
        """Bytes that the buffers do not hold, beside the least room in which parameters stream if not all layers stay."""
        found = np.zeros(len(members))
        for buffer, words in self._parameters.items():
            depth = self._config.buffer_depth(buffer.name)
            left = max(1, depth // 3)
            held = depth - min(left, 2 * max(1, left // max(SHARES)))
            needed = members.astype(np.float64) @ words
            found += np.where(needed > depth, needed - held, 0) * self._config.buffer_dram_bytes(buffer.name)
        return found

    def _fewest(self, members: Members, ends: Ends) -> Reals:
        """In how many steps the layer works that has parameters and works in the fewest."""
        found = np.full(len(members), np.inf)
        for n, end in ends.items():
            if self._has_parameters[n]:
                works = 1.0 + (np.diff(end, axis=1) > 0).sum(axis=1)
                found = np.where(members[:, n], np.minimum(found, works), found)
        return np.where(np.isinf(found), 1, found)

    def _ends(self, members: Members, outputs: Members, steps: int) -> Ends:
        """Backwards from what the groups leave."""
        count = np.arange(1, steps + 1)
        found: dict[int, Counts] = {}
        for n in reversed(range(members.shape[1])):
            if members[:, n].any():
                end = outputs[:, n, None] * -(-self._words.heights[n] * count // steps)
                for user, index in self._readers[n]:
                    has = members[:, user] & members[:, n]
                    if has.any():
                        needed = self._words.layers[user].input_end(index, found[user][has])
                        end[has] = np.maximum(end[has], needed)
                found[n] = end
        return found
