"""The time that a compilation may take, and what it gives up to take less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from compiler.planning.plan import Plan
from compiler.xgraph.ops import Cpu
from isa.errors import TilewrightError
from isa.names import nearest


@dataclass(frozen=True)
class Effort:
    """The effort of strategy ``best`` and of the order of groups; other strategies follow their papers."""

    timed: bool
    """Whether whole programs are timed on the cycle model, to choose among partitions and orders. If not, the least sum of the
    groups' costs is taken, and groups keep the order of the graph: more cycles, and more DRAM for feature maps."""
    most_ops: int
    """The most operations of a group, where groups are weighed size by size."""
    weighed: int
    """Multiplies the number of groups of each size that are weighed."""
    planned: int
    """The number of shapes of groups that promise fewer cycles and are planned: at least one for each operation."""
    mixtures: int
    """The most mixtures of partitions that are timed."""
    schemes: int
    """The number of shapes of groups that get other schemes than their best alone, and the number of these for each shape."""
    longest: float = inf
    """The most turns (``Plan.turns``) of a program that is timed. For a longer program the least sum of costs is taken."""
    orders_timed: bool = False
    """Whether other orders and places of maps are timed on the cycle model. If not, list scheduling tells their cycles."""

    def times(self, steps: Sequence[Plan | Cpu]) -> bool:
        """Whether programs like this one are timed."""
        return self.timed and turns_of(steps) <= self.longest


def turns_of(steps: Sequence[Plan | Cpu]) -> int:
    """The turns of a whole program."""
    return sum(step.turns for step in steps if isinstance(step, Plan))


EFFORTS = {
    "quick": Effort(timed=False, most_ops=10, weighed=1, planned=200, mixtures=0, schemes=0),
    "normal": Effort(timed=True, most_ops=10, weighed=1, planned=500, mixtures=4, schemes=4, longest=30_000),
    "full": Effort(timed=True, most_ops=14, weighed=4, planned=2000, mixtures=16, schemes=8, orders_timed=True),
}
NORMAL = EFFORTS["normal"]


def effort_of(name: str) -> Effort:
    if name not in EFFORTS:
        raise TilewrightError(f"effort {name!r}: unknown{nearest(name, EFFORTS)}; known are {', '.join(EFFORTS)}")
    return EFFORTS[name]
