"""A program in the order in which its instructions may start, with the tokens that keep them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from compiler.instructions.hazards import dependences, hazards
from compiler.instructions.list_scheduling import start_order
from compiler.instructions.pending import Pending, Space
from compiler.instructions.tokens import tokens


class Scheduled(NamedTuple):
    places: list[int]
    """Instructions, by their numbers in the program, in their order."""
    waits: list[int]
    """For each instruction in this order, a mask of the units that it waits for."""
    signals: list[int]
    cycles: int
    """Cycles until all units are done, as the order estimates them."""


def scheduled(program: Sequence[Pending], sizes: Mapping[Space, int]) -> Scheduled:
    """``compiler.instructions.native`` finds the same; ``sizes`` are in words or bytes."""
    found = hazards(program, sizes)
    order = start_order(program, [met.before for met in found])
    moved = [program[index] for index in order.places]
    return Scheduled(order.places, *tokens(moved, dependences(program, found, order.places)), order.cycles)
