"""Dependency tokens: counters between every two units, in program order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import chain

from isa.codec import Op
from isa.faults import TOKEN_MAX, Fault, MachineFault
from isa.instructions import Unit


class TokenCounters:
    """Tokens on the way from one unit to another."""

    def __init__(self) -> None:
        self._count = {(giver, taker): 0 for giver in Unit for taker in Unit}

    def lacking(self, op: Op) -> list[Unit]:
        """The units whose token the instruction waits for in vain."""
        return [giver for giver in sorted(op.wait) if not self._count[giver, unit_of(op)]]

    def take(self, op: Op) -> None:
        for giver in op.wait:
            self._count[giver, unit_of(op)] -= 1

    def give(self, op: Op, pc: int) -> None:
        for taker in sorted(op.signal):
            self._count[unit_of(op), taker] += 1
            if self._count[unit_of(op), taker] > TOKEN_MAX:
                detail = f"more than {TOKEN_MAX} tokens from {unit_of(op).name} to {taker.name}"
                raise MachineFault(Fault.TOKEN_OVERFLOW, pc, detail)

    def watchdog(self, op: Op, pc: int, rest: Iterable[tuple[Op, int]]) -> MachineFault:
        """The fault when ``op`` lacks a token, ``rest`` being what follows it in the program.

        The units run on until none can: then the watchdog names the head of the first unit that waits.
        """
        queues: dict[Unit, deque[tuple[Op, int]]] = {unit: deque() for unit in Unit}
        for later in chain([(op, pc)], rest):
            queues[unit_of(later[0])].append(later)
        moved = True
        while moved:
            moved = False
            for queue in queues.values():
                while queue and not self.lacking(queue[0][0]):
                    started = queue.popleft()
                    self.take(started[0])
                    self.give(*started)
                    moved = True
        stuck, stuck_pc = next((queue[0] for queue in queues.values() if queue), (op, pc))
        missing = ", ".join(unit.name for unit in self.lacking(stuck) or sorted(op.wait))
        return MachineFault(Fault.WATCHDOG, stuck_pc, f"{stuck.name} waits for a token from {missing}")


def unit_of(op: Op) -> Unit:
    """The unit that executes the instruction."""
    unit = op.row.unit
    assert isinstance(unit, Unit), "START and END carry no tokens"
    return unit
