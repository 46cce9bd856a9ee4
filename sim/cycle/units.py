"""The units as pipelines: when an instruction may be accepted, and when it is done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from math import ceil
from typing import Protocol

from isa.config import MachineConfig
from sim.cycle.bus import EPSILON, NEVER, Bus, Stream, Transfer
from sim.cycle.costs import MiscCost, MoveCost, WindowCost
from sim.cycle.rivals import Occupation, Span, Use, end_of
from sim.cycle.runs import MAX_BURST_BEATS
from sim.cycle.timing import (
    DRAM_LATENCY,
    DRAM_QUEUE,
    LOAD_AHEAD_BEATS,
    LOAD_FILL,
    LOAD_NEXT,
    LOAD_READ,
    LOAD_TAIL,
    LOADP_TAIL,
    LOOP_TO_BEAT,
    MISC_LATENCY,
    PLACES_AHEAD,
    RASTER_AHEAD,
    RASTER_TO_BEAT,
    SAVE_ADDRESS,
    SAVE_AHEAD_BEATS,
    SAVE_TAIL,
    SAVE_WRITE,
)


class Pipeline(Protocol):
    """A unit behind its receiver."""

    def ready(self) -> int | None:
        """The first cycle in which it can accept; None while that depends on DRAM or on units that go before it."""

    def accept(self, index: int, cycle: int) -> int | None:
        """Take the instruction in that cycle; when it is done, or None if that is not known yet."""

    def spans(self) -> Iterable[Span]:
        """When its last instructions work, for the units that come after it."""


class _Worker(ABC):
    """What CONV, POOL and MISC share: an instruction that may meet units which go first is settled when its end has come."""

    def __init__(self, config: MachineConfig, contended: Sequence[bool], rivals: Sequence[Pipeline]) -> None:
        self._banks = config.fm_phases
        self._contended = contended
        self._rivals = rivals
        self._occupation = Occupation()
        self._next = 0
        self.open: tuple[int, int, int, Use] | None = None
        """Instruction, begin and length of its work, and what it uses."""
        self.expected = 0
        """End of the open work, as far as is known."""

    def ready(self) -> int | None:
        return None if self.open else self._next

    def spans(self) -> Iterable[Span]:
        if self.open is None:
            return self._occupation.spans
        _, first, _, use = self.open
        return [*self._occupation.spans, Span(first, self.expected, use)]

    def _work(self, index: int, first: int, cycles: int, use: Use) -> int | None:
        if self._contended[index]:
            self.open = (index, first, cycles, use)
            self.expected = first + cycles
            return None
        self._occupation.add(first, first + cycles, use)
        return self._end(first, first + cycles)

    def estimate(self) -> None:
        """Work out ``expected``, given what the units that go first are known to do."""
        assert self.open is not None
        _, first, cycles, use = self.open
        self.expected = end_of(first, cycles, use, self._banks, (span for rival in self._rivals for span in rival.spans()))

    def settle(self) -> tuple[int, int]:
        """Close the open work; the instruction, and when it is done."""
        assert self.open is not None
        index, first, _, use = self.open
        self.open = None
        self._occupation.add(first, self.expected, use)
        return index, self._end(first, self.expected)

    @abstractmethod
    def _end(self, first: int, end: int) -> int:
        """Work lies between these cycles: when the instruction is done, and the next can be accepted."""


class WindowPipeline(_Worker):
    """CONV and POOL: a raster that runs ahead, beats without a gap, places, and the end of the pipeline."""

    def __init__(
        self, config: MachineConfig, costs: list[WindowCost | None], lanes: int, done: int, stored: int,
        contended: Sequence[bool], rivals: Sequence[Pipeline],
    ) -> None:  # fmt: skip
        super().__init__(config, contended, rivals)
        self._costs = costs
        self._raster = config.px_p + 1
        self._placement = lanes + 1
        self._places = -(-config.px_p // lanes)
        self._done, self._stored = done, stored
        self._raster_free = self._places_free = 0
        self._beats_over = 0
        self._last_done = -1
        self._index = self._accepted = self._begin = 0

    def accept(self, index: int, cycle: int) -> int | None:
        cost = self._costs[index]
        assert cost is not None
        self._index, self._accepted = index, cycle
        self._begin = max(cycle + self._raster, self._raster_free)
        return self._work(index, max(self._begin + RASTER_TO_BEAT, self._beats_over), cost.cycles, cost.use)

    def _end(self, first: int, end: int) -> int:
        cost = self._costs[self._index]
        assert cost is not None
        self._beats_over = end
        ahead = end - cost.wait_bank - RASTER_AHEAD * cost.group - LOOP_TO_BEAT
        self._raster_free = max(self._begin + cost.groups, ahead)
        self._next = self._begin + 1
        done = max(self._last_done + 1, end - 1 - cost.wait_end + (self._stored if cost.stores else self._done))
        if not cost.stores:
            places = max(self._accepted + self._placement, self._places_free)
            count = cost.groups * self._places
            written = done - 1 - PLACES_AHEAD // self._places * cost.group
            self._places_free = max(places + count, written if count > PLACES_AHEAD else 0)
            self._next = max(self._next, places + 1)
        self._last_done = done
        return done


class MiscPipeline(_Worker):
    """One iteration per cycle, from instruction to instruction."""

    def __init__(
        self, config: MachineConfig, costs: list[MiscCost | None], contended: Sequence[bool], rivals: Sequence[Pipeline]
    ) -> None:
        super().__init__(config, contended, rivals)
        self._costs = costs

    def accept(self, index: int, cycle: int) -> int | None:
        cost = self._costs[index]
        assert cost is not None
        return self._work(index, cycle, cost.cycles, cost.use)

    def _end(self, first: int, end: int) -> int:
        self._next = end
        return end - 1 + MISC_LATENCY


class _Mover(ABC):
    """What LOAD and SAVE share: an instruction is accepted when the one before the last has left the front."""

    def __init__(self, costs: list[MoveCost | None], stream: Stream, bus: Bus) -> None:
        self._costs = costs
        self._stream = stream
        self._bus = bus
        self._next = 0
        self._left: list[float] = [-NEVER, -NEVER]
        """Served beats at which the last instruction, and the one before, have left the front."""
        self._occupation = Occupation()

    def ready(self) -> int | None:
        stream = self._stream
        if stream.served + EPSILON < self._left[0]:
            stream.watch = self._left[0]
            return None
        if stream.watch < NEVER:
            stream.watch = NEVER
            self._next = max(self._next, ceil(self._bus.now) + LOAD_NEXT)
        return self._next

    def spans(self) -> Iterable[Span]:
        current = self._stream.current
        if current is None:
            return self._occupation.spans
        end = max(self._bus.now, current.due) + self._stream.left
        return [*self._occupation.spans, Span(current.due, end, self._cost(current.index).use)]

    def finished(self, transfer: Transfer, cycle: float) -> int:
        """DRAM has served it: when it is done."""
        cost = self._cost(transfer.index)
        self._occupation.add(transfer.due, cycle, cost.use)
        return ceil(cycle - EPSILON) + self._tail(cost)

    def _cost(self, index: int) -> MoveCost:
        cost = self._costs[index]
        assert cost is not None
        return cost

    @abstractmethod
    def _tail(self, cost: MoveCost) -> int:
        """Cycles from when DRAM has served it until it is done."""

    def _leaves(self, served: float) -> None:
        self._left = [self._left[1], served]


class LoadPipeline(_Mover):
    """LOAD and LOADP: addresses run ahead of data, data fills words."""

    def __init__(self, costs: list[MoveCost | None], bus: Bus) -> None:
        super().__init__(costs, bus.reads, bus)
        self._last: MoveCost | None = None
        """LOAD begins when LOADP is written, and the other way round."""
        self._runs = (0, 0)
        """Beats of the last two runs."""
        self._bursts: deque[tuple[int, float]] = deque(maxlen=DRAM_QUEUE)
        """Bursts of the last transfers, and their beats each."""

    def accept(self, index: int, cycle: int) -> None:
        cost = self._cost(index)
        gap = 0
        if self._last is not None and cost.parameters != self._last.parameters:
            gap = self._tail(self._last)
        self._last = cost
        due = cycle + (LOAD_READ if cost.beats else LOAD_FILL)
        if cost.beats:
            gap = max(gap, self._address_gap())
            self._bursts.append((cost.bursts, cost.beats / cost.bursts))
            self._runs = (cost.run if cost.beats > cost.run else self._runs[1], cost.run)
        self._stream.add(Transfer(index, cost.beats, cost.cycles, due, gap))
        self._leaves(self._stream.asked - sum(self._runs) - LOAD_AHEAD_BEATS - ((cost.run - 1) % MAX_BURST_BEATS + 1))
        self._next = cycle + LOAD_NEXT

    def _address_gap(self) -> int:
        """Cycles that DRAM's address queue keeps the next transfer behind the last one, if that one's bursts are short."""
        bursts, beats = 0, 0.0
        for count, size in reversed(self._bursts):
            used = min(count, DRAM_QUEUE - bursts)
            bursts += used
            beats += used * size
            if bursts == DRAM_QUEUE:
                return max(0, ceil(DRAM_LATENCY - beats))
        return 0

    def _tail(self, cost: MoveCost) -> int:
        return LOADP_TAIL if cost.parameters else LOAD_TAIL + cost.edge


class SavePipeline(_Mover):
    """SAVE: words are read ahead of the beats that DRAM has taken."""

    def __init__(self, costs: list[MoveCost | None], bus: Bus) -> None:
        super().__init__(costs, bus.writes, bus)
        self._read = 0
        """First cycle in which the words of the next instruction can be read."""

    def accept(self, index: int, cycle: int) -> None:
        cost = self._cost(index)
        due = cycle + max(SAVE_WRITE, SAVE_ADDRESS + cost.address_wait)
        self._stream.add(Transfer(index, cost.beats, cost.cycles, due, 0))
        self._leaves(self._stream.asked - SAVE_AHEAD_BEATS)
        begin = max(cycle + 1, self._read)
        self._read = begin + cost.words
        self._next = max(begin + 1, cycle + LOAD_NEXT + max(0, cost.address_wait))

    def _tail(self, cost: MoveCost) -> int:
        return SAVE_TAIL
