"""Row ranges of every map in a group, step by step: Deep Fusion's shape deduction, backwards from the outputs.

A group runs in ``steps``. After step ``t`` an output of height ``h`` has ``ceil(h (t+1) / steps)`` rows; every
other map has as many as its consumers then need. Rows are kept until the last consumer is past them, so
nothing is computed or loaded twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compiler.codegen.layer import Ends, Layer


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


def deduce(layers: Sequence[Layer], heights: Mapping[str, int], outputs: Sequence[str], steps: int) -> Ranges:
    """``heights`` of all maps of the group; ``outputs`` are saved."""
    count = np.arange(1, steps + 1, dtype=np.int64)
    end: dict[str, Ends] = {name: np.zeros(steps, np.int64) for name in heights}
    for name in outputs:
        end[name] = -(-heights[name] * count // steps)
    for layer in reversed(layers):
        for index, name in enumerate(layer.inputs):
            end[name] = np.maximum(end[name], layer.input_end(index, end[layer.output]))
    begin = {name: end[name].copy() for name in heights}
    for name in outputs:
        begin[name] = _before(end[name])
    for layer in layers:
        first = _before(end[layer.output])
        for index, name in enumerate(layer.inputs):
            begin[name] = np.minimum(begin[name], layer.input_begin(index, first))
    return Ranges(steps, end, begin)


def _before(end: Ends) -> Ends:
    return np.concatenate([np.zeros(1, np.int64), end[:-1]])
