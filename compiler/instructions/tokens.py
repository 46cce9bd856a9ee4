"""Finds the tokens that keep every dependence. A dependence that other tokens keep gets none."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.instructions.pending import Pending
from isa.codec import Op
from isa.errors import TilewrightError
from isa.faults import TOKEN_MAX
from isa.instructions import Unit

Clock = list[int]
"""For each unit, the last instruction that is known to be finished."""


def with_tokens(program: Sequence[Pending], waits: Sequence[int], signals: Sequence[int]) -> list[Op]:
    """The instructions with tokens: they wait for, and signal, the units of these masks."""
    return [Op(p.name, p.values, _UNITS[wait], _UNITS[signal]) for p, wait, signal in zip(program, waits, signals, strict=True)]


def tokens(program: Sequence[Pending], needs: Sequence[dict[Unit, int]]) -> tuple[list[int], list[int]]:
    """For each instruction, masks of the units that it waits for, and of those that it signals.

    An instruction knows all that its unit's earlier instructions waited for. With each token it also knows all that the giver
    knew when it started, and that the giver and all before it in its unit are finished. A dependence that is known already
    costs no token. For each pair of units, waits are for ever later givers. So the k-th token given is the k-th taken, and
    counters suffice.
    """
    waits = [0] * len(program)
    signals = [0] * len(program)
    started: list[Clock] = []
    latest: dict[Unit, Clock] = {unit: [-1] * len(Unit) for unit in Unit}
    for index, pending in enumerate(program):
        unit = pending.unit
        clock = latest[unit]
        needed = needs[index]
        for giver_unit, giver in sorted(needed.items(), key=_later) if len(needed) > 1 else needed.items():
            if giver <= clock[giver_unit]:
                continue
            waits[index] |= 1 << giver_unit
            signals[giver] |= 1 << unit
            clock = [*map(max, clock, started[giver])]
            clock[giver_unit] = max(clock[giver_unit], giver)
        # A clock in the list is never changed, so an instruction that learns nothing shares that of its predecessor.
        started.append(clock)
        latest[unit] = clock
    _check_counters(waits, signals, [p.unit for p in program])
    return waits, signals


def _later(need: tuple[Unit, int]) -> int:
    return -need[1]


_UNITS = [frozenset(unit for unit in Unit if mask >> unit & 1) for mask in range(1 << len(Unit))]
"""The units of each mask."""


def _check_counters(waits: Sequence[int], signals: Sequence[int], units: Sequence[Unit]) -> None:
    """Refuses a program whose counters, in program order, cannot hold all tokens that are given and not yet taken."""
    count = {(p, c): 0 for p in Unit for c in Unit}
    for index, unit in enumerate(units):
        for giver in _UNITS[waits[index]]:
            count[giver, unit] -= 1
        for taker in _UNITS[signals[index]]:
            count[unit, taker] += 1
            if count[unit, taker] > TOKEN_MAX:
                raise TilewrightError(
                    f"schedule: {count[unit, taker]} tokens from {unit.name} to {taker.name}, at most {TOKEN_MAX}; "
                    "use larger tiles"
                )
