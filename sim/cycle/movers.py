"""LOAD and SAVE as pipelines: when an instruction may be accepted, when it is done, and when its words are on chip."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Reversible
from math import ceil

from sim.cycle.bus import EPSILON, NEVER, Bus, Stream, Transfer
from sim.cycle.costs import MoveCost
from sim.cycle.timing import (
    BRIDGE_WRITE,
    BURSTS_AHEAD,
    LOAD_ADDRESS,
    LOAD_CHUNKS,
    LOAD_FILL,
    LOAD_GAP,
    LOAD_NEXT,
    LOAD_TAIL,
    LOAD_WORD,
    LOADP_TAIL,
    SAVE_ADDRESS,
    SAVE_AHEAD_BEATS,
    SAVE_READ,
    SAVE_TAIL,
    SAVE_WRITE,
)
from sim.cycle.trails import Latest, Stretch, Trail
from sim.cycle.units import KEPT


class _Mover(ABC):
    """The common part of LOAD and SAVE. An instruction is accepted when the one before the last has left the front."""

    notice = 0

    def __init__(self, costs: list[MoveCost | None], stream: Stream, bus: Bus) -> None:
        self._costs = costs
        self._stream = stream
        self._bus = bus
        self._next = 0
        self._left: list[float] = [-NEVER, -NEVER]
        """The served beats at which the instruction before the last, and the last one, have left the front."""
        self._moved: deque[Trail] = deque(maxlen=KEPT)

    def ready(self) -> int | None:
        stream = self._stream
        if stream.served + EPSILON < self._left[0]:
            stream.watch = self._left[0]
            return None
        if stream.watch < NEVER:
            stream.watch = NEVER
            self._next = max(self._next, ceil(self._bus.now) + LOAD_NEXT)
        return self._next

    def reads(self) -> Reversible[Trail]:
        return ()

    def writes(self) -> Reversible[Trail]:
        return ()

    def finished(self, transfer: Transfer, cycle: float) -> int:
        """Returns when the instruction is done, since DRAM has served this transfer."""
        cost = self._cost(transfer.index)
        self._moved.extend(self._trail(transfer, cycle))
        return ceil(cycle - EPSILON) + self._tail(cost)

    def _cost(self, index: int) -> MoveCost:
        cost = self._costs[index]
        assert cost is not None
        return cost

    @abstractmethod
    def _trail(self, transfer: Transfer, end: float) -> tuple[Trail, ...]:
        """The trail of its words on chip, if DRAM has served it, or will have, at ``end``."""

    def _coming(self, speed: float) -> float:
        """When the transfer that DRAM serves now is over, as far as is known."""
        current = self._stream.current
        assert current is not None
        return max(self._bus.now, current.due) + self._stream.left / speed

    @abstractmethod
    def _tail(self, cost: MoveCost) -> int:
        """The cycles from when DRAM has served it until it is done."""

    def _leaves(self, served: float) -> None:
        self._left = [self._left[1], served]


class LoadPipeline(_Mover):
    """LOAD and LOADP: addresses run ahead of data, and data fills words."""

    def __init__(self, costs: list[MoveCost | None], bus: Bus, burst_beats: int) -> None:
        super().__init__(costs, bus.reads, bus)
        self._read = LOAD_ADDRESS + bus.read
        self._burst_beats = burst_beats
        self._beats_ahead = bus.ahead
        self._walked = 0.0
        """The share of an instruction that came in earlier transfers."""
        self._last: MoveCost | None = None
        """The last load. LOAD begins when the LOADP before is written, and the reverse; LOADW waits for each, and each for
        it."""
        self._runs = (0, 0)
        """The beats of the last two runs."""
        self._bursts: deque[tuple[int, float]] = deque(maxlen=BURSTS_AHEAD)
        """The bursts of each of the last transfers, and the beats of each burst."""

    def accept(self, index: int, cycle: int) -> None:
        cost = self._cost(index)
        gap = LOAD_GAP if cost.parameters or cost.cycles > cost.beats else 0
        if self._last is not None and (cost.parameters != self._last.parameters or cost.alone or self._last.alone):
            gap = self._tail(self._last) + (0 if cost.parameters else LOAD_WORD)
        self._last = cost
        due = cycle + (self._read if cost.beats else LOAD_FILL)
        if cost.beats:
            self._runs = (cost.run if cost.beats > cost.run else self._runs[1], cost.run)
            self._bursts.append((cost.bursts, cost.beats / cost.bursts))
        chunks = 0 if cost.parameters else LOAD_CHUNKS
        first = min(cost.run, self._burst_beats)
        self._stream.add(Transfer(index, cost.beats, cost.cycles, due, gap, cost.bursts, chunks=chunks, first=first))
        ahead = sum(self._runs) + self._beats_ahead + (cost.run - 1) % self._burst_beats + 1
        self._leaves(self._stream.asked - min(ahead, self._ahead()))
        self._next = cycle + LOAD_NEXT

    def finished(self, transfer: Transfer, cycle: float) -> int:
        finish = super().finished(transfer, cycle)
        cost = self._cost(transfer.index)
        self._walked = 0.0 if transfer.last else self._walked + transfer.bursts / cost.bursts
        return finish

    def writes(self) -> Reversible[Trail]:
        current = self._stream.current
        if current is None:
            return self._moved
        return Latest(self._moved, self._trail(current, self._coming(self._bus.speeds[0])))

    def _trail(self, transfer: Transfer, end: float) -> tuple[Trail, ...]:
        cost = self._cost(transfer.index)
        if cost.walk is None:
            return ()
        part = transfer.bursts / cost.bursts if cost.bursts else 1.0
        words = round(cost.words * part)
        skip = round(cost.words * self._walked) if part < 1 else 0
        begin = ceil(transfer.due) + LOAD_TAIL + cost.edge
        length = max(words, ceil(end - transfer.due))
        return (Stretch(begin, begin + length, cost.use.writes, cost.walk, 1, length / max(1, words), skip),)

    def _ahead(self) -> float:
        """The beats of the last bursts: of as many as may have left the generator of runs without being served."""
        left, beats = BURSTS_AHEAD, 0.0
        for count, size in reversed(self._bursts):
            if count >= left:
                return beats + left * size
            left -= count
            beats += count * size
        return NEVER

    def _tail(self, cost: MoveCost) -> int:
        return LOADP_TAIL if cost.parameters else LOAD_TAIL + cost.edge


class SavePipeline(_Mover):
    """SAVE: words are read ahead of the beats that DRAM has taken."""

    def __init__(self, costs: list[MoveCost | None], bus: Bus, burst_beats: int, ports: int = 1) -> None:
        super().__init__(costs, bus.writes, bus)
        self._burst_beats = burst_beats
        self._late = BRIDGE_WRITE if ports > 1 else 0
        """The cycles that the bridge adds, on the way there and on the way back."""
        self._ahead = SAVE_AHEAD_BEATS + (2 * ports * burst_beats if ports > 1 else 0)
        self._read = 0
        """The first cycle in which the words of the next instruction can be read."""
        self._begins: dict[int, int] = {}
        """When the words of each instruction are read that DRAM has not served yet."""

    def accept(self, index: int, cycle: int) -> None:
        cost = self._cost(index)
        due = cycle + max(SAVE_WRITE, SAVE_ADDRESS + cost.address_wait) + self._late
        first = min(cost.run, self._burst_beats)
        self._stream.add(Transfer(index, cost.beats, cost.cycles, due, 0, first=first))
        self._leaves(self._stream.asked - self._ahead)
        begin = max(cycle + 1, self._read)
        self._read = begin + cost.words
        self._begins[index] = begin + SAVE_READ
        self._next = max(begin + 1, cycle + LOAD_NEXT + max(0, cost.address_wait))

    def reads(self) -> Reversible[Trail]:
        current = self._stream.current
        if current is None:
            return self._moved
        queued = [trail for transfer in self._stream.queue for trail in self._trail(transfer, 0.0)]
        return Latest(self._moved, [*self._trail(current, self._coming(self._bus.speeds[1])), *queued])

    def finished(self, transfer: Transfer, cycle: float) -> int:
        finish = super().finished(transfer, cycle)
        del self._begins[transfer.index]
        return finish

    def _trail(self, transfer: Transfer, end: float) -> tuple[Trail, ...]:
        """Reads one word after the other until as many beats wait as there is room for, then as fast as DRAM takes them."""
        cost = self._cost(transfer.index)
        begin = self._begins[transfer.index]
        assert cost.walk is not None
        groups, walk = cost.use.reads, cost.walk
        alone = cost.cycles / cost.words
        room = min(cost.words, self._ahead * cost.words // cost.beats)
        filled = begin + ceil(room * alone)
        first = Stretch(begin, filled, groups, walk, 1, alone)
        if room == cost.words:
            return (first,)
        pace = max(alone, (end - transfer.due) / cost.words)
        later = max(filled, ceil(transfer.due)) if pace > alone else filled
        return first, Stretch(later, later + ceil((cost.words - room) * pace), groups, walk, 1, pace, room)

    def _tail(self, cost: MoveCost) -> int:
        return SAVE_TAIL + self._late
