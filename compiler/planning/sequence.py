"""The order in which the loads, layers and saves of a pass are executed: within a step, and step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

from compiler.planning.operations import Group

Each = TypeVar("Each")


class Turn(NamedTuple):
    """An action on a map in each step."""

    what: Literal["load", "make", "save"]
    map: str

    @property
    def key(self) -> str:
        """The name that skews use: the output of a layer, ``load x``, or ``save x``."""
        return self.map if self.what == "make" else f"{self.what} {self.map}"


def sequence(group: Group, loads: Sequence[str], in_turn: bool) -> list[Turn]:
    """The turns of a step: all loads, then all layers, then all saves. Units run ahead of that as far as hazards let them.

    ``in_turn``: each map is loaded right before the first layer that reads it, and saved right behind the layer that makes it.
    So it is in use no longer than it must be.
    """
    if not in_turn:
        return [
            *(Turn("load", name) for name in loads), *(Turn("make", layer.output) for layer in group.layers),
            *(Turn("save", name) for name in group.outputs),
        ]  # fmt: skip
    waiting = list(loads)
    turns = []
    for layer in group.layers:
        read = [name for name in waiting if name in group.sources(layer)]
        waiting = [name for name in waiting if name not in read]
        turns += [*(Turn("load", name) for name in read), Turn("make", layer.output)]
        turns += [Turn("save", name) for name in group.outputs if name == layer.output]
    return turns


def slots(turns: Sequence[tuple[Each, int]], steps: int) -> Iterator[list[tuple[Each, int]]]:
    """Yields the actions of each time slot, with their steps. In slot ``s`` an action that runs ``k`` steps behind does step
    ``s - k``. ``turns``: the actions of a step in their order, and how many steps each runs behind."""
    for slot in range(steps + max(behind for _, behind in turns)):
        yield [(turn, slot - behind) for turn, behind in turns if 0 <= slot - behind < steps]
