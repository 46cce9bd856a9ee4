"""Finds the closed set between two others with the fewest bytes in use, as a least cut.

Bytes in use are a cut: a use counts if it has begun on one side and has not ended on it. So the least of them over all closed
sets between two is found in polynomial time, by augmenting paths in layers (Dinic).
"""

from __future__ import annotations

from collections import deque

from compiler.memory.tasks import Mask, Tasks, members

_FREE = 1 << 62
"""A capacity that is never used up."""


def lowest_between(tasks: Tasks, low: Mask, high: Mask) -> Mask:
    """A closed set that holds ``low``, lies in ``high`` and has the fewest bytes in use. It is ``high`` if none has fewer."""
    inside = high & ~low
    if not inside & (inside - 1):
        return high if tasks.in_use(high) <= tasks.in_use(low) else low
    place = {task: number for number, task in enumerate(members(inside), 2)}
    net = _Net(len(place) + 2)
    for task, node in place.items():
        for other in members(tasks.before[task] & inside):
            net.link(node, place[other], _FREE)
    constant = 0
    for use in {number: tasks.uses[number] for task in place for number in tasks.touched[task]}.values():
        begun, endless = use.given or use.tasks & low, use.outlives or use.tasks & ~high
        if begun and endless:
            constant += use.size
            continue
        first = _Net.SOURCE if begun else net.node()
        last = _Net.SINK if endless else net.node()
        net.link(first, last, use.size)
        for task in members(use.tasks & inside):
            if not begun:
                net.link(place[task], first, _FREE)
            if not endless:
                net.link(last, place[task], _FREE)
    untouched = sum(
        use.size for use in tasks.uses
        if not use.tasks & inside and (use.given or use.tasks & low) and (use.outlives or use.tasks & ~high)
    )  # fmt: skip
    least = net.fill() + constant + untouched
    if least >= tasks.in_use(high):
        return high
    reached = net.reached()
    return low | sum(1 << task for task, node in place.items() if reached[node] >= 0)


class _Net:
    SOURCE, SINK = 0, 1

    def __init__(self, nodes: int) -> None:
        self._links: list[list[int]] = [[] for _ in range(nodes)]
        self._end: list[int] = []
        self._room: list[int] = []

    def node(self) -> int:
        self._links.append([])
        return len(self._links) - 1

    def link(self, begin: int, end: int, room: int) -> None:
        """Adds a link and its reverse, which has no room at first. The reverse of link ``n`` is ``n ^ 1``."""
        for at, to, capacity in ((begin, end, room), (end, begin, 0)):
            self._links[at].append(len(self._end))
            self._end.append(to)
            self._room.append(capacity)

    def reached(self) -> list[int]:
        """For each node, its distance from the source by links with room. -1: there is no way."""
        found = [-1] * len(self._links)
        found[self.SOURCE] = 0
        queue = deque([self.SOURCE])
        while queue:
            at = queue.popleft()
            for link in self._links[at]:
                if self._room[link] and found[self._end[link]] < 0:
                    found[self._end[link]] = found[at] + 1
                    queue.append(self._end[link])
        return found

    def fill(self) -> int:
        """Fills the net, and returns the greatest flow from the source to the sink."""
        flow = 0
        while (layers := self.reached())[self.SINK] >= 0:
            following = [0] * len(self._links)
            while found := self._augment(layers, following):
                flow += found
        return flow

    def _augment(self, layers: list[int], following: list[int]) -> int:
        """Adds the flow along one way through the layers. ``following``: for each node, how many of its links lead nowhere."""
        way: list[int] = []
        at = self.SOURCE
        while at != self.SINK:
            links = self._links[at]
            while following[at] < len(links):
                link = links[following[at]]
                if self._room[link] and layers[self._end[link]] == layers[at] + 1:
                    break
                following[at] += 1
            else:
                if not way:
                    return 0
                at = self._end[way.pop() ^ 1]
                following[at] += 1
                continue
            way.append(link)
            at = self._end[link]
        amount = min(self._room[link] for link in way)
        for link in way:
            self._room[link] -= amount
            self._room[link ^ 1] += amount
        return amount
