"""How much time a compilation may take, and what it gives up for less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from compiler.planning.plan import Plan
from compiler.xgraph.ops import Cpu
from isa.errors import TilewrightError


@dataclass(frozen=True)
class Effort:
    """Of strategy ``best``, and of the order of groups; other strategies are as their papers have them."""

    timed: bool
    """Whether whole programs are timed on the cycle model, to choose among partitions and orders. If not, the least sum of the
    groups' costs is taken, and groups keep the order of the graph: more cycles, and more DRAM for feature maps."""
    most_ops: int
    """Operations in a group, where groups are weighed size by size."""
    weighed: int
    """So many times as many groups of each size are weighed, where there are more of them."""
    planned: int
    """Shapes of groups that promise fewer cycles, planned besides those of other strategies; of a large graph one for each
    operation (``promising.py``). GoogLeNet on ``base`` comes to a sum of 3 301 603 cycles with 200, to 3 299 215 with 600."""
    programs: int
    """Mixtures of partitions that are timed at most."""
    longest: float = inf
    """Turns (``Plan.turns``) of a program that is timed; a longer one is the least sum of costs.
    On ``base`` NASNet-A-large has 38 000, ResNet-152 8 500, NASNet-A 6 300. To time NASNet-A-large for
    every choice took 57 of 80 s, and the program became at most 0.03 % faster."""
    orders_timed: bool = False
    """Whether other orders, and places, of maps are timed on the cycle model; if not, list scheduling tells what they take."""
    schemes: int = 0
    """Of each group, besides its best alone, of which one is chosen for the whole program (``compiler/schemes``)."""
    waiting: float | None = None
    """Share of the program's cycles that groups of one shape must wait for, if there is to be a choice for them, unless many
    wait for less each (``schemes/choice.py``); None: there is one for all groups. With two schemes of each, GoogLeNet gained
    another 0.2 %, SqueezeNet and ResNet-50 0.1 %, on ``zu9`` with the first edition's memories, for 1.5 to 4 times the seconds
    of the choice."""
    walked: int | None = None
    """Schemes of each group, besides its best alone, that are timed: those that promise most by the walk; None: all, and pairs
    of the most promising ones. Three of eight take MobileNetV3-large on ``base`` 1.7 % fewer cycles than the two that are
    cheapest alone, two of four 1.1 %."""
    proved: bool = False
    """Whether groups of any size are looked at, and as many planned as it takes to prove that no partition costs less, where
    the legal groups are few enough to be listed (``exhaust.py``); where they are not, or the proof is given up, neighbouring
    groups are joined, to any size, as long as that saves anything (``merge.py``)."""

    def times(self, steps: Sequence[Plan | Cpu]) -> bool:
        """Whether programs like this one are timed."""
        return self.timed and turns_of(steps) <= self.longest


def turns_of(steps: Sequence[Plan | Cpu]) -> int:
    """Of a whole program."""
    return sum(step.turns for step in steps if isinstance(step, Plan))


EFFORTS = {
    "quick": Effort(timed=False, most_ops=10, weighed=1, planned=200, programs=0),
    "normal": Effort(
        timed=True, most_ops=10, weighed=1, planned=200, programs=6, schemes=8, waiting=0.005, walked=3, longest=30_000
    ),
    "full": Effort(
        timed=True, most_ops=14, weighed=4, planned=2000, programs=16, orders_timed=True, schemes=8, proved=True
    ),
}
NORMAL = EFFORTS["normal"]


def effort_of(name: str) -> Effort:
    if name not in EFFORTS:
        raise TilewrightError(f"effort {name!r}: unknown; known are {', '.join(EFFORTS)}")
    return EFFORTS[name]
