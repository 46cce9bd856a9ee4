"""The numbers of steps in which a group may go over its rows, and its rows in each. They are the same for all passes."""

from __future__ import annotations

from collections.abc import Collection

from compiler.planning.operations import Group
from compiler.planning.ranges import Ranges, deduce


def step_counts(group: Group) -> list[int]:
    """The numbers of steps that change the rows of a step, the fewest first."""
    height = max(group.tensors[name].height for name in group.outputs)
    return sorted({-(-height // rows) for rows in range(1, height + 1)})


class Stepping:
    """The stepping of a group. ``steps``: the number that is decided. None: any number that changes the rows of a step."""

    def __init__(self, group: Group, steps: int | None = None) -> None:
        self.group = group
        self.batch = group.tensors[group.outputs[0]].batch
        self.counts = step_counts(group) if steps is None else [steps]
        height = max(group.tensors[name].height for name in group.outputs)
        self._finest = deduce(group, height)
        self._ranges = {height: self._finest}
        self.rows = {name: end[-1] for name, end in self._finest.ends.items()}
        """The rows of each map that are needed."""

    def ranges(self, steps: int) -> Ranges:
        if steps not in self._ranges:
            alike = len({self.group.tensors[name].height for name in self.group.outputs}) == 1
            self._ranges[steps] = self._finest.coarser(steps) if alike else deduce(self.group, steps)
        return self._ranges[steps]

    def rounds(self, steps: int, held: Collection[str]) -> int:
        """How often a pass goes over its parameters before the next pass. With held maps, a pass is over one image."""
        return steps if held else steps * self.batch

    def loads(self, first: bool, held: Collection[str]) -> list[str]:
        """The inputs that the first pass loads, or a later one, which finds held maps on chip."""
        return [name for name in self.group.inputs if first or name not in held]
