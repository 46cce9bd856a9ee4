"""Fetch, the dispatcher, queues and receivers, and the loop that connects them with units and DRAM."""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

from isa.config import MachineConfig
from isa.depths import IN_FLIGHT, fetch_beats, owed_beats
from isa.instructions import Unit
from sim.cycle.bus import NEVER, Bus
from sim.cycle.movers import LoadPipeline, SavePipeline
from sim.cycle.program import CycleError, Program
from sim.cycle.rivals import IDLE, contended
from sim.cycle.timing import (
    BEGIN,
    END_TAIL,
    FETCH_ADDRESS,
    FETCH_BEGIN,
    FETCH_WORD,
    OFFER,
    QUEUE,
    Timing,
    drain_of,
    pool_drain_of,
)
from sim.cycle.units import MiscPipeline, Pipeline, RowPipeline, WindowPipeline

UNKNOWN = -1
STRIDE = 8
"""Open work is followed so many cycles at a time, or more. What it holds up starts more than so many after its end."""


class Receiver:
    """A unit's queue and receiver, with the cycles of all its instructions in order, as far as they are known."""

    def __init__(self, indices: list[int], lengths: list[int], pipeline: Pipeline) -> None:
        self.indices = indices
        self.sizes = [lengths[index] + 1 for index in indices]
        """The words of each instruction in the queue, where the pc comes before it."""
        self.ends = [0]
        """The words in the queue up to and including each instruction."""
        for size in self.sizes:
            self.ends.append(self.ends[-1] + size)
        self.pipeline = pipeline
        self.dispatched = self.taken = 0
        """The number of instructions that were sent, and of those that the unit has accepted."""
        self.sent: list[int] = []
        """The cycle in which the last word of each instruction entered the queue."""
        self.collects: list[int] = [0]
        """The first cycle in which each one's first word can be taken: that after the acceptance of the instruction before."""
        self.offered: list[int] = []
        self.accepted: list[int] = []
        self.owner = 0
        """The instruction whose words make room for those that are sent now."""
        self.giver = UNKNOWN
        """The instruction whose end the next one waits for, if nothing else is missing."""
        self.tokens = UNKNOWN
        """When the next instruction has all of its tokens, if that is known. It then waits for its unit alone."""

    def room(self, capacity: int, before_last: int = 0) -> int | None:
        """The first cycle in which a word of the next instruction finds a place, or None if that is not known."""
        word = self.ends[self.dispatched + 1] - capacity - 1 - before_last
        if word < 0:
            return 0
        owner = self.owner
        while self.ends[owner + 1] <= word:
            owner += 1
        self.owner = owner
        if owner >= len(self.collects):
            return None
        return self.collects[owner] + word - self.ends[owner] + 1

    def send(self, cycle: int) -> None:
        self.sent.append(cycle)
        self.dispatched += 1

    def collect(self) -> None:
        """Takes the words of the instruction at the head of the queue, and offers it to the unit."""
        n = self.taken
        if len(self.offered) > n:
            return
        moved = self.collects[n] + self.sizes[n]
        if self.sent[n] + QUEUE >= moved:
            moved = self.sent[n] + QUEUE + 1
        self.offered.append(moved + OFFER)


class Executed(NamedTuple):
    """The cycles of each instruction, from START to END."""

    starts: list[int]
    finishes: list[int]
    token_waits: list[int]


def executed(config: MachineConfig, program: Program) -> Executed:
    """Runs a program on a machine. ``sim.cycle.native`` finds the same."""
    execution = Execution(config, program)
    execution.run()
    return Executed(execution.starts, execution.finishes, execution.token_waits)


def cycles_until_done(program: Program, finishes: list[int]) -> int:
    """The cycles from the start of a program to its end."""
    if UNKNOWN in finishes:
        pc = program.pcs[finishes.index(UNKNOWN)]
        raise CycleError(f"instruction at word {pc} never finishes; the program is not sequential")
    return max(finishes) + END_TAIL


def words_per_burst(config: MachineConfig) -> int:
    """The words of one burst of instruction fetch."""
    return fetch_beats(config) * config.axi_bytes // 4


