"""Instructions before they have tokens: what they do, what they touch, and the group that they belong to."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from isa.instructions import BY_NAME, Unit


class Space(enum.IntEnum):
    """Memories that instructions touch; each is tracked in granules of its own (``GRANULE``)."""

    FM = 0
    WEIGHT = 1
    PARAM = 2
    TAPS = 3
    POOL_PARAM = 4
    TABLE = 5
    EXP = 6
    NORM = 7
    ACCUMULATOR = 8
    WORK = 9
    INPUT = 10
    OUTPUT = 11
    CONST = 12

    __hash__ = int.__hash__


GRANULE: dict[Space, int] = {space: 64 if space >= Space.WORK else 1 for space in Space}
"""The words (on chip) or bytes (DRAM) of a granule, the unit of dependence. Larger granules can only add waits."""


@dataclass(slots=True, unsafe_hash=True)
class Access:
    """An access to ``count`` runs of ``length`` words or bytes, ``stride`` apart. It is never changed.

    It is not frozen, because that would double the time to make one.
    """

    space: Space
    start: int
    length: int
    count: int = 1
    stride: int = 0


@dataclass(slots=True)
class Pending:
    """One instruction as code generation makes it, without tokens. ``belongs`` sets its layer, tile and group."""

    name: str
    values: dict[str, int]
    reads: Sequence[Access] = ()
    writes: Sequence[Access] = ()
    cycles: int = 0
    """The cycles for which its unit is taken, as ordering estimates them."""
    layer: str = ""
    tile: int = 0
    group: str = ""
    unit: Unit = field(init=False)

    def __post_init__(self) -> None:
        unit = BY_NAME[self.name].unit
        assert isinstance(unit, Unit), "START and END are added by the program writer"
        self.unit = unit

    def belongs(self, layer: str, tile: int, group: str) -> Pending:
        """Sets the layer, the tile and the group, and returns the instruction itself."""
        self.layer, self.tile, self.group = layer, tile, group
        return self
