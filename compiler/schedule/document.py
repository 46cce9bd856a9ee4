"""The schedule as data: what the compiler decides of a program, whole or in part. What is None is left to the compiler.

Whoever reads it refuses what cannot be, with the line that it was read from (``Origin``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from isa.errors import TilewrightError


class ScheduleError(TilewrightError):
    """A schedule that cannot be."""


@dataclass(frozen=True)
class Origin:
    """The place where something was read, for errors."""

    name: str = "schedule"
    lines: Mapping[str, int] = field(default_factory=dict)
    """Lines by key, such as ``steps`` or ``rings.conv1_out``; the empty key is the heading's."""

    def error(self, key: str, message: str) -> ScheduleError:
        """Names the file, and the line where one is known."""
        while key and key not in self.lines:
            key = key.rpartition(".")[0]
        line = self.lines.get(key)
        return ScheduleError(f"{self.name}, line {line}: {message}" if line else f"{self.name}: {message}")


@dataclass(frozen=True)
class Ring:
    """Where rows of a map lie in the feature-map buffer, in each of its planes (``compiler/layers/placed.py``)."""

    word: int
    rows: int
    pitch: int
    apart: int = 0
    shift: int = 0
    """Row of the ring at which row 0 of the map lies; not 0 only where rings share words."""


@dataclass(frozen=True)
class Stay:
    """How a layer's parameters come on chip."""

    stay: int = 0
    """So many first blocks are loaded once in a pass; the others in every step."""
    words: Mapping[str, int] = field(default_factory=dict)
    """Words of each parameter buffer that a block may take (``weight``, ``param``, ``taps``, ``pool_param``); all there are of
    those that are left out."""


End = Literal["bottom", "top"]


@dataclass(frozen=True)
class GroupSchedule:
    """One group; of a part that runs on the CPU only ``operations``, which holds its name alone."""

    operations: tuple[str, ...]
    steps: int | None = None
    """Steps of each pass."""
    pipelined: bool | None = None
    """Whether each layer runs a step behind its makers."""
    passes: int | None = None
    """Over output channels."""
    tiles: int | None = None
    """Column tiles in each pass."""
    held: tuple[str, ...] | None = None
    """Inputs that stay on chip from pass to pass."""
    end: End | None = None
    """The end of the feature-map buffer at which the first map lies."""
    rings: Mapping[str, Ring] | None = None
    """All of the group's, each by the first of the maps that share it."""
    parameters: Mapping[str, tuple[Stay, ...]] | None = None
    """For each operation with parameters: one ``Stay`` for all passes and tiles, or one for each."""
    bands: int | None = None
    """Bands of rows, each finished in all its tiles before the next; the compiler decides how a band is computed."""
    origin: Origin = field(default=Origin(), compare=False)

    @property
    def name(self) -> str:
        return "+".join(self.operations)

    @property
    def free(self) -> bool:
        """Whether nothing is decided but who is in it."""
        return self == GroupSchedule(self.operations)

    def refused(self, key: str, message: str) -> ScheduleError:
        return self.origin.error(key, f"group {self.name}: {message}")


FREE = GroupSchedule(())
"""Nothing is decided."""


@dataclass(frozen=True)
class Schedule:
    """The schedule of a whole program."""

    groups: tuple[GroupSchedule, ...] = ()
    """Operations in none of them are put into groups by the compiler."""
    listed: bool = False
    """Whether the groups, which must then be all, run in this order."""
    host_in_work: bool | None = None
    """Whether inputs and outputs share WORK with the other maps in DRAM."""
    overlap: bool | None = None
    """Whether what a group writes may lie over what it has read by then."""
    places: Mapping[str, int] | None = None
    """Offsets of all storages in their regions of DRAM, by the map that gives each its name."""
    blocked: tuple[str, ...] | None = None
    """Maps whose channels lie in blocks of a channel vector, each a map of its own."""
    origin: Origin = field(default=Origin(), compare=False)
