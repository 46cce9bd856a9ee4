"""CONV, POOL, MISC and ROW as pipelines: when an instruction may be accepted, and when it is done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Reversible, Sequence
from functools import partial
from math import ceil
from typing import Protocol

from isa.config import MachineConfig
from isa.depths import MISC_AHEAD, MISC_ANSWERS
from isa.latency import misc_latency, raster_rounds
from isa.stages import ROW_BEGIN
from sim.cycle.contest import Places, Side, WindowContest
from sim.cycle.costs import MiscCost, WindowCost
from sim.cycle.passes import RowContest, RowShape
from sim.cycle.rows import RowCost
from sim.cycle.timing import (
    LOOP_TO_BEAT,
    MISC_NOTICE,
    MISC_READ,
    MISC_TURN,
    PLACES_AHEAD,
    RASTER_AHEAD,
    RASTER_STAGES,
    RASTER_START,
    RASTER_TO_BEAT,
    READ_TO_BEAT,
    Drain,
)
from sim.cycle.trails import Groups, Latest, Stretch, Trail, taken_by
from sim.cycle.walks import Banks, Masks, RoundWalk, Walk, Way
from sim.cycle.words import ANSWER, Pace, WordContest

KEPT = 64
"""The instructions, or parts of them, whose accesses are remembered: more than are at work beside one that waits for them."""


class Pipeline(Protocol):
    """A unit behind its receiver."""

    notice: int
    """The least cycles from the offer of an instruction to its acceptance."""

    def ready(self) -> int | None:
        """The first cycle in which it can accept, or None while that depends on DRAM or on units that go before it."""

    def accept(self, index: int, cycle: int) -> int | None:
        """Takes the instruction in that cycle; returns when it is done, or None if that is not known yet."""

    def reads(self) -> Reversible[Trail]:
        """The trails of what its last instructions read, for the units that come after it."""

    def writes(self) -> Reversible[Trail]:
        """The trails of what its last instructions write."""


class _Worker(ABC):
    """The common part of CONV, POOL, MISC and ROW. Instructions that may meet units that go first are followed step by step."""

    notice = 0

    def __init__(self, contended: Sequence[tuple[bool, bool]], rivals: Sequence[Pipeline]) -> None:
        self._contended = contended
        self._rivals = rivals
        self._next = 0
        self.open: WindowContest | WordContest | RowContest | None = None
        self._index = -1

    def ready(self) -> int | None:
        return None if self.open else self._next

    def advance(self, until: int) -> bool:
        """Follows the open work to that cycle; returns whether it is over."""
        assert self.open is not None
        self.open.advance(until, self._taken_reads, self._taken_writes)
        return self.open.over

    def settle(self) -> tuple[int, int]:
        """Closes the open work; returns the instruction, and when it is done."""
        finish = self._close()
        self.open = None
        return self._index, finish

    def _taken_reads(self, groups: Groups, first: int, end: int) -> Masks | None:
        return taken_by([rival.reads() for rival in self._rivals], groups, first, end)

    def _taken_writes(self, groups: Groups, first: int, end: int) -> Masks | None:
        return taken_by([rival.writes() for rival in self._rivals], groups, first, end)

    @abstractmethod
    def _close(self) -> int:
        """Returns when the instruction is done, since the open work is over."""


class WindowPipeline(_Worker):
    """CONV and POOL: a raster that runs ahead, beats without a gap, places, and the end of the pipeline."""

    def __init__(
        self, config: MachineConfig, costs: list[WindowCost | None], drain: Drain, done: int, stored: int,
        contended: Sequence[tuple[bool, bool]], rivals: Sequence[Pipeline],
    ) -> None:  # fmt: skip
        super().__init__(contended, rivals)
        self._costs = costs
        self._raster = RASTER_START + raster_rounds(config.px_p)
        self._placement = RASTER_START + raster_rounds(drain.port)
        self._places = drain.entries
        self._drain = drain.cycles
        self._done, self._stored = done, stored
        self._raster_free = self._places_free = 0
        self._raster_out = self._places_out = 0
        """The first cycles in which the raster and the placement put out a group that follows those of the last instruction."""
        self._beats_over = 0
        self._last_done = -1
        self._accepted = self._begin = 0
        self._reads: deque[Trail] = deque(maxlen=KEPT)
        self._writes: deque[Trail] = deque(maxlen=KEPT)
        self._guest: WindowPipeline | None = None
        self._guest_cycles = 0
        self._spans: deque[tuple[int, int, int]] = deque(maxlen=KEPT)
        """The first and last cycle of the beats of its last instructions, if nothing holds them up, and their reductions."""

    def lend(self, guest: WindowPipeline, cycles: int) -> None:
        """Lends its finishing lanes to a guest, which takes so many cycles of them for a reduction."""
        self._guest, self._guest_cycles = guest, cycles

    def accept(self, index: int, cycle: int) -> int | None:
        cost = self._costs[index]
        assert cost is not None
        self._index, self._accepted = index, cycle
        self._begin = max(cycle + self._raster, self._raster_free)
        first = max(self._begin + RASTER_TO_BEAT, self._beats_over)
        self._spans.append((first, first + cost.cycles, cost.groups))
        drain = cost.drain
        per, lag = drain.cycles, READ_TO_BEAT + self._done - drain.every + drain.words + drain.parts - 1
        use = cost.use
        reads, writes = self._contended[index]
        late = 0.0
        if self._guest is not None and not cost.stores:
            late = max(late, per + self._guest_cycles - cost.cycles / cost.groups)
        if reads or writes or late:
            source, target = Side(use.reads, cost.reads, self._reads), Side(use.writes, cost.writes, self._writes)
            places = None if cost.stores else Places(target, per, lag, writes)
            held = partial(self._waits, late) if late else None
            self.open = WindowContest(source, cost.groups, first - READ_TO_BEAT, places, held)
            return None
        begin = first - READ_TO_BEAT
        self._reads.append(Stretch(begin, begin + cost.cycles, use.reads, cost.reads))
        if not cost.stores:
            period = cost.cycles / cost.groups
            offered = begin + int(period) - 1 + lag
            self._writes.append(Stretch(offered, offered + cost.cycles, use.writes, cost.writes, per, period))
        return self._end(first + cost.cycles)

    def reads(self) -> Reversible[Trail]:
        return self._reads

    def writes(self) -> Reversible[Trail]:
        return self._writes

    def _waits(self, late: float, begin: int, end: int) -> float:
        """The cycles for which drains wait for the guest's reductions between two cycles.

        Each reduction of the guest delays a drain by ``late``, and the guest waits for the drains.
        """
        assert self._guest is not None
        steps, last = 0.0, 0
        for begun, over, reductions in self._guest._spans:
            first = max(begun, last)
            last = first + max(over - begun, reductions * (self._drain + self._guest_cycles))
            both = min(end, last) - max(begin, first)
            if both > 0:
                steps += reductions * both / (last - first)
        share = min(0.5, late * steps / (end - begin))
        return (end - begin) * share / (1 - share)

    def _close(self) -> int:
        contest = self.open
        assert isinstance(contest, WindowContest)
        met = any(self._contended[self._index])
        return self._end(contest.cycle + READ_TO_BEAT, contest.last_write + 1 if met else 0)

    def _end(self, end: int, written: int = 0) -> int:
        """Returns when the instruction is done whose beats are over at ``end``, and sets when the next can be accepted."""
        cost = self._costs[self._index]
        assert cost is not None
        self._beats_over = end
        ahead = end - cost.wait_bank - RASTER_AHEAD * cost.group - LOOP_TO_BEAT
        self._next = max(self._begin + RASTER_STAGES, self._raster_out) + 1
        self._raster_free = max(self._begin + cost.groups, ahead)
        self._raster_out = max(self._begin + cost.groups, ahead + RASTER_STAGES * cost.group)
        drained = self._stored if cost.stores else self._done + cost.drain.last
        done = max(self._last_done + 1, end - 1 - cost.wait_end + drained, written)
        if not cost.stores:
            places = max(self._accepted + self._placement, self._places_free)
            count = cost.groups * self._places
            self._next = max(self._next, places + RASTER_STAGES + 1, self._places_out + 1)
            begun, out = (done - 1 - held // self._places * cost.group for held in (PLACES_AHEAD, PLACES_AHEAD - RASTER_STAGES))
            self._places_free = max(places + count, begun if count > PLACES_AHEAD else 0)
            self._places_out = max(places + count, out if count > PLACES_AHEAD else 0)
        self._last_done = done
        return done


class MiscPipeline(_Worker):
    """MISC: a word takes as many cycles as it has slices, and the pipeline runs empty between instructions."""

    notice = MISC_NOTICE

    def __init__(
        self, config: MachineConfig, costs: list[MiscCost | None], contended: Sequence[tuple[bool, bool]],
        rivals: Sequence[Pipeline], seen: bool,
    ) -> None:  # fmt: skip
        """``seen``: whether a unit that comes after it is at work in the program."""
        super().__init__(contended, rivals)
        self._costs = costs
        self._config = config
        self._seen = seen
        self._reads: deque[Trail] = deque(maxlen=KEPT)
        self._writes: deque[Trail] = deque(maxlen=KEPT)
        self._pace = Pace.of(config)
        self._one_line = config.ways.serial_reads
        self._read_over = (0, 0)
        self._latency = misc_latency(config)
        self._needs = 0
        """Until when the loops hold the numbers of the last instruction."""
        self._settled = 0
        """The first cycle in which slices of another instruction may begin."""

    def accept(self, index: int, cycle: int) -> int | None:
        cost = self._costs[index]
        assert cost is not None
        self._index = index
        # The instruction's numbers are taken a cycle before its first slice may begin.
        self._needs = max(cycle + 2, self._settled)
        first = cycle + MISC_READ
        use = cost.use
        groups = (use.reads | use.reads_b, use.writes)
        if any(self._contended[index]):
            a, b, o = cost.walks or round_walks(self._config, cost)
            first_a = max(first, self._read_over[0])
            firsts = (first_a, first_a if b is None else max(first, self._read_over[1]))
            masks = (a.masks(), None if b is None else b.masks(), o.masks())
            self.open = WordContest(groups, masks, firsts, self._pace, self._settled)
            if self._seen:
                self.open.seen((a, b, o), self._reads, self._writes)
            return None
        parts = self._pace.parts
        turns = self._one_line and cost.walks is not None and cost.walks[1] is not None
        reads = cost.words * (2 if turns else 1) + cost.wait_bank
        later = min(cost.words, MISC_AHEAD) if turns else 0
        """The words by which the first operand runs ahead before the second gets its first."""
        free = max(first + later + ANSWER, self._settled) + cost.cycles
        self._settled = free + self._latency
        last = free - parts
        self._next = max(cycle + reads, last - (MISC_AHEAD + MISC_ANSWERS - 1) * parts + 1, self._needs) + MISC_TURN
        self._read_over = (max(first + reads, last - (MISC_ANSWERS - 1) * parts + 1),) * 2
        if self._seen:
            self._leave(cost, groups, first, free - cost.cycles)
        return last + self._pace.pipe + 1

    def _leave(self, cost: MiscCost, groups: tuple[Groups, Groups], first: int, begin: int) -> None:
        """Leaves the trails: words are read from ``first`` on while there is room, then at the pace of slices, the first at
        ``begin``."""
        *operands, output = cost.walks or round_walks(self._config, cost)
        pace, ahead = cost.cycles / cost.words, min(cost.words, MISC_ANSWERS)
        later = max(first + ahead, begin + self._pace.parts)
        for skip, at, words, period in ((0, first, ahead, 1.0), (ahead, later, cost.words - ahead, pace)):
            for walk in operands:
                if walk is not None and words:
                    self._reads.append(Stretch(at, at + ceil(words * period), groups[0], walk, 1, period, skip))
        written = begin + self._pace.pipe
        self._writes.append(Stretch(written, written + cost.cycles, groups[1], output, 1, pace))

    def reads(self) -> Reversible[Trail]:
        return Latest(self._reads, self.open.coming()) if isinstance(self.open, WordContest) else self._reads

    def writes(self) -> Reversible[Trail]:
        return self._writes

    def _close(self) -> int:
        contest = self.open
        assert isinstance(contest, WordContest)
        self._next = max(contest.last_asked, self._needs) + MISC_TURN
        self._read_over = contest.read_over
        self._settled = contest.free + self._latency
        return contest.last_write + 1


class RowPipeline(_Worker):
    """ROW: one instruction after the other; the next is accepted in the cycle after ``done``."""

    def __init__(
        self, config: MachineConfig, costs: list[RowCost | None], contended: Sequence[tuple[bool, bool]],
        rivals: Sequence[Pipeline],
    ) -> None:  # fmt: skip
        super().__init__(contended, rivals)
        self._config, self._costs = config, costs

    def accept(self, index: int, cycle: int) -> int | None:
        cost = self._costs[index]
        assert cost is not None
        self._index = index
        done = cycle + cost.cycles
        if any(self._contended[index]):
            use, (a, o) = cost.use, cost.walks
            shape = RowShape.of(self._config, cost.words)
            first = cycle + ROW_BEGIN + 1
            self.open = RowContest((use.reads, use.writes), (a.masks(), o.masks()), cost.pace, shape, first, done)
            return None
        self._next = done + 1
        return done

    def reads(self) -> Reversible[Trail]:
        return ()

    def writes(self) -> Reversible[Trail]:
        return ()

    def _close(self) -> int:
        contest = self.open
        assert isinstance(contest, RowContest)
        done = contest.last_write + 1
        self._next = done + 1
        return done


def round_walks(config: MachineConfig, cost: MiscCost) -> tuple[Walk, None, Walk]:
    """The walks of a MISC that does not say how it walks."""
    banks = Banks.of(config, Way.OPERAND), Banks.of(config, Way.SHARED_WRITE)
    return RoundWalk(banks[0], cost.use.reads, cost.words), None, RoundWalk(banks[1], cost.use.writes, cost.words)
