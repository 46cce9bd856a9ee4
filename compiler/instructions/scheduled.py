"""Puts a program in the order in which its instructions may start, with the tokens that keep the dependences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from compiler.instructions.hazards import dependences, hazards
from compiler.instructions.list_scheduling import start_order
from compiler.instructions.pending import Pending, Space
from compiler.instructions.tokens import tokens


class Scheduled(NamedTuple):
    places: list[int]
    """The numbers of the instructions in the program, in their new order."""
    waits: list[int]
    """For each instruction in this order, a mask of the units that it waits for. ``signals``: of the units that it signals."""
    signals: list[int]
    cycles: int
    """The cycles until all units are done, as the ordering estimates them."""


def scheduled(program: Sequence[Pending], sizes: Mapping[Space, int]) -> Scheduled:
    """Finds order and tokens. ``compiler.instructions.native`` finds the same. ``sizes``: words or bytes of each memory."""
    found = hazards(program, sizes)
    order = start_order(program, [met.before for met in found])
    moved = [program[index] for index in order.places]
    return Scheduled(order.places, *tokens(moved, dependences(program, found, order.places)), order.cycles)
