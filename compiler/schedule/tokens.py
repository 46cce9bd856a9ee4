"""The fewest tokens that keep every dependence."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.schedule.instruction import Pending
from isa.codec import Op
from isa.errors import TilewrightError
from isa.faults import TOKEN_MAX
from isa.instructions import Unit

Clock = list[int]
"""Per unit: the last instruction that is known to be finished."""


def with_tokens(program: Sequence[Pending], needs: Sequence[dict[Unit, int]]) -> list[Op]:
    """The instructions with wait and signal masks.

    An instruction knows what its unit's earlier instructions waited for, and, with each token, all that
    the giver knew when it started, and that the giver and all before it in its unit are finished. A
    dependence that is known already costs no token. Per pair of units the waits are for ever later
    givers, so the k-th token given is the k-th taken: counters suffice.
    """
    waits: list[set[Unit]] = [set() for _ in program]
    signals: list[set[Unit]] = [set() for _ in program]
    started: list[Clock] = []
    latest: dict[Unit, Clock] = {unit: [-1] * len(Unit) for unit in Unit}
    for index, pending in enumerate(program):
        clock = list(latest[pending.unit])
        for giver_unit, giver in sorted(needs[index].items(), key=lambda item: -item[1]):
            if giver <= clock[giver_unit]:
                continue
            waits[index].add(giver_unit)
            signals[giver].add(pending.unit)
            clock = [*map(max, clock, started[giver])]
            clock[giver_unit] = max(clock[giver_unit], giver)
        started.append(clock)
        latest[pending.unit] = clock
    _check_counters(waits, signals, [p.unit for p in program])
    return [
        Op(p.name, p.values, frozenset(waits[i]), frozenset(signals[i])) for i, p in enumerate(program)
    ]


def _check_counters(waits: Sequence[set[Unit]], signals: Sequence[set[Unit]], units: Sequence[Unit]) -> None:
    """A program is sequential only if the counters hold all that is given and not yet taken, in program order."""
    count = {(p, c): 0 for p in Unit for c in Unit}
    for index, unit in enumerate(units):
        for giver in waits[index]:
            count[giver, unit] -= 1
        for taker in signals[index]:
            count[unit, taker] += 1
            if count[unit, taker] > TOKEN_MAX:
                raise TilewrightError(
                    f"schedule: {count[unit, taker]} tokens from {unit.name} to {taker.name}, at most {TOKEN_MAX}; "
                    "use larger tiles"
                )
