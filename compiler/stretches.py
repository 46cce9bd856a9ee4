"""Which stretches of a program must be timed, where of the other groups it is known what they take behind each other.

What a group takes is felt from the one before it, whose loads and parameters it overlaps, and to the one behind it, whose
loads fill the bus while it saves. So a stretch begins with a group whose time is known and ends with one more. With these,
what each group takes in a stretch of its own adds up to what the program takes within 0.07 % for SqueezeNet, MobileNetV2 and
ResNet-50 on ``base``, 0.5 % for SqueezeNet and 2.2 % for MobileNetV2 on ``zu9``, where parameters are loaded further ahead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

AROUND = 1
"""Groups on each side of those that must be timed."""


@dataclass(frozen=True)
class Stretch:
    """Neighbours in a program, by their places in it: from ``start`` up to ``stop``."""

    start: int
    stop: int
    from_rest: bool
    """The machine rests before the first, so that its time, too, is that in the whole program."""


def stretches(unknown: Sequence[bool | None]) -> list[Stretch]:
    """Those that hold all unknown groups and what is around them.

    None: a CPU part, before and during which the machine rests.
    """
    found = []
    for begin, end in _between_cpu_parts(unknown):
        here = [place for place in range(begin, end) if unknown[place]]
        while here:
            last = 0
            # Groups between two that are unknown are no more than what would be around both.
            while last + 1 < len(here) and here[last + 1] - here[last] <= 2 * AROUND + 1:
                last += 1
            start, stop = max(begin, here[0] - AROUND), min(end, here[last] + AROUND + 1)
            found.append(Stretch(start, stop, start == begin))
            here = here[last + 1 :]
    return found


def _between_cpu_parts(unknown: Sequence[bool | None]) -> Iterator[tuple[int, int]]:
    begin = 0
    for place in [*(place for place, known in enumerate(unknown) if known is None), len(unknown)]:
        if place > begin:
            yield begin, place
        begin = place + 1


def halves(unknown: Sequence[bool | None], turns: Sequence[int]) -> list[list[bool | None]]:
    """Those that must be timed, in two parts that take about as long: two cores share them.

    ``turns``: of each group of the program, a measure of how long it takes to time.
    """
    left = sum(count for count, is_unknown in zip(turns, unknown, strict=True) if is_unknown)
    first, second = list(unknown), list(unknown)
    passed = 0
    for place, is_unknown in enumerate(unknown):
        if is_unknown:
            in_first = 2 * passed + turns[place] <= left
            first[place], second[place] = in_first, not in_first
            passed += turns[place]
    return [first, second]
