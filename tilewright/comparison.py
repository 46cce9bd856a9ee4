"""Compares tensors with onnxruntime's: how many elements differ, by how much, and whether the answer differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Comparison:
    """One tensor of the machine beside onnxruntime's."""

    tensor: str
    elements: int
    differ: int
    greatest: float
    """The greatest difference in the tensor's own units. For integers these are steps."""
    answers: int = 0
    """The number of choices of one among several along the second dimension: of a class, or of one for each pixel."""
    same_answers: int = 0

    def within(self, tolerance: float) -> bool:
        return self.greatest <= tolerance

    def __str__(self) -> str:
        if not self.differ:
            return f"{self.tensor}: equal"
        top = f", the same first in {self.same_answers} of {self.answers}" if self.answers else ""
        return f"{self.tensor}: {self.differ} of {self.elements} differ, by at most {self.greatest:g}{top}"


def compare(mine: Mapping[str, Array], oracle: Mapping[str, Array]) -> list[Comparison]:
    return [_one(name, mine[name], expected) for name, expected in oracle.items()]


def _one(name: str, value: Array, expected: Array) -> Comparison:
    apart = (value != expected) & ~((value != value) & (expected != expected))
    differ = int(apart.sum())
    distance = np.abs(value[apart].astype(np.float64) - expected[apart].astype(np.float64))
    answers = same = 0
    if expected.ndim > 1 and expected.shape[1] > 1:
        theirs = expected.argmax(axis=1)
        answers, same = theirs.size, int((value.argmax(axis=1) == theirs).sum())
    return Comparison(name, expected.size, differ, float(distance.max(initial=0.0)), answers, same)
