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

    def exchange(self, op: Op, pc: int, rest: Iterable[tuple[Op, int]]) -> None:
        """Takes and gives what the instruction asks for; raises ``MachineFault`` if the program is not sequential.

        ``rest`` is the part of the program behind it.
        """
        if not self._lacking(op):
            self._take(op)
            if not self._crowded(op):
                self._give(op)
                return
            raise self._watchdog(op, pc, rest, started=True)
        raise self._watchdog(op, pc, rest, started=False)

    def _lacking(self, op: Op) -> list[Unit]:
        """The units whose token the instruction waits for in vain."""
        return [giver for giver in sorted(op.wait) if not self._count[giver, unit_of(op)]]

    def _crowded(self, op: Op) -> list[Unit]:
        """The units to which so many tokens are on the way that there is no room for one more."""
        return [taker for taker in sorted(op.signal) if self._count[unit_of(op), taker] == TOKEN_MAX]

    def _take(self, op: Op) -> None:
        for giver in op.wait:
            self._count[giver, unit_of(op)] -= 1

    def _give(self, op: Op) -> None:
        for taker in op.signal:
            self._count[unit_of(op), taker] += 1

    def _watchdog(self, op: Op, pc: int, rest: Iterable[tuple[Op, int]], *, started: bool) -> MachineFault:
        """The fault when ``op`` lacks a token or, having ``started``, room for one of its own.

        The units run on until none can. Then the watchdog names the instruction with which the first of them waits.
        """
        queues: dict[Unit, deque[tuple[Op, int]]] = {unit: deque() for unit in Unit}
        for later in chain([(op, pc)], rest):
            queues[unit_of(later[0])].append(later)
        at_work = {pc} if started else set()
        moved = True
        while moved:
            moved = False
            for queue in queues.values():
                while queue:
                    head, at = queue[0]
                    if at not in at_work and not self._lacking(head):
                        self._take(head)
                        at_work.add(at)
                        moved = True
                    if at not in at_work or self._crowded(head):
                        break
                    self._give(head)
                    queue.popleft()
                    moved = True
        stuck, stuck_pc = next((queue[0] for queue in queues.values() if queue), (op, pc))
        if stuck_pc in at_work:
            takers = ", ".join(unit.name for unit in self._crowded(stuck) or sorted(stuck.signal))
            detail = f"{stuck.name} waits with its token: {TOKEN_MAX} are on the way to {takers}"
        else:
            missing = ", ".join(unit.name for unit in self._lacking(stuck) or sorted(op.wait))
            detail = f"{stuck.name} waits for a token from {missing}"
        return MachineFault(Fault.WATCHDOG, stuck_pc, detail)


def unit_of(op: Op) -> Unit:
    """The unit that executes the instruction."""
    unit = op.row.unit
    assert isinstance(unit, Unit), "START and END carry no tokens"
    return unit
