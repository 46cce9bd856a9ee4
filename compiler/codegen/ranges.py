"""Row ranges of every map in a group, step by step: Deep Fusion's shape deduction, backwards from the outputs.

A group runs in ``steps``. After step ``t`` an output of height ``h`` has ``ceil(h (t+1) / steps)`` rows; every
other map has as many as its consumers then need. Rows are kept until the last consumer is past them, so
nothing is computed or loaded twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compiler.codegen.layer import Ends
from compiler.codegen.operations import Group


@dataclass(frozen=True, eq=False)
class Ranges:
    """Per map and step: rows made by the end of the step, and the first row that this step still reads."""

    steps: int
    end: Mapping[str, Ends]
    begin: Mapping[str, Ends]

    def made(self, tensor: str, step: int) -> tuple[int, int]:
        """The rows that a step adds."""
        end = self.end[tensor]
        return (int(end[step - 1]) if step else 0), int(end[step])

    def most_made(self, tensor: str) -> int:
        """Rows of the greatest step."""
        return self._most_made[tensor]

    @cached_property
    def working(self) -> dict[str, int]:
        """Steps that add rows to each map: not those at the end that only need what is there, nor all before an upsampling."""
        return {name: int(end[0] > 0) + int(np.count_nonzero(end[1:] > end[:-1])) for name, end in self.end.items()}

    def coarser(self, steps: int) -> Ranges:
        """In fewer steps, if the steps of these are single rows of all outputs."""
        last = -(-self.steps * np.arange(1, steps + 1, dtype=np.int64) // steps) - 1
        first = np.concatenate([np.zeros(1, np.int64), last[:-1] + 1])
        ends = {name: end[last] for name, end in self.end.items()}
        return Ranges(steps, ends, {name: begin[first] for name, begin in self.begin.items()})

    @cached_property
    def _most_made(self) -> dict[str, int]:
        return {name: max(1, int(end[0]), int((end[1:] - end[:-1]).max(initial=0))) for name, end in self.end.items()}

    def rows_kept(self, first: str, last: str, lag: int) -> int:
        """Rows of a ring into which ``first`` is made, and from which ``last`` (the same, or made in its place) is read.

        The last reader runs ``lag`` steps behind the maker.
        """
        end, begin = self.end[first], self.begin[last]
        early = max(0, self.steps - lag)
        within = int((end[lag:] - begin[:early]).max(initial=1))
        return max(within, int(end[-1] - begin[early])) if lag else within


def deduce(group: Group, steps: int) -> Ranges:
    """Of all maps of the group; a joined map is read where its parts are."""
    layers, outputs = group.layers, group.outputs
    heights = {name: group.tensors[name].height for name in group.maps}
    count = np.arange(1, steps + 1, dtype=np.int64)
    end: dict[str, Ends] = {name: np.zeros(steps, np.int64) for name in heights}
    for name in outputs:
        end[name] = -(-heights[name] * count // steps)
    for layer in reversed(layers):
        for index, read in enumerate(layer.inputs):
            needed = layer.input_end(index, end[layer.output])
            for name in group.joined.get(read, (read,)):
                end[name] = np.maximum(end[name], needed)
    begin = {name: end[name].copy() for name in heights}
    for name in outputs:
        begin[name] = _before(end[name])
    for layer in layers:
        first = _before(end[layer.output])
        for index, read in enumerate(layer.inputs):
            needed = layer.input_begin(index, first)
            for name in group.joined.get(read, (read,)):
                begin[name] = np.minimum(begin[name], needed)
    return Ranges(steps, end, begin)


def _before(end: Ends) -> Ends:
    return np.concatenate([np.zeros(1, np.int64), end[:-1]])
