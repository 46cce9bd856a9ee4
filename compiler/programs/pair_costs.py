"""What schemes cost behind each other, learnt from whole programs on the cycle model.

The next group of the program feels a group's scheme. With ``k`` schemes of each of ``n`` groups there are ``n k k`` pairs. One
program measures ``n`` of them, between the neighbours that they will have: the cost of a group behind another is how much later
it is done. In one program every second group has its scheme number ``r``, and the others have their own best. It tells the cost
of ``r`` behind the best, and of the best behind ``r``. Any other pair counts as the sum of both changes, until a timed program
has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

Choices = tuple[int, ...]
"""The scheme of each group by number; 0 is its own best."""
Timed = tuple[int, Sequence[int]]
"""Cycles of a program, and by how much later each group is done than those before it."""
Table = NDArray[np.float64]
"""What a group takes: rows are schemes of the group before, columns its own. One row where the machine rests before."""


class PairCosts:
    """``sizes``: schemes of each group. ``first``: groups before which the machine rests."""

    def __init__(
        self, sizes: Sequence[int], first: Sequence[int], time: Callable[[Sequence[Choices]], Sequence[Timed]]
    ) -> None:
        self.sizes, self.first, self._time = sizes, {*first}, time
        self.whole: dict[Choices, int] = {}
        """Cycles of the programs that were timed."""
        self._pairs: list[dict[tuple[int, int], int]] = [{} for _ in sizes]

    @property
    def own(self) -> Choices:
        return (0,) * len(self.sizes)

    def ask(self, *asked: Choices) -> None:
        """Times the programs; what their pairs take is known from them ever after."""
        new = [choices for choices in dict.fromkeys(asked) if choices not in self.whole]
        for choices, (cycles, spent) in zip(new, self._time(new), strict=True):
            self.whole[choices] = cycles
            for number, own in enumerate(choices):
                before = 0 if number in self.first else choices[number - 1]
                self._pairs[number][before, own] = spent[number]

    def star(self) -> Iterator[Choices]:
        """Programs to ask first: the best of each, and each scheme between neighbours that have theirs."""
        yield self.own
        turns = self._turns()
        for number, turn in product(range(1, max(self.sizes, default=0)), (0, 1)):
            choices = tuple(
                number if own == turn and number < size else 0 for own, size in zip(turns, self.sizes, strict=True)
            )  # fmt: skip
            if any(choices):
                yield choices

    def _turns(self) -> list[int]:
        """In which of two programs a group has its scheme, so that no neighbour has another one, too: in one alone, where none
        of those that have several is a neighbour of another."""
        turns: list[int] = []
        for number, size in enumerate(self.sizes):
            beside = number > 0 and size > 1 and self.sizes[number - 1] > 1 and number not in self.first
            turns.append(1 - turns[-1] if beside else 0)
        return turns

    def tables(self) -> list[Table]:
        """Costs of all pairs, as far as they are known, and estimated beyond; all pairs of ``star`` are known."""
        return [
            np.array([[self._spent(n, a, b) for b in range(size)] for a in range(1 if n in self.first else self.sizes[n - 1])])
            for n, size in enumerate(self.sizes)
        ]  # fmt: skip

    def _spent(self, number: int, before: int, own: int) -> float:
        known = self._pairs[number]
        if (before, own) in known:
            return known[before, own]
        return known[before, 0] + known[0, own] - known[0, 0]


def cheapest_chain(tables: Sequence[Table]) -> Choices:
    """The choices that cost least together, by dynamic programming from group to group."""
    cost = np.zeros(1)
    origins = []
    for table in tables:
        # Whoever follows a rest is alike whatever was chosen before.
        total = (cost if len(table) > 1 or len(cost) == 1 else cost.min(keepdims=True))[:, None] + table
        rested = len(table) == 1 < len(cost)
        origins.append(np.full(table.shape[1], cost.argmin()) if rested else total.argmin(axis=0))
        cost = total.min(axis=0)
    choices = [int(cost.argmin())] if tables else []
    for origin in reversed(origins[1:]):
        choices.append(int(origin[choices[-1]]))
    return tuple(reversed(choices))