class Execution:
    """The execution of one program on one machine."""

    def __init__(self, config: MachineConfig, program: Program) -> None:
        self.config = config
        self.program = program
        self.bus = Bus(config.axi_reads, config.axi_ports, owed_beats(config), config.dram_latency - 1)
        count = len(program.units)
        self.starts = [UNKNOWN] * count
        self.finishes = [UNKNOWN] * count
        self.token_waits = [0] * count
        self._taken = [UNKNOWN] * count
        """When each instruction takes its tokens."""
        self._unpaid: list[tuple[int, int]] = []
        """Instructions that are done, each with its cycle. Their tokens wait until others are taken, at a time not known
        yet."""
        costs: Any = program.costs
        timing = Timing.of(config)
        # The order of Unit decides who goes first at a bank (hw/core.py).
        meets = contended([IDLE if cost is None else cost.use for cost in program.costs], program.units, tuple(Unit))
        self.load = LoadPipeline(costs, self.bus, config.burst_beats)
        self.save = SavePipeline(costs, self.bus, config.burst_beats, config.axi_ports)
        ahead: list[Pipeline] = [self.load, self.save]
        conv = WindowPipeline(config, costs, drain_of(config), timing.conv_done, timing.conv_stored, meets, ahead)
        pool = WindowPipeline(config, costs, pool_drain_of(config), timing.pool_done, timing.pool_done, meets, [*ahead, conv])
        if config.shares_finish:
            conv.lend(pool, pool_drain_of(config).cycles)
        misc = MiscPipeline(config, costs, meets, [*ahead, conv, pool], Unit.ROW in program.units)
        row = RowPipeline(config, costs, meets, [*ahead, conv, pool, misc])
        pipelines: dict[Unit, Pipeline] = {
            Unit.LOAD: self.load, Unit.SAVE: self.save, Unit.CONV: conv, Unit.POOL: pool, Unit.MISC: misc, Unit.ROW: row,
        }  # fmt: skip
        self.workers = (conv, pool, misc, row)
        members: list[list[int]] = [[] for _ in Unit]
        for index, unit in enumerate(program.units):
            if unit is not None:
                members[unit].append(index)
        self.receivers = [Receiver(members[unit], program.lengths, pipelines[unit]) for unit in Unit]
        self._words_per_burst = words_per_burst(config)
        self._bursts: list[int | None] = [None] * (-(-program.words // self._words_per_burst) + 1)
        self._next_instruction = 0
        self._dispatcher_free = 0
        self._asked = 1
        """The last burst that was asked for."""
        self._missing: int | tuple[Receiver, int] | None = None
        """What the dispatcher waits for: a burst, or that the unit accepts that instruction of a receiver, which makes room."""
        for number in range(2):
            self._fetch(number, BEGIN + 2 * number + FETCH_BEGIN)

    def run(self) -> None:
        """Runs until nothing moves any more."""
        finishes = self.finishes
        receivers = [receiver for receiver in self.receivers if receiver.indices]
        while True:
            moved = not self._stuck() and self._dispatch()
            if self._unpaid:
                unpaid, self._unpaid = self._unpaid, []
                for index, cycle in unpaid:
                    self._finish(index, cycle)
                moved |= len(self._unpaid) < len(unpaid)
            for receiver in receivers:
                while receiver.taken < receiver.dispatched and (receiver.giver < 0 or finishes[receiver.giver] >= 0):
                    if receiver.tokens < 0 and not self._tokens(receiver):
                        break
                    ready = receiver.pipeline.ready()
                    if ready is None or not self._accept(receiver, ready):
                        break
                    moved = True
            if moved:
                continue
            if not self._wait():
                return

    def _wait(self) -> bool:
        """Goes on to the next answer of DRAM, or to the end of open work; returns False if there is neither."""
        bus = self.bus
        workers = [worker for worker in self.workers if worker.open]
        if not workers:
            while bus.step():
                if bus.read_done or bus.write_done or bus.fetched or bus.watched:
                    self._answers()
                    return True
            return False
        followed = 0.0
        while True:
            until = NEVER
            for worker in workers:
                if worker.open and worker.open.bound < until:
                    until = worker.open.bound
            if until < followed + STRIDE:
                until = followed + STRIDE
            if not bus.step(until):
                followed = until
                over = [worker for worker in workers if worker.advance(ceil(until))]
                for worker in over:
                    self._finish(*worker.settle())
                if over:
                    return True
                continue
            if bus.read_done or bus.write_done or bus.fetched or bus.watched:
                self._answers()
                return True

    def _answers(self) -> None:
        bus = self.bus
        for transfer, cycle in bus.read_done:
            finish = self.load.finished(transfer, cycle)
            if transfer.last:
                self._finish(transfer.index, finish)
        for transfer, cycle in bus.write_done:
            self._finish(transfer.index, self.save.finished(transfer, cycle))
        for number, cycle in bus.fetched:
            self._bursts[number] = ceil(cycle) + FETCH_WORD
        bus.read_done.clear()
        bus.write_done.clear()
        bus.fetched.clear()
        bus.watched = False

    def _finish(self, index: int, cycle: int) -> None:
        """Ends the instruction, which gives its tokens at once or when enough of those before are taken that there is room."""
        room = self.program.room[index]
        if self._unpaid and any(self.program.units[other] == self.program.units[index] for other, _ in self._unpaid):
            self._unpaid.append((index, cycle))
            return
        for taker in room:
            if self._taken[taker] == UNKNOWN:
                self._unpaid.append((index, cycle))
                return
            cycle = max(cycle, self._taken[taker] + 1)
        self.finishes[index] = cycle

    def _tokens(self, receiver: Receiver) -> bool:
        """Offers the instruction at the head; returns whether it is known when it has its tokens."""
        receiver.collect()
        finishes = self.finishes
        tokens = 0
        for giver in self.program.givers[receiver.indices[receiver.taken]]:
            finish = finishes[giver]
            if finish < 0:
                receiver.giver = giver
                return False
            if finish >= tokens:
                tokens = finish + 1
        receiver.giver = UNKNOWN
        receiver.tokens = tokens
        return True

    def _accept(self, receiver: Receiver, ready: int) -> bool:
        """Lets the unit accept the instruction at the head; returns False if its cycle is not known yet."""
        n = receiver.taken
        index = receiver.indices[n]
        finishes = self.finishes
        offered, tokens = receiver.offered[n], receiver.tokens
        if n >= IN_FLIGHT:
            finish = finishes[receiver.indices[n - IN_FLIGHT]]
            if finish < 0:
                return False
            ready = max(ready, finish + 1 + receiver.pipeline.notice)
        receiver.tokens = UNKNOWN
        if tokens > offered:
            self.token_waits[index] = tokens - offered
        self._taken[index] = max(offered, tokens)
        start = max(ready, self._taken[index] + receiver.pipeline.notice)
        receiver.accepted.append(start)
        receiver.collects.append(start + 1)
        receiver.taken += 1
        self.starts[index] = start
        finish_known = receiver.pipeline.accept(index, start)
        if finish_known is not None:
            self._finish(index, finish_known)
        return True

    def _stuck(self) -> bool:
        """Whether what the dispatcher waits for is not there yet."""
        missing = self._missing
        if missing is None:
            return False
        if isinstance(missing, int):
            return self._bursts[missing] is None
        return missing[1] >= len(missing[0].collects)

    def _dispatch(self) -> bool:
        """Sends instructions to their queues as far as fetched words and room are known; returns whether any was sent."""
        program = self.program
        moved = False
        while self._next_instruction < len(program.units):
            index = self._next_instruction
            length, pc = program.lengths[index], program.pcs[index]
            first, last = pc // self._words_per_burst, (pc + length - 1) // self._words_per_burst
            begin = self._bursts[first]
            if begin is None:
                self._missing = first
                return moved
            unit = program.units[index]
            receiver = None if unit is None else self.receivers[unit]
            begin = max(self._dispatcher_free, begin)
            # Once the instruction has taken the last word of a burst, there is room for the burst after the next.
            for burst in range(max(first, self._asked - 1), (pc + length) // self._words_per_burst):
                behind = pc + length - (burst + 1) * self._words_per_burst
                taken = self._sent(index, receiver, begin, behind, burst)
                if taken is None:
                    return moved
                self._asked = burst + 2
                self._fetch(burst + 2, taken + FETCH_ADDRESS)
            end = self._sent(index, receiver, begin, 0, last)
            if end is None:
                return moved
            if receiver:
                receiver.send(end)
            else:
                self.starts[index] = self.finishes[index] = end
            self._dispatcher_free = end + 1
            self._next_instruction += 1
            moved = True
        return moved

    def _sent(self, index: int, receiver: Receiver | None, begin: int, behind: int, last: int) -> int | None:
        """When all words of the instruction but the last ``behind`` are in the queue. These words lie in bursts up to
        ``last``."""
        pc, taken = self.program.pcs[index], self.program.lengths[index] - behind
        # The dispatcher's register holds one word more than the queue.
        room = receiver.room(self.config.queue_words + 1, behind) if receiver else 0
        if room is None:
            assert receiver is not None
            self._missing = receiver, receiver.owner
            return None
        end = max(begin + taken, room)
        for burst in range(pc // self._words_per_burst + 1, last + 1):
            there = self._bursts[burst]
            if there is None:
                self._missing = burst
                return None
            end = max(end, there + pc + taken - burst * self._words_per_burst - 1)
        return end

    def _fetch(self, number: int, asked: int) -> None:
        beat_words = self.config.axi_bytes // 4
        words = min(self._words_per_burst, self.program.words - number * self._words_per_burst)
        if words > 0:
            self.bus.fetch(number, -(-words // beat_words), asked)
