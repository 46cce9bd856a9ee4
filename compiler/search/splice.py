"""Good partitions cut where they agree, and the best stretches of each put together.

Strategies add up costs of groups, each alone. In a program a group also loads under the one before it, and waits for what
that one saves last. So what a group takes *behind another* is asked of the cycle model: how much later it ends in a program
that runs the two in a row. Such pairs come in few shapes, for networks repeat themselves, and where all partitions have the
same groups nothing needs to be asked.

Asking is dear, so it is put off: pairs that were not asked about yet are hoped to take little, the path that is shortest by
those hopes is asked about, and so on until one has been asked about wholly. With hopes that are never too high that is the
best. What is asked about at a time lies in long stretches of a path, each of which can be one program.

The partitions, each in the order of its program, are paths over sets of finished operations. Where two paths come through the
same set either may go on as the other does: the shortest path over all of them is at least as good as each, as far as pairs
tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from compiler.fusion.legal import Mask

Path = tuple[Mask, ...]
Ask = Callable[[Path], Sequence[int]]
"""What each group of a stretch but the first takes behind the one before it; the first is 0 before the first group of all."""
Hope = Callable[[Mask, Mask], int]
"""The same of the second of two groups, at most."""


class Road:
    """Sets of finished operations that the given paths come through, and how they go on."""

    def __init__(self, paths: Sequence[Sequence[Mask]]) -> None:
        self.paths = paths
        self.arrivals: dict[Mask, set[Mask]] = {}
        """By the finished set: the groups that finished it."""
        self.onward: dict[Mask, set[Mask]] = {}
        self._through: dict[Mask, int] = {}
        """How many paths come through."""
        for path in paths:
            for done, last, group in _steps(path):
                self.arrivals.setdefault(done, set()).add(last)
                self.onward.setdefault(done, set()).add(group)
                self._through[done] = self._through.get(done, 0) + 1
            self.arrivals.setdefault(sum(path), set()).add(path[-1])

    def common(self, done: Mask) -> bool:
        """Whether all paths come to this set by one group and leave it by one."""
        return self._through[done] == len(self.paths) and len(self.arrivals[done]) == len(self.onward[done]) == 1

    def shortest(self, step: Callable[[Mask, Mask, Mask], int]) -> Path:
        """Of all paths that go on, from any set on the way, as one of the given ones does there."""
        best: dict[tuple[Mask, Mask], tuple[int, Path]] = {(0, 0): (0, ())}
        for done in sorted(self.onward, key=int.bit_count):
            for last in self.arrivals[done]:
                cost, way = best[done, last]
                for group in self.onward[done]:
                    found = cost + step(done, last, group), (*way, group)
                    key = done | group, group
                    if key not in best or found < best[key]:
                        best[key] = found
        everything = max(self.arrivals, key=int.bit_count)
        return min(best[everything, last] for last in self.arrivals[everything])[1]


def splice(paths: Sequence[Sequence[Mask]], behind: Ask, hope: Hope) -> Path:
    """The shortest path by ``behind``; pairs that all paths share are never asked about, for they decide nothing.

    ``hope``: at most what ``behind`` would say, without asking.
    """
    road = Road(paths)
    known: dict[tuple[Mask, Mask], int] = {}

    def step(done: Mask, last: Mask, group: Mask) -> int:
        if road.common(done):
            return 0
        return known[last, group] if (last, group) in known else hope(last, group)

    while True:
        path = road.shortest(step)
        unknown = [
            (last, group) for done, last, group in _steps(path) if (last, group) not in known and not road.common(done)
        ]  # fmt: skip
        if not unknown:
            return path
        for stretch in _stretches(unknown):
            known |= zip(pairwise(stretch), behind(stretch), strict=True)


def _stretches(pairs: Sequence[tuple[Mask, Mask]]) -> Iterator[Path]:
    """Pairs of which each begins where the one before it ends, as one row."""
    row: list[Mask] = []
    for first, second in pairs:
        if row and row[-1] != first:
            yield tuple(row)
            row = []
        row += [second] if row else [first, second]
    yield tuple(row)


def _steps(path: Sequence[Mask]) -> Iterator[tuple[Mask, Mask, Mask]]:
    """What is finished, the last group, and the next."""
    done = last = 0
    for group in path:
        yield done, last, group
        done, last = done | group, group
