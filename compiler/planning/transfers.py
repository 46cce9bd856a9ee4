"""What a plan moves between DRAM and chip, in the order of its program: which rows are yet to be read as others are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.layers.placed import Rows
from compiler.planning.homes import Homes
from compiler.planning.plan import Pass, Plan
from compiler.planning.sequence import sequence
from compiler.schedule.instruction import Access


@dataclass(frozen=True)
class Transfer:
    """Rows of a map, at one step: ``saved`` to DRAM, or loaded from it."""

    saved: bool
    map: str
    access: Access


def transfers(plan: Plan, homes: Homes, batch: int) -> Iterator[Transfer]:
    """Of all passes over all images, in the order in which ``emit_plan`` has them."""
    rounds = [range(n, n + 1) for n in range(batch)] if plan.held else [range(batch)]
    for images in rounds:
        for part in plan.passes:
            own = homes.of(part.group)
            for image in images:
                yield from _of_pass(part, own, image)


def _of_pass(part: Pass, homes: Homes, image: int) -> Iterator[Transfer]:
    moves = [turn for turn in sequence(part.group, part.loads, part.in_turn) if turn.what != "make"]
    for slot in range(part.ranges.steps + max(part.skew.values())):
        for turn in moves:
            rows = _rows(part, turn.map, slot - part.skew[turn.key])
            if rows and turn.what == "load":
                yield Transfer(False, turn.map, homes.load[turn.map].access(rows, image))
            for view in homes.save[turn.map] if rows and turn.what == "save" else ():
                yield Transfer(True, turn.map, view.access(rows, image))


def _rows(part: Pass, name: str, step: int) -> Rows:
    """That the step adds to the map; none before the first step and after the last."""
    return Rows(*part.ranges.made(name, step)) if 0 <= step < part.ranges.steps else Rows(0, 0)
