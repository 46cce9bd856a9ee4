"""The units as pipelines: when an instruction may be accepted, and when it is done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from math import ceil
from typing import Protocol

from isa.config import MachineConfig
from sim.cycle.bus import EPSILON, NEVER, Bus, Stream, Transfer
from sim.cycle.contest import Places, Side, WindowContest
from sim.cycle.costs import MiscCost, MoveCost, WindowCost
from sim.cycle.runs import MAX_BURST_BEATS
from sim.cycle.timing import (
    BURSTS_AHEAD,
    LOAD_AHEAD_BEATS,
    LOAD_FILL,
    LOAD_NEXT,
    LOAD_READ,
    LOAD_TAIL,
    LOADP_TAIL,
    LOOP_TO_BEAT,
    MISC_LATENCY,
    MISC_READ,
    PLACES_AHEAD,
    RASTER_AHEAD,
    RASTER_TO_BEAT,
    READ_TO_BEAT,
    SAVE_ADDRESS,
    SAVE_AHEAD_BEATS,
    SAVE_READ,
    SAVE_TAIL,
    SAVE_WRITE,
)
from sim.cycle.trails import Groups, Stretch, Trail, taken_by
from sim.cycle.walks import Banks, Masks, RoundWalk
from sim.cycle.words import WordContest

KEPT = 64
"""Instructions, or parts of them, whose accesses are remembered: more than are at work beside one that waits for them."""


class Pipeline(Protocol):
    """A unit behind its receiver."""

    def ready(self) -> int | None:
        """The first cycle in which it can accept; None while that depends on DRAM or on units that go before it."""

    def accept(self, index: int, cycle: int) -> int | None:
        """Take the instruction in that cycle; when it is done, or None if that is not known yet."""

    def reads(self) -> Sequence[Trail]:
        """What its last instructions read, for the units that come after it."""

    def writes(self) -> Sequence[Trail]:
        """What they write."""


class _Worker(ABC):
    """What CONV, POOL and MISC share: an instruction that may meet units which go first is followed step by step."""

    def __init__(self, contended: Sequence[tuple[bool, bool]], rivals: Sequence[Pipeline]) -> None:
        self._contended = contended
        self._rivals = rivals
        self._next = 0
        self.open: WindowContest | WordContest | None = None
        self._index = -1

    def ready(self) -> int | None:
        return None if self.open else self._next

    def advance(self, until: int) -> bool:
        """Follow the open work to that cycle; whether it is over."""
        assert self.open is not None
        self.open.advance(until, self._taken_reads, self._taken_writes)
        return self.open.over

    def settle(self) -> tuple[int, int]:
        """Close the open work; the instruction, and when it is done."""
        finish = self._close()
        self.open = None
        return self._index, finish

    def _taken_reads(self, groups: Groups, first: int, end: int) -> Masks | None:
        return taken_by((rival.reads() for rival in self._rivals), groups, first, end)

    def _taken_writes(self, groups: Groups, first: int, end: int) -> Masks | None:
        return taken_by((rival.writes() for rival in self._rivals), groups, first, end)

    @abstractmethod
    def _close(self) -> int:
        """The open work is over: when the instruction is done."""


class WindowPipeline(_Worker):
    """CONV and POOL: a raster that runs ahead, beats without a gap, places, and the end of the pipeline."""

    def __init__(
        self, config: MachineConfig, costs: list[WindowCost | None], lanes: int, done: int, stored: int,
        contended: Sequence[tuple[bool, bool]], rivals: Sequence[Pipeline],
    ) -> None:  # fmt: skip
        super().__init__(contended, rivals)
        self._costs = costs
        self._raster = config.px_p + 1
        self._placement = lanes + 1
        self._places = -(-config.px_p // lanes)
        self._done, self._stored = done, stored
        self._raster_free = self._places_free = 0
        self._beats_over = 0
        self._last_done = -1
        self._accepted = self._begin = 0
        self._reads: deque[Trail] = deque(maxlen=KEPT)
        self._writes: deque[Trail] = deque(maxlen=KEPT)

    def accept(self, index: int, cycle: int) -> int | None:
        cost = self._costs[index]
        assert cost is not None
        self._index, self._accepted = index, cycle
        self._begin = max(cycle + self._raster, self._raster_free)
        first = max(self._begin + RASTER_TO_BEAT, self._beats_over)
        per = 0 if cost.stores else self._places * cost.writes.vectors
        lag = READ_TO_BEAT + self._done - per
        use = cost.use
        reads, writes = self._contended[index]
        if reads or writes:
            source, target = Side(use.reads, cost.reads, self._reads), Side(use.writes, cost.writes, self._writes)
            places = None if cost.stores else Places(target, per, lag, writes)
            self.open = WindowContest(source, cost.cycles, cost.groups, first - READ_TO_BEAT, places)
            return None
        begin = first - READ_TO_BEAT
        self._reads.append(Stretch(begin, begin + cost.cycles, use.reads, cost.reads))
        if not cost.stores:
            period = cost.cycles / cost.groups
            offered = begin + int(period) - 1 + lag
            self._writes.append(Stretch(offered, offered + cost.cycles, use.writes, cost.writes, per, period))
        return self._end(first + cost.cycles)

    def reads(self) -> Sequence[Trail]:
        return self._reads

    def writes(self) -> Sequence[Trail]:
        return self._writes

    def _close(self) -> int:
        contest = self.open
        assert isinstance(contest, WindowContest)
        return self._end(contest.cycle + READ_TO_BEAT, contest.last_write + 1)

    def _end(self, end: int, written: int = 0) -> int:
        """Its beats are over at ``end``: when the instruction is done, and the next can be accepted."""
        cost = self._costs[self._index]
        assert cost is not None
        self._beats_over = end
        ahead = end - cost.wait_bank - RASTER_AHEAD * cost.group - LOOP_TO_BEAT
        self._raster_free = max(self._begin + cost.groups, ahead)
        self._next = self._begin + 1
        done = max(self._last_done + 1, end - 1 - cost.wait_end + (self._stored if cost.stores else self._done), written)
        if not cost.stores:
            places = max(self._accepted + self._placement, self._places_free)
            count = cost.groups * self._places
            begun = done - 1 - PLACES_AHEAD // self._places * cost.group
            self._places_free = max(places + count, begun if count > PLACES_AHEAD else 0)
            self._next = max(self._next, places + 1)
        self._last_done = done
        return done


class MiscPipeline(_Worker):
    """One iteration per cycle, from instruction to instruction."""

    def __init__(
        self, config: MachineConfig, costs: list[MiscCost | None], contended: Sequence[tuple[bool, bool]],
        rivals: Sequence[Pipeline],
    ) -> None:  # fmt: skip
        super().__init__(contended, rivals)
        self._costs = costs
        self._banks = Banks.of(config)
        self._read_over = (0, 0)

    def accept(self, index: int, cycle: int) -> int | None:
        cost = self._costs[index]
        assert cost is not None
        self._index = index
        first = cycle + MISC_READ
        if any(self._contended[index]):
            use = cost.use
            a, b, o = cost.walks or (
                RoundWalk(self._banks, use.reads, cost.active), None, RoundWalk(self._banks, use.writes, cost.active)
            )  # fmt: skip
            groups = (use.reads | use.reads_b, use.writes)
            first_a = max(first, self._read_over[0])
            firsts = (first_a, first_a if b is None else max(first, self._read_over[1]))
            self.open = WordContest(groups, (a.masks(), None if b is None else b.masks(), o.masks()), firsts)
            return None
        self._next = cycle + cost.cycles
        self._read_over = (first + cost.cycles,) * 2
        return cycle + cost.cycles - 1 + MISC_LATENCY

    def reads(self) -> Sequence[Trail]:
        return ()

    def writes(self) -> Sequence[Trail]:
        return ()

    def _close(self) -> int:
        contest = self.open
        assert isinstance(contest, WordContest)
        self._next = contest.last_asked
        self._read_over = contest.read_over
        return contest.last_write + 1


class _Mover(ABC):
    """What LOAD and SAVE share: an instruction is accepted when the one before the last has left the front."""

    def __init__(self, costs: list[MoveCost | None], stream: Stream, bus: Bus) -> None:
        self._costs = costs
        self._stream = stream
        self._bus = bus
        self._next = 0
        self._left: list[float] = [-NEVER, -NEVER]
        """Served beats at which the last instruction, and the one before, have left the front."""
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

    def reads(self) -> Sequence[Trail]:
        return ()

    def writes(self) -> Sequence[Trail]:
        return ()

    def finished(self, transfer: Transfer, cycle: float) -> int:
        """DRAM has served it: when it is done."""
        cost = self._cost(transfer.index)
        self._moved.extend(self._trail(transfer, cycle))
        return ceil(cycle - EPSILON) + self._tail(cost)

    def _cost(self, index: int) -> MoveCost:
        cost = self._costs[index]
        assert cost is not None
        return cost

    @abstractmethod
    def _trail(self, transfer: Transfer, end: float) -> tuple[Trail, ...]:
        """Its words on chip, if DRAM has served it, or will have, at ``end``."""

    def _coming(self, speed: float) -> float:
        """When the transfer that DRAM serves now is over, as far as is known."""
        current = self._stream.current
        assert current is not None
        return max(self._bus.now, current.due) + self._stream.left / speed

    @abstractmethod
    def _tail(self, cost: MoveCost) -> int:
        """Cycles from when DRAM has served it until it is done."""

    def _leaves(self, served: float) -> None:
        self._left = [self._left[1], served]


class LoadPipeline(_Mover):
    """LOAD and LOADP: addresses run ahead of data, data fills words."""

    def __init__(self, costs: list[MoveCost | None], bus: Bus) -> None:
        super().__init__(costs, bus.reads, bus)
        self._walked = 0.0
        """The share of an instruction that came in earlier transfers."""
        self._last: MoveCost | None = None
        """LOAD begins when LOADP is written, and the other way round."""
        self._runs = (0, 0)
        """Beats of the last two runs."""
        self._bursts: deque[tuple[int, float]] = deque(maxlen=BURSTS_AHEAD)
        """Bursts of the last transfers, and their beats each."""

    def accept(self, index: int, cycle: int) -> None:
        cost = self._cost(index)
        gap = 0
        if self._last is not None and cost.parameters != self._last.parameters:
            gap = self._tail(self._last)
        self._last = cost
        due = cycle + (LOAD_READ if cost.beats else LOAD_FILL)
        if cost.beats:
            self._runs = (cost.run if cost.beats > cost.run else self._runs[1], cost.run)
            self._bursts.append((cost.bursts, cost.beats / cost.bursts))
        self._stream.add(Transfer(index, cost.beats, cost.cycles, due, gap, cost.bursts))
        ahead = sum(self._runs) + LOAD_AHEAD_BEATS + (cost.run - 1) % MAX_BURST_BEATS + 1
        self._leaves(self._stream.asked - min(ahead, self._ahead()))
        self._next = cycle + LOAD_NEXT

    def finished(self, transfer: Transfer, cycle: float) -> int:
        finish = super().finished(transfer, cycle)
        cost = self._cost(transfer.index)
        self._walked = 0.0 if transfer.last else self._walked + transfer.bursts / cost.bursts
        return finish

    def writes(self) -> Sequence[Trail]:
        current = self._stream.current
        return self._moved if current is None else (*self._moved, *self._trail(current, self._coming(self._bus.speeds[0])))

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
        """Beats of the last bursts, as many as may have left the generator of runs and not be served."""
        bursts, beats = 0, 0.0
        for count, size in reversed(self._bursts):
            used = min(count, BURSTS_AHEAD - bursts)
            bursts += used
            beats += used * size
        return beats if bursts == BURSTS_AHEAD else NEVER

    def _tail(self, cost: MoveCost) -> int:
        return LOADP_TAIL if cost.parameters else LOAD_TAIL + cost.edge


class SavePipeline(_Mover):
    """SAVE: words are read ahead of the beats that DRAM has taken."""

    def __init__(self, costs: list[MoveCost | None], bus: Bus) -> None:
        super().__init__(costs, bus.writes, bus)
        self._read = 0
        """First cycle in which the words of the next instruction can be read."""
        self._begins: dict[int, int] = {}
        """When the words of instructions are read that DRAM has not served yet."""

    def accept(self, index: int, cycle: int) -> None:
        cost = self._cost(index)
        due = cycle + max(SAVE_WRITE, SAVE_ADDRESS + cost.address_wait)
        self._stream.add(Transfer(index, cost.beats, cost.cycles, due, 0))
        self._leaves(self._stream.asked - SAVE_AHEAD_BEATS)
        begin = max(cycle + 1, self._read)
        self._read = begin + cost.words
        self._begins[index] = begin + SAVE_READ
        self._next = max(begin + 1, cycle + LOAD_NEXT + max(0, cost.address_wait))

    def reads(self) -> Sequence[Trail]:
        current = self._stream.current
        if current is None:
            return self._moved
        queued = (trail for transfer in self._stream.queue for trail in self._trail(transfer, 0.0))
        return (*self._moved, *self._trail(current, self._coming(self._bus.speeds[1])), *queued)

    def finished(self, transfer: Transfer, cycle: float) -> int:
        finish = super().finished(transfer, cycle)
        del self._begins[transfer.index]
        return finish

    def _trail(self, transfer: Transfer, end: float) -> tuple[Trail, ...]:
        """One word after the other, until as many beats wait as there is room for; then as DRAM takes them."""
        cost = self._cost(transfer.index)
        begin = self._begins[transfer.index]
        assert cost.walk is not None
        groups, walk = cost.use.reads, cost.walk
        alone = cost.cycles / cost.words
        room = min(cost.words, SAVE_AHEAD_BEATS * cost.words // cost.beats)
        filled = begin + ceil(room * alone)
        first = Stretch(begin, filled, groups, walk, 1, alone)
        if room == cost.words:
            return (first,)
        pace = max(alone, (end - transfer.due) / cost.words)
        later = max(filled, ceil(transfer.due)) if pace > alone else filled
        return first, Stretch(later, later + ceil((cost.words - room) * pace), groups, walk, 1, pace, room)

    def _tail(self, cost: MoveCost) -> int:
        return SAVE_TAIL
