"""``dnnvm``: template groups, and shortest paths between barriers (DNNVM section 5.2, Algorithm 2).

A barrier is an operation that reads the results of several others (a join), or whose result several others read (a fork).
Between barriers the graph is lines. On each line the shortest path over the embeddings of templates is found. Groups do not
reach across barriers, with two exceptions. The end of one branch may take the join with it; the join is computed once, so it
leaves its own line. Convolutions that read one map may run side by side; each leaves its line. Each barrier is decided once, in
topological order, because Algorithm 2 does not say how it weighs decisions at several barriers.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.fusion.legal import Mask, OpSets, bits_of
from compiler.fusion.templates import TEMPLATES, Template, template_groups
from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import Partition, made_of, price_of, price_or_none
from compiler.xgraph.graph import XGraph

Line = tuple[int, ...]
"""Operations of which each is the only reader of the one before, and reads nothing else."""
Steps = list[Mask]


def dnnvm(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    return dnnvm_among(evaluator, objective, TEMPLATES)


def dnnvm_among(evaluator: Evaluator, objective: Objective, templates: tuple[Template, ...]) -> Partition:
    return _Search(evaluator, objective, templates).partition()


class _Search:
    def __init__(self, evaluator: Evaluator, objective: Objective, templates: tuple[Template, ...]) -> None:
        self.evaluator, self.objective, self.sets = evaluator, objective, evaluator.sets
        self.templates = template_groups(self.sets, templates)
        self.longest = max(map(int.bit_count, self.templates), default=1)
        self.lines = lines_of(self.sets)
        self.line_of = {line[-1]: number for number, line in enumerate(self.lines)}
        self.joined: Steps = []
        self._known: dict[Line, tuple[int, Steps]] = {}

    def partition(self) -> Partition:
        for number in range(len(self.lines)):
            self._join(number)
        self._side_by_side()
        groups = [group for line in self.lines for group in self._path(line)[1]]
        return made_of(self.evaluator, self.objective, [*groups, *self.joined])

    def _join(self, number: int) -> None:
        """Moves the first operation of a line to one of the branches that it joins, if that is cheaper (lines 5 to 12)."""
        line = self.lines[number]
        if not line or self.sets.needs[line[0]].bit_count() < 2:
            return
        best, choice = 0, -1
        for maker in bits_of(self.sets.needs[line[0]]):
            branch = self.lines[self.line_of[maker]] if maker in self.line_of else ()
            if branch and self.sets.only_feeds(maker, line[0]):
                change = self._length((*branch, line[0])) + self._length(line[1:])
                change -= self._length(branch) + self._length(line)
                if change < best:
                    best, choice = change, maker
        if choice >= 0:
            taking = self.line_of.pop(choice)
            self.lines[taking] = (*self.lines[taking], line[0])
            self.lines[number] = line[1:]
            if len(line) == 1:
                # The branch now ends in the join, and may take the next one.
                self.line_of[line[0]] = taking

    def _side_by_side(self) -> None:
        """Groups heads of lines that share a map, the group that saves most first."""
        heads = {line[0]: number for number, line in enumerate(self.lines) if line}
        sharing = [
            group for group in self.templates
            if all(n in heads and self.sets.shares[n] & group == group & ~(1 << n) for n in bits_of(group))
        ]  # fmt: skip
        savings = []
        for group in sharing:
            price = self._price(group)
            if price is not None and group.bit_count() > 1:
                apart = [self.lines[heads[n]] for n in bits_of(group)]
                saving = sum(self._length(line) - self._length(line[1:]) for line in apart) - price
                savings.append((saving, group))
        for saving, group in sorted(savings, key=lambda item: (-item[0], item[1])):
            members = list(bits_of(group))
            if saving > 0 and all(self.lines[heads[n]][:1] == (n,) for n in members):
                for n in members:
                    self.lines[heads[n]] = self.lines[heads[n]][1:]
                self.joined.append(group)

    def _price(self, group: Mask) -> int | None:
        """The cost of a template, or of a run that needs no tiling, if all parameters fit on chip; None for any other group."""
        if group.bit_count() == 1:
            return price_of(self.evaluator, self.objective, group)
        if not self.evaluator.parameters_fit(group):
            return None
        if group not in self.templates and not self.evaluator.fits_whole(group):
            return None
        return price_or_none(self.evaluator, self.objective, group)

    def _length(self, line: Line) -> int:
        return self._path(line)[0]

    def _path(self, line: Line) -> tuple[int, Steps]:
        if line not in self._known:
            edges: dict[tuple[int, int], tuple[int, Mask]] = {}
            for first in range(len(line)):
                group = 0
                for last in range(first, len(line)):
                    group |= 1 << line[last]
                    price = self._price(group) if self.sets.legal(group) else None
                    if price is not None:
                        edges[first, last + 1] = price, group
                    elif last - first >= self.longest:
                        # A path longer than templates must fit in whole. If it does not, no longer one does.
                        break
            self._known[line] = shortest(len(line), edges)
        return self._known[line]


def lines_of(sets: OpSets) -> list[Line]:
    """The lines of operations between barriers, and between results that are stored."""
    lines: list[Line] = []
    end: dict[int, int] = {}
    for number in range(len(sets.ops)):
        needs = sets.needs[number]
        maker = needs.bit_length() - 1
        alone = needs.bit_count() == 1 and sets.only_feeds(maker, number)
        if alone and maker in end:
            lines[end[maker]] = (*lines[end[maker]], number)
            end[number] = end.pop(maker)
        else:
            end[number] = len(lines)
            lines.append((number,))
    return lines


def shortest(count: int, edges: Mapping[tuple[int, int], tuple[int, Mask]]) -> tuple[int, Steps]:
    """The shortest path from 0 to ``count``, and the groups on it (Algorithm 2, lines 17 to 25).

    All paths begin at one end and no edge leads back, so each place is settled once, in order; each edge is looked at once.
    """
    ending: list[list[int]] = [[] for _ in range(count + 1)]
    for first, end in edges:
        ending[end].append(first)
    cost, came = [0], [0]
    for end in range(1, count + 1):
        least, first = min((cost[first] + edges[first, end][0], first) for first in ending[end])
        cost.append(least)
        came.append(first)
    steps: Steps = []
    end = count
    while end:
        steps.append(edges[came[end], end][1])
        end = came[end]
    return cost[count], steps[::-1]
