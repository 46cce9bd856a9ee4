"""The conditions of an operation on the configuration, and the error that says which one does not hold."""

from __future__ import annotations

import enum

from isa.errors import TilewrightError


class Fit(enum.Enum):
    """The conditions of an operation by itself on the configuration. The table of support prints them in these words."""

    UNIT = "The unit that computes it is built (build_pool, build_misc, build_rows), or another one computes the same."
    SCALES = "Where the finishing lanes of CONV only shift (requant), scales of what CONV computes are powers of two."
    OVER_CHANNELS = "A sum or a maximum over channels is one of at most 1024 (of as many as fill whole words on chip)."
    ROWS = "A row of softmax or normalisation has at most row_words words."
    PARAMETERS = "The parameters can be cut, by output channels and by sums, into parts that the parameter buffers hold."
    MAPS = "What is needed of the maps at once, in the smallest tiles, fits the feature-map buffer."


class FitError(TilewrightError):
    """The error for a group that no tiling fits on chip, or for which the machine lacks a unit.

    ``condition``: the one that does not hold. None: the operations would fit in other groups, or in narrower tiles.
    """

    def __init__(self, condition: Fit | None, what: str, reason: str, remedy: str) -> None:
        super().__init__(f"{what}: {reason}; {remedy}")
        self.condition = condition
        self.reason = reason
