"""The schedule as data: all decisions about a program, or some of them. The compiler decides what is None.

Code that follows a schedule refuses what cannot be, with the line that it was read from (``Origin``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from isa.errors import TilewrightError


class ScheduleError(TilewrightError):
    """A schedule that cannot be followed."""


@dataclass(frozen=True)
class Origin:
    """The place from which a value was read, for errors."""

    name: str = "schedule"
    lines: Mapping[str, int] = field(default_factory=dict)
    """The lines by key, such as ``steps`` or ``rings.conv1_out``. The empty key is that of the heading."""

    def error(self, key: str, message: str) -> ScheduleError:
        """The error with the name of the file, and the line if it is known."""
        while key and key not in self.lines:
            key = key.rpartition(".")[0]
        line = self.lines.get(key)
        return ScheduleError(f"{self.name}, line {line}: {message}" if line else f"{self.name}: {message}")


@dataclass(frozen=True)
class Ring:
    """The place of the rows of a map in the feature-map buffer, in each of its planes (``compiler/layers/placed.py``)."""

    word: int
    rows: int
    pitch: int
    apart: int = 0
    shift: int = 0
    """The row of the ring at which row 0 of the map lies. It is 0 unless rings share words."""


@dataclass(frozen=True)
class Stay:
    """How the parameters of a layer come on chip."""

    stay: int = 0
    """The number of first blocks that are loaded once in a pass. The others are loaded in every step."""
    words: Mapping[str, int] = field(default_factory=dict)
    """The words of each parameter buffer (``weight``, ``param``, ``taps``, ``pool_param`` and others) that a block may take. A
    buffer that is left out may be taken in full."""


End = Literal["bottom", "top"]


@dataclass(frozen=True)
class GroupSchedule:
    """The decisions about one group. For a part that runs on the CPU, only ``operations`` is given: its name alone."""

    operations: tuple[str, ...]
    steps: int | None = None
    """The steps of each pass."""
    pipelined: bool | None = None
    """Whether each layer runs a step behind its makers."""
    passes: int | None = None
    """The passes over output channels."""
    tiles: int | None = None
    """The column tiles in each pass."""
    held: tuple[str, ...] | None = None
    """The inputs that stay on chip from pass to pass."""
    end: End | None = None
    """The end of the feature-map buffer at which the first map lies."""
    rings: Mapping[str, Ring] | None = None
    """All rings of the group, each by the first of the maps that share it."""
    parameters: Mapping[str, tuple[Stay, ...]] | None = None
    """For each operation with parameters: one ``Stay`` for all passes and tiles, or one for each."""
    bands: int | None = None
    """The bands of rows. Each is finished in all its tiles before the next. The compiler decides how a band is computed."""
    origin: Origin = field(default=Origin(), compare=False)

    @property
    def name(self) -> str:
        return "+".join(self.operations)

    @property
    def free(self) -> bool:
        """Whether nothing is decided but the operations of the group."""
        return self == GroupSchedule(self.operations)

    def refused(self, key: str, message: str) -> ScheduleError:
        return self.origin.error(key, f"group {self.name}: {message}")


FREE = GroupSchedule(())
"""A group of which nothing is decided."""


@dataclass(frozen=True)
class Schedule:
    """The schedule of a whole program."""

    groups: tuple[GroupSchedule, ...] = ()
    """The groups. The compiler puts operations that are in none of them into groups."""
    listed: bool = False
    """Whether the groups run in this order. If so, every operation must be in a group."""
    host_in_work: bool | None = None
    """Whether inputs and outputs share WORK with the other maps in DRAM."""
    overlap: bool | None = None
    """Whether the outputs of a group may lie over inputs that it has read by then."""
    places: Mapping[str, int] | None = None
    """The offsets of all storages in their regions of DRAM, by the map that gives each its name."""
    blocked: tuple[str, ...] | None = None
    """The maps whose channels lie in blocks of a channel vector, each block a map of its own."""
    origin: Origin = field(default=Origin(), compare=False)
