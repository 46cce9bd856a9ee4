"""The transfers of a plan between DRAM and chip, in the order of its program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.instructions.pending import Access
from compiler.planning.homes import Homes
from compiler.planning.plan import Plan


@dataclass(frozen=True)
class Transfer:
    """Rows of a map in one step that are ``saved`` to DRAM, or loaded from it."""

    saved: bool
    map: str
    access: Access


def transfers(plan: Plan, homes: Homes) -> Iterator[Transfer]:
    """The transfers of all passes over all images."""
    for run in plan.runs:
        own = homes.of(run.part.group)
        for image in run.images:
            for turn, _, rows in run.part.order():
                if turn.what == "load":
                    yield Transfer(False, turn.map, own.load[turn.map].access(rows, image))
                for view in own.save[turn.map] if turn.what == "save" else ():
                    yield Transfer(True, turn.map, view.access(rows, image))
