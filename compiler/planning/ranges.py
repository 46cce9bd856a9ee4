"""Row ranges of every map in a group, step by step: Deep Fusion's shape deduction, backwards from the outputs.

A group runs in ``steps``. After step ``t`` an output of height ``h`` has ``ceil(h (t+1) / steps)`` rows; every
other map has as many as its consumers then need. Rows are kept until the last consumer is past them, so
nothing is computed or loaded twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import itemgetter, sub

import numpy as np

from compiler.layers.layer import Ends
from compiler.planning.operations import Group
from compiler.tuned import EDGE_PIECES as PIECES


@dataclass(frozen=True, eq=False)
class Ranges:
    """For each map and step: the rows that are made by the end of the step (``ends``), and the first row that the step still
    reads (``reads``), whether that row is made yet or not.

    The values are plain numbers. There are so few steps that arrays would be slower.
    """

    steps: int
    ends: Mapping[str, Sequence[int]]
    reads: Mapping[str, Sequence[int]]
    _kept: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """Answers of ``rows_kept``: however many passes there are, they ask the same of the same steps."""

    def made(self, tensor: str, step: int) -> tuple[int, int]:
        """The rows that a step adds."""
        end = self.ends[tensor]
        return (end[step - 1] if step else 0), end[step]

    def most_made(self, tensor: str) -> int:
        """The most rows that a step adds."""
        return self._most_made[tensor]

    def piece(self, tensor: str) -> int:
        """The rows of a piece. The step that adds most rows has up to ``PIECES`` pieces."""
        return -(-self._most_made[tensor] // PIECES)

    def coarser(self, steps: int) -> Ranges:
        """The ranges in fewer steps. It needs ranges whose steps add single rows of all outputs."""
        last, first = _merged(self.steps, steps)
        ends = {name: last(end) for name, end in self.ends.items()}
        return Ranges(steps, ends, {name: first(reads) for name, reads in self.reads.items()})

    @cached_property
    def end(self) -> dict[str, Ends]:
        """``ends`` as arrays."""
        return {name: np.array(end) for name, end in self.ends.items()}

    @cached_property
    def begin(self) -> dict[str, Ends]:
        """For each step the first row that this step or a later one still needs, as arrays."""
        return {name: np.array(self._begins(name)) for name in self.ends}

    def _begins(self, name: str) -> list[int]:
        return [*map(min, self.ends[name], self.reads[name])]

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """For each map: the number of rows that each step adds."""
        return {name: [*map(sub, end, (0, *end))] for name, end in self.ends.items()}

    @cached_property
    def working(self) -> dict[str, int]:
        """The number of steps that add rows to each map. Steps at the end may find all rows there, and some steps before an
        upsampling need no new ones."""
        return {name: self.steps - rows.count(0) for name, rows in self.rows.items()}

    @cached_property
    def _most_made(self) -> dict[str, int]:
        return {name: max(1, *rows) for name, rows in self.rows.items()}

    def rows_kept(self, first: str, last: str, lag: int) -> int:
        """The number of rows that a ring needs.

        The map ``first`` is made into the ring. The map ``last`` is read from it: the same map, or one that is made in its
        place. The last reader runs ``lag`` steps behind the maker.

        Rows that no window reads also need places in the step that makes them: a transposed convolution writes them behind
        others, and maps in place are made from them. Where the reader runs behind, these places are there, except for the rows
        above a crop, which are made before the reader begins.
        """
        asked = first, last, lag
        if asked not in self._kept:
            end, begin = self.ends[first], self._begins(last)
            if not lag:
                begin = [*map(min, begin, (0, *self.ends[last]))]
            kept = max([1, *map(sub, end[lag:], begin)])
            if lag:
                kept = max(kept, end[min(lag, self.steps) - 1], end[-1] - begin[max(0, self.steps - lag)])
            self._kept[asked] = kept
        return self._kept[asked]


def deduce(group: Group, steps: int) -> Ranges:
    """The ranges of all maps of the group. What a layer reads of a joined map, it reads of the map's parts."""
    heights = {name: group.tensors[name].height for name in group.maps}
    count = np.arange(1, steps + 1, dtype=np.int64)
    end: dict[str, Ends] = {name: -(-heights[name] * count // steps) for name in group.outputs}
    for layer in reversed(group.layers):
        for index, read in enumerate(layer.inputs):
            needed = layer.input_end(index, end[layer.output])
            for name in group.joined.get(read, (read,)):
                end[name] = np.maximum(end[name], needed) if name in end else needed
    first = {name: _before(end[name]) for name in (*group.outputs, *(layer.output for layer in group.layers))}
    reads: dict[str, Ends] = {name: first[name] for name in group.outputs}
    for layer in group.layers:
        for index, read in enumerate(layer.inputs):
            needed = layer.input_begin(index, first[layer.output])
            for name in group.joined.get(read, (read,)):
                reads[name] = np.minimum(reads[name], needed) if name in reads else needed
    return Ranges(steps, {name: end[name].tolist() for name in heights}, {name: reads[name].tolist() for name in heights})


@cache
def _merged(fine: int, steps: int) -> tuple[Callable[[Sequence[int]], Sequence[int]], Callable[[Sequence[int]], Sequence[int]]]:
    """Two functions that turn values of ``fine`` steps into values of fewer steps. The first one takes the last value of the
    steps that become one, the second one takes the first value."""
    last = [-(-fine * step // steps) - 1 for step in range(1, steps + 1)]
    first = [0, *(step + 1 for step in last[:-1])]
    if steps == 1:
        return lambda rows: rows[-1:], lambda rows: rows[:1]
    return itemgetter(*last), itemgetter(*first)


def _before(end: Ends) -> Ends:
    return np.concatenate([np.zeros(1, np.int64), end[:-1]])
