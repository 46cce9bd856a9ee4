"""Texts about lasting work: what is being done, and about how long it still takes."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

LONGER = 1 / 5
"""The least time that late work still takes, as a share of the time so far."""


class Doing(str):
    """What is being done, and about how many seconds everything still takes. None: not known."""

    what: str
    left: float | None

    def __new__(cls, what: str, left: float | None) -> Doing:
        made = super().__new__(cls, what if left is None else f"{what}, about {max(1, round(left))} s left")
        made.what, made.left = what, left
        return made

    def after(self, seconds: float) -> Doing:
        """The same text ``seconds`` later."""
        return self if self.left is None else Doing(self.what, max(self.left - seconds, seconds * LONGER))


class Pace:
    """The time that work of one kind still takes. It is the expected one until a share of the work is done, which tells this
    computer's speed."""

    def __init__(self, expected: float, clock: Callable[[], float] = perf_counter) -> None:
        self._expected, self._clock, self._begun = expected, clock, clock()

    def doing(self, what: str, share: float = 0.0) -> Doing:
        """The text about the work. ``share``: the share of all the work that is done."""
        taken = self._clock() - self._begun
        return Doing(what, taken * (1 - share) / share if share else max(self._expected - taken, taken * LONGER))
