"""Cuts good partitions where they agree, and puts the best stretches of each together.

Strategies add up the costs of single groups. In a program a group also loads under the group before it, and waits for what that
group saves last. So costs lie on edges: what a group takes *behind another*.

Each partition, in the order of its program, is a path over sets of finished operations. Where two paths come through the same
set, either may go on as the other does. The shortest path over all of them is at least as good as each, by the costs of edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from compiler.fusion.legal import Mask

Path = tuple[Mask, ...]
Behind = Callable[[Mask, Mask], int]
"""Tells the cycles of the second of two groups behind the first. Before the first group of all, the first is 0."""


def splice(paths: Sequence[Sequence[Mask]], behind: Behind) -> Path:
    """The shortest path among those that go on, from each finished set, as one of the given paths does there."""
    arrivals, onward = _meeting(paths)
    best: dict[tuple[Mask, Mask], tuple[int, Path]] = {(0, 0): (0, ())}
    for done in sorted(onward, key=int.bit_count):
        for last in arrivals[done]:
            cost, way = best[done, last]
            for group in onward[done]:
                found = cost + behind(last, group), (*way, group)
                key = done | group, group
                if key not in best or found < best[key]:
                    best[key] = found
    everything = max(arrivals, key=int.bit_count)
    return min(best[everything, last] for last in arrivals[everything])[1]


def _meeting(paths: Sequence[Sequence[Mask]]) -> tuple[dict[Mask, set[Mask]], dict[Mask, set[Mask]]]:
    """For each finished set, the groups that finished it and the groups that come next."""
    arrivals: dict[Mask, set[Mask]] = {}
    onward: dict[Mask, set[Mask]] = {}
    for path in paths:
        for done, last, group in _steps(path):
            arrivals.setdefault(done, set()).add(last)
            onward.setdefault(done, set()).add(group)
        arrivals.setdefault(sum(path), set()).add(path[-1])
    return arrivals, onward


def _steps(path: Sequence[Mask]) -> Iterator[tuple[Mask, Mask, Mask]]:
    """For each pair of neighbours: the finished set, the last group, and the next group."""
    done = last = 0
    for group in path:
        yield done, last, group
        done, last = done | group, group
