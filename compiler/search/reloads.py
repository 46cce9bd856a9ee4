"""Bytes of parameters that many groups must load again at least, told without planning them.

What the parameter buffers do not hold beside each other comes again in each step in which its layer works. How few steps there
can be is told by the words that maps need (``words.py``), and in how many of them each layer works by the rows of the group,
as the planner deduces them (``ranges.py``). A byte too many thus costs as many bytes as the layer with parameters that works
in the fewest steps has steps, less one.

Nothing is said of groups that may be cut in another way: in passes over channels, as where no dense layer reads what the group
makes, in tiles of columns, in images, or in parts of one long row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler.layers.lower import is_depthwise
from compiler.planning.residence import PARAMETER_BUFFERS, SHARES
from compiler.search.cost import Evaluator
from compiler.search.words import Counts, InUse, Members, Reals, Words
from compiler.xgraph.ops import Conv, ConvTranspose

AT_ONCE = 2048
"""Groups whose rows are deduced together: as many as do not need much memory."""


@dataclass(frozen=True, eq=False)
class _Groups:
    """Some groups, and what is the same in however many steps."""

    members: Members
    outputs: Members
    rings: Sequence[InUse]
    words: Reals
    """Of all rows in use at the worst moment, if there are several steps."""

    def those(self, chosen: Counts) -> _Groups:
        rings = [InUse(r.words[chosen], r.first[chosen], r.last[chosen], r.kept, r.where[chosen]) for r in self.rings]
        return _Groups(self.members[chosen], self.outputs[chosen], rings, self.words[chosen])


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
        words = self._words
        rings, outputs = words.rings(members), words.outputs(members)
        groups = _Groups(members, outputs, rings, words.most(members, rings, in_one_step=False))
        too_many = self._too_many(members)
        best = np.full(len(members), np.inf)
        best[words.most(members, rings, in_one_step=True) <= self._config.fm_words] = 0
        highest = np.where(outputs, words.heights, 0).max(axis=1)
        for height in np.unique(highest).tolist():
            for steps in sorted({-(-height // rows) for rows in range(1, height)}):
                open_yet = (highest == height) & (best > 0) & (groups.words <= steps * self._config.fm_words)
                if open_yet.any():
                    chosen = np.flatnonzero(open_yet)
                    best[chosen] = np.minimum(best[chosen], self._in_steps(groups.those(chosen), steps, too_many[chosen]))
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

    def _in_steps(self, groups: _Groups, steps: int, too_many: Reals) -> Reals:
        """In more than one."""
        ends = self._ends(groups, steps)
        fewest = np.full(len(groups.members), np.inf)
        between: dict[int, Counts] = {}
        for n, end in ends.items():
            # Once it has begun, and before it is done, its windows keep rows from step to step.
            between[n] = ((end[:, :-1] > 0) & (end[:, :-1] < end[:, -1:])).sum(axis=1)
            if self._has_parameters[n]:
                works = 1.0 + (np.diff(end, axis=1) > 0).sum(axis=1)
                fewest = np.where(groups.members[:, n], np.minimum(fewest, works), fewest)
        words = groups.words.copy()
        for ring in groups.rings:
            kept = np.zeros(len(words))
            for n, size in ring.kept:
                if size and n in between:
                    kept = np.where(groups.members[:, n] & ring.where, np.maximum(kept, size * between[n]), kept)
            words += kept
        fits = words <= steps * self._config.fm_words
        again = np.where(np.isinf(fewest), 0, too_many * (np.where(np.isinf(fewest), 1, fewest) - 1))
        found: Reals = np.where(fits, again, np.inf)
        return found

    def _ends(self, groups: _Groups, steps: int) -> dict[int, Counts]:
        """Rows of each operation's result by the end of each step, backwards from what the groups leave."""
        count = np.arange(1, steps + 1)
        found: dict[int, Counts] = {}
        for n in reversed(range(groups.members.shape[1])):
            if groups.members[:, n].any():
                end = groups.outputs[:, n, None] * -(-self._words.heights[n] * count // steps)
                for user, index in self._readers[n]:
                    has = groups.members[:, user] & groups.members[:, n]
                    if has.any():
                        needed = self._words.layers[user].input_end(index, found[user][has])
                        end[has] = np.maximum(end[has], needed)
                found[n] = end
        return found
