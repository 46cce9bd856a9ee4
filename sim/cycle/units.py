"""The units as pipelines: when an instruction may be accepted, and when it is done."""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import Protocol

from isa.config import MachineConfig
from sim.cycle.bus import EPSILON, NEVER, Bus, Stream, Transfer
from sim.cycle.costs import MiscCost, MoveCost, WindowCost
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
    Timing,
)


class Pipeline(Protocol):
    """A unit behind its receiver."""

    def ready(self) -> int | None:
        """The first cycle in which it can accept; None while that depends on DRAM."""

    def accept(self, index: int, cycle: int) -> int | None:
        """Take the instruction in that cycle; when it is done, or None if DRAM decides."""


class WindowPipeline:
    """CONV and POOL: a raster that runs ahead, beats without a gap, places, and the end of the pipeline."""

    def __init__(self, config: MachineConfig, costs: list[WindowCost | None], lanes: int, done: int, stored: int) -> None:
        self._costs = costs
        self._raster = config.px_p + 1
        self._placement = lanes + 1
        self._places = -(-config.px_p // lanes)
        self._done, self._stored = done, stored
        self._next = 0
        self._raster_free = self._places_free = 0
        self._last_beat = -1
        self._last_done = -1

    def ready(self) -> int:
        return self._next

    def accept(self, index: int, cycle: int) -> int:
        cost = self._costs[index]
        assert cost is not None
        begin = max(cycle + self._raster, self._raster_free)
        first = max(begin + RASTER_TO_BEAT, self._last_beat + 1)
        self._last_beat = first + cost.cycles - 1
        ahead = first + (cost.groups - RASTER_AHEAD) * cost.group - LOOP_TO_BEAT
        self._raster_free = max(begin + cost.groups, ahead)
        self._next = begin + 1
        done = max(self._last_done + 1, self._last_beat - cost.wait_end + (self._stored if cost.stores else self._done))
        if not cost.stores:
            places = max(cycle + self._placement, self._places_free)
            count = cost.groups * self._places
            written = done - 1 - PLACES_AHEAD // self._places * cost.group
            self._places_free = max(places + count, written if count > PLACES_AHEAD else 0)
            self._next = max(self._next, places + 1)
        self._last_done = done
        return done


class MiscPipeline:
    """One iteration per cycle, from instruction to instruction."""

    def __init__(self, costs: list[MiscCost | None]) -> None:
        self._costs = costs
        self._next = 0

    def ready(self) -> int:
        return self._next

    def accept(self, index: int, cycle: int) -> int:
        cost = self._costs[index]
        assert cost is not None
        self._next = cycle + cost.cycles
        return cycle + cost.cycles - 1 + MISC_LATENCY


class _Mover:
    """What LOAD and SAVE share: an instruction is accepted when the one before the last has left the front."""

    def __init__(self, costs: list[MoveCost | None], stream: Stream, bus: Bus) -> None:
        self._costs = costs
        self._stream = stream
        self._bus = bus
        self._next = 0
        self._left: list[float] = [-NEVER, -NEVER]
        """Served beats at which the last instruction, and the one before, have left the front."""

    def ready(self) -> int | None:
        stream = self._stream
        if stream.served + EPSILON < self._left[0]:
            stream.watch = self._left[0]
            return None
        if stream.watch < NEVER:
            stream.watch = NEVER
            self._next = max(self._next, ceil(self._bus.now) + LOAD_NEXT)
        return self._next

    def _leaves(self, served: float) -> None:
        self._left = [self._left[1], served]


class LoadPipeline(_Mover):
    """LOAD and LOADP: addresses run ahead of data, data fills words."""

    def __init__(self, costs: list[MoveCost | None], bus: Bus) -> None:
        super().__init__(costs, bus.reads, bus)
        self._parameters = False
        self._runs = (0, 0)
        """Beats of the last two runs."""
        self._bursts: deque[tuple[int, float]] = deque(maxlen=DRAM_QUEUE)
        """Bursts of the last transfers, and their beats each."""

    def accept(self, index: int, cycle: int) -> None:
        cost = self._costs[index]
        assert cost is not None
        gap = 0
        if cost.parameters != self._parameters:
            gap = LOAD_TAIL if cost.parameters else LOADP_TAIL
            self._parameters = cost.parameters
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

    def finish(self, index: int, served: float) -> int:
        cost = self._costs[index]
        assert cost is not None
        return ceil(served - EPSILON) + (LOADP_TAIL if cost.parameters else LOAD_TAIL)


class SavePipeline(_Mover):
    """SAVE: words are read ahead of the beats that DRAM has taken."""

    def __init__(self, costs: list[MoveCost | None], bus: Bus) -> None:
        super().__init__(costs, bus.writes, bus)
        self._read = 0
        """First cycle in which the words of the next instruction can be read."""

    def accept(self, index: int, cycle: int) -> None:
        cost = self._costs[index]
        assert cost is not None
        due = cycle + max(SAVE_WRITE, SAVE_ADDRESS + cost.address_wait)
        self._stream.add(Transfer(index, cost.beats, cost.cycles, due, 0))
        self._leaves(self._stream.asked - SAVE_AHEAD_BEATS)
        begin = max(cycle + 1, self._read)
        self._read = begin + cost.words
        self._next = max(begin + 1, cycle + LOAD_NEXT + max(0, cost.address_wait))

    def finish(self, index: int, served: float) -> int:
        return ceil(served - EPSILON) + SAVE_TAIL


def window_pipelines(
    config: MachineConfig, costs: list[WindowCost | None], pool_costs: list[WindowCost | None]
) -> tuple[WindowPipeline, WindowPipeline]:
    """CONV and POOL."""
    timing = Timing.of(config)
    conv = WindowPipeline(config, costs, config.post_px, timing.conv_done, timing.conv_stored)
    return conv, WindowPipeline(config, pool_costs, 1, timing.pool_done, timing.pool_done)
