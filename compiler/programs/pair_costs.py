"""The costs of schemes behind each other, learnt from whole programs on the cycle model.

A group's scheme also changes the cycles of the next group. With ``k`` schemes of each of ``n`` groups there are ``n k k``
pairs. One program measures ``n`` of them, between the neighbours that they will have: the cost of a group behind another is
how much later it is done. In one program every second group has its scheme number ``r``, and the others have their own best.
It tells the cost of ``r`` behind the best, and of the best behind ``r``. Any other pair counts as the sum of both changes,
until a timed program has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

Choices = tuple[int, ...]
"""The number of the scheme of each group. 0 is its best alone."""
Timed = tuple[int, Sequence[int]]
"""The cycles of a program, and by how many cycles each group is done later than those before it."""
Table = NDArray[np.float64]
"""The cycles of a group. Rows are schemes of the group before (one row if the machine rests before), columns its own."""


class PairCosts:
    """Costs of pairs of neighbours. ``sizes``: the number of schemes of each group. ``first``: groups with a rest before."""

    def __init__(
        self, sizes: Sequence[int], first: Sequence[int], time: Callable[[Sequence[Choices]], Sequence[Timed]]
    ) -> None:
        self.sizes, self.first, self._time = sizes, {*first}, time
        self.whole: dict[Choices, int] = {}
        """The cycles of the programs that were timed."""
        self._pairs: list[dict[tuple[int, int], int]] = [{} for _ in sizes]

    @property
    def own(self) -> Choices:
        return (0,) * len(self.sizes)

    def ask(self, *asked: Choices) -> None:
        """Times the programs, and keeps what their pairs take."""
        new = [choices for choices in dict.fromkeys(asked) if choices not in self.whole]
        for choices, (cycles, spent) in zip(new, self._time(new), strict=True):
            self.whole[choices] = cycles
            for number, own in enumerate(choices):
                before = 0 if number in self.first else choices[number - 1]
                self._pairs[number][before, own] = spent[number]

    def star(self) -> Iterator[Choices]:
        """The programs to time first: the one with all best schemes, and those with each other scheme between best ones."""
        yield self.own
        turns = self._turns()
        for number, turn in product(range(1, max(self.sizes, default=0)), (0, 1)):
            choices = tuple(
                number if own == turn and number < size else 0 for own, size in zip(turns, self.sizes, strict=True)
            )  # fmt: skip
            if any(choices):
                yield choices

    def _turns(self) -> list[int]:
        """For each group: in which of two programs, 0 or 1, it has another scheme than its best.

        Two neighbours with several schemes take turns. If there are no such neighbours, all is in program 0.
        """
        turns: list[int] = []
        for number, size in enumerate(self.sizes):
            beside = number > 0 and size > 1 and self.sizes[number - 1] > 1 and number not in self.first
            turns.append(1 - turns[-1] if beside else 0)
        return turns

    def tables(self) -> list[Table]:
        """The costs of all pairs: known ones, and estimates of the others. The programs of ``star`` must have been timed."""
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
        # What was chosen before a rest makes no difference to the group after it.
        total = (cost if len(table) > 1 or len(cost) == 1 else cost.min(keepdims=True))[:, None] + table
        rested = len(table) == 1 < len(cost)
        origins.append(np.full(table.shape[1], cost.argmin()) if rested else total.argmin(axis=0))
        cost = total.min(axis=0)
    choices = [int(cost.argmin())] if tables else []
    for origin in reversed(origins[1:]):
        choices.append(int(origin[choices[-1]]))
    return tuple(reversed(choices))
