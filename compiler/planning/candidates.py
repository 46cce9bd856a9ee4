"""The candidates of a pass: ways over its rows, and residences of its parameters, if they fit and are as wanted.

A new way to run a pass is proposed here. ``selection.py`` decides which one is taken.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice

from compiler.planning.operations import Group
from compiler.planning.placement import Ring, place, place_as, place_shared, rings_of
from compiler.planning.residence import Residence, residences
from compiler.planning.sharing import may_slide
from compiler.planning.stepping import Stepping
from compiler.planning.walk import Way
from compiler.planning.wanted import residence_as
from compiler.planning.within_fields import within_fields
from compiler.schedule.document import FREE, GroupSchedule, ScheduleError
from isa.config import MachineConfig


class Candidates:
    """The candidates of the passes of one group.

    ``upwards``: rings are placed from the bottom of the buffer, else from the top. ``partly``: some blocks of a layer may stay
    while the others stream. ``wanted``: the decisions of a schedule.
    """

    def __init__(
        self, config: MachineConfig, stepping: Stepping, upwards: bool = True, partly: bool = False,
        wanted: GroupSchedule = FREE,
    ) -> None:  # fmt: skip
        self.config, self.upwards, self.partly, self.wanted = config, upwards, partly, wanted
        self._stepping = stepping
        self.refused: ScheduleError | None = None
        """The first reason why a candidate is not as wanted."""
        self._residences: dict[tuple[Group, bool, int | None], list[Residence]] = {}
        self._skews: dict[bool, dict[str, int]] = {}
        self._rings: dict[tuple[Group, bool, bool], list[Ring]] = {}
        """The rings of a group, by whether it is pipelined and whether maps are held."""

    def orders(self, steps: int, shared: bool) -> Sequence[bool]:
        """The orders of layers to try: pipelined (True), or one after the other, as layers must run whose maps share words."""
        found = (True, False) if steps > 1 and not shared else (False,)
        return [pipelined for pipelined in found if self.wanted.pipelined in (None, pipelined)]

    def way(self, group: Group, steps: int, pipelined: bool, held: Collection[str], shared: bool = False) -> Way | None:
        """The way in which every map has words of its own, or maps share words (``shared``). None: it does not fit."""
        if pipelined not in self._skews:
            self._skews[pipelined] = _skew(group, pipelined)
        ranges, skew = self._stepping.ranges(steps), self._skews[pipelined]
        if not within_fields(group, ranges):
            return None
        if self.wanted.rings is not None:
            try:
                return Way(ranges, skew, *place_as(self.config, group, ranges, skew, held, self.wanted))
            except ScheduleError as error:
                self.refused = self.refused or error
                return None
        if shared:
            found = place_shared(self.config, group, ranges, skew, self.upwards, held)
            return None if found is None else Way(ranges, skew, found[0], True, found[1])
        alike = group, pipelined, bool(held)
        if alike not in self._rings:
            self._rings[alike] = rings_of(self.config, group, skew, held)
        placed = place(self.config, group, ranges, self._rings[alike], self.upwards)
        return None if placed is None else Way(ranges, skew, placed)

    def residences(
        self, group: Group, steps: int, held: Collection[str], number: int = 0, count: int = 1
    ) -> Sequence[Residence]:
        """The residences of pass ``number`` of ``count``. The number matters only if a schedule decides on parameters."""
        rounds = self._stepping.rounds(steps, held)
        as_wanted = self.wanted.parameters is not None
        key = group, rounds > 1, number if as_wanted else None
        if key not in self._residences:
            if as_wanted:
                self._residences[key] = self._as_wanted(group, number, count)
            else:
                found = residences(self.config, group, rounds)
                self._residences[key] = list(found if self.partly else islice(found, 1))
        return self._residences[key]

    def any_fits(self, group: Group) -> bool:
        """Whether the smallest steps, one after the other, have room for the group's maps, its sums and its parameters."""
        ways = (self.way(group, self._stepping.counts[-1], False, (), shared) for shared in (False, True))
        return any(
            way is not None and suits(way, residence)
            for way in ways for residence in (self.residences(group, way.ranges.steps, ()) if way else ())
        )  # fmt: skip

    def _as_wanted(self, group: Group, number: int, count: int) -> list[Residence]:
        try:
            return [residence_as(self.config, group, self.wanted, number, count)]
        except ScheduleError as error:
            self.refused = self.refused or error
            return []


def suits(way: Way, residence: Residence) -> bool:
    """Whether the layers can compute the rows of a step in these blocks."""
    rows_fit = all(way.ranges.most_made(name) <= most for name, most in residence.most_rows.items())
    return rows_fit and may_slide(residence, way.sliding)


def _skew(group: Group, pipelined: bool) -> dict[str, int]:
    """The steps by which layers, loads and saves run behind.

    If pipelined, a layer runs a step behind the makers of its operands, a load a step before its first reader, and a save a
    step behind its maker. Else nothing runs behind.
    """
    skew: dict[str, int] = {}
    made = {layer.output: layer for layer in group.layers}
    for layer in group.layers:
        before = [skew[name] for name in group.sources(layer) if name in made]
        skew[layer.output] = (max(before) + 1 if before else 1) if pipelined else 0
    for name in group.inputs:
        users = [skew[layer.output] for layer in group.layers if name in group.sources(layer)]
        skew[f"load {name}"] = min(users) - 1 if pipelined else 0
    for name in group.outputs:
        skew[f"save {name}"] = skew[name] + (1 if pipelined else 0)
    return skew
