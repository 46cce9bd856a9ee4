"""Chooses which waiting item a worker takes next."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Sequence


class Waiting:
    """The numbers of waiting items. Items of one kind share what the first of them makes, as the simulator of a machine.

    A worker goes on with its kind, then begins one that no other works on, and helps another only when none is left.
    """

    def __init__(self, left: Sequence[int], kinds: Sequence[Hashable]) -> None:
        self._kinds = kinds
        self._by_kind: dict[Hashable, deque[int]] = {}
        for number in left:
            self._by_kind.setdefault(kinds[number], deque()).append(number)

    def __bool__(self) -> bool:
        return bool(self._by_kind)

    def take(self, before: int | None, others: Collection[int]) -> int:
        """Takes an item for a worker that had the item ``before``, while others work on ``others``."""
        taken = {self._kinds[number] for number in others}
        own = None if before is None else self._kinds[before]
        free = (kind for kind in self._by_kind if kind not in taken)
        kind = own if own in self._by_kind else next(free, next(iter(self._by_kind)))
        numbers = self._by_kind[kind]
        number = numbers.popleft()
        if not numbers:
            del self._by_kind[kind]
        return number

    def put_back(self, number: int) -> None:
        """Puts an item back as the first of its kind."""
        self._by_kind.setdefault(self._kinds[number], deque()).appendleft(number)
