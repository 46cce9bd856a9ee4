"""The cheapest partition into given groups, by dynamic programming over covered sets (Optimus equation 2).

    cost(V) = min over groups G that hold the first operation of V: price(G) + cost(V - G)

Groups are chosen in the order of their first operations, so a group may be chosen before a group that it waits for. Two convex
groups can then wait for each other, which Optimus' test (Algorithm 1, lines 24 to 30) does not see. So a state holds, for each
chosen group that still waits, the operations that it waits for and those that wait for it. A group in both sets is refused.
These sets are closed over the chosen groups, so every cycle is found when its last group is chosen. States that agree in these
sets can be completed in the same ways, so the result is exact.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.fusion.legal import Mask, OpSets
from compiler.planning.objective import Objective
from compiler.search.floors import Floors

Waits = tuple[tuple[Mask, Mask], ...]
"""For each chosen group that waits: operations not yet covered that must run before it, and all that must run after it."""
State = tuple[Mask, Waits]


@dataclass(frozen=True)
class _Path:
    """The cheapest way to a state."""

    spent: int
    group: Mask
    before: _Path | None


@dataclass(frozen=True)
class Cover:
    """The result of the search. ``groups`` is None if no partition was found that costs less than ``limit``."""

    groups: list[Mask] | None
    value: int
    dropped: int | None
    """A lower bound of the cost of every path that was given up for lack of room. None: no path was given up."""
    given_up: int = 0
    """The number of paths that were given up."""


def cheapest(
    sets: OpSets, prices: Mapping[Mask, int], floors: Floors, objective: Objective, *,
    most_states: int, guide: Sequence[float], limit: int | None = None,
) -> Cover:  # fmt: skip
    """Finds the cheapest partition into the groups in ``prices``.

    ``guide``: about what each operation costs. It decides which states are kept where there are more than ``most_states``.
    ``limit``: the value of a known partition; only cheaper ones are looked for.
    """
    count = len(sets.ops)
    starting: list[list[tuple[int, Mask, Mask, Mask]]] = [[] for _ in range(count)]
    for mask, price in prices.items():
        lowest = (mask & -mask).bit_length() - 1
        starting[lowest].append((price, mask, sets.before(mask), sets.after(mask)))
    fronts: list[dict[State, _Path]] = [{} for _ in range(count + 1)]
    fronts[0][0, ()] = _Path(0, 0, None)
    dropped: int | None = None
    given_up = 0
    for first in range(count):
        front, fronts[first] = fronts[first], {}
        states = list(front.items())
        if len(states) > most_states:
            given_up += len(states) - most_states
            ranked = heapq.nsmallest(most_states, range(len(states)), key=lambda n: _rank(states[n], guide, first))
            chosen = set(ranked)
            for number, ((covered, _), path) in enumerate(states):
                if number not in chosen:
                    least = path.spent + floors.rest(first, covered >> first << first, objective)
                    dropped = least if dropped is None else min(dropped, least)
            states = [states[n] for n in ranked]
        for (covered, waits), path in states:
            if limit is not None and path.spent + floors.rest(first, covered >> first << first, objective) >= limit:
                continue
            for price, mask, before, after in starting[first]:
                if mask & covered:
                    continue
                reached = covered | mask
                waiting = before & ~reached
                left = waits
                if waits or waiting:
                    found = _waits(waits, mask, waiting, after, reached)
                    if found is None:
                        continue
                    left = found
                spent = path.spent + price
                front = fronts[(~reached & (reached + 1)).bit_length() - 1]
                state = reached, left
                known = front.get(state)
                if known is None or spent < known.spent:
                    front[state] = _Path(spent, mask, path)
    end = fronts[count].get((sets.everything, ()))
    if end is None or (limit is not None and end.spent >= limit):
        return Cover(None, 0, dropped, given_up)
    return Cover(_groups(end), end.spent, dropped, given_up)


def _rank(state: tuple[State, _Path], guide: Sequence[float], first: int) -> tuple[float, Mask]:
    """The rank of a state: its cost so far, less the cost by ``guide`` of the operations that it covers beyond ``first``."""
    (covered, _), path = state
    ahead = covered >> first
    saved = 0.0
    number = first
    while ahead:
        if ahead & 1:
            saved += guide[number]
        ahead >>= 1
        number += 1
    return path.spent - saved, covered


def _waits(waits: Waits, group: Mask, before: Mask, after: Mask, covered: Mask) -> Waits | None:
    """The waits of a state after ``group`` is added. None: the group closes a cycle."""
    for ahead, behind in waits:
        if group & ahead:
            if group & behind:
                return None
            after |= behind
        if group & behind:
            before |= ahead
    # An operation both before and after the group closes a cycle; the test above finds that when a group with it comes.
    found = {(before & ~covered, after)} if before & ~covered else set()
    for ahead, behind in waits:
        grown = ahead | before if group & ahead else ahead
        grown &= ~covered
        if grown:
            found.add((grown, behind | after if group & behind else behind))
    return tuple(sorted(found))


def _groups(path: _Path) -> list[Mask]:
    groups = []
    at: _Path | None = path
    while at is not None and at.before is not None:
        groups.append(at.group)
        at = at.before
    return groups[::-1]
