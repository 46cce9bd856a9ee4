"""DRAM as a fluid: a stream of read beats and a stream of write beats share one beat per cycle.

Each of two ports moves half a beat in a cycle. Bursts that follow each other use both ports; a burst alone uses one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from isa.config import MachineConfig
from sim.cycle.timing import AHEAD_TURN, BRIDGE_READ, DRAM_READ, READ_TURN
from sim.rtl.memory import DRAM_BURSTS

EPSILON = 1e-3
"""The beats, or cycles of work, below which an amount counts as nothing, since sums of fractions are not exact."""
NEVER = float("inf")

SLICE = 2
"""Addresses in the register slice on the way to DRAM."""


@dataclass(slots=True)
class Transfer:
    """Beats of one instruction. They take ``work`` cycles when nobody else uses DRAM, and do not begin before ``due``."""

    index: int
    beats: int
    work: float
    due: float
    gap: int
    """The cycles that must pass after the transfer before."""
    bursts: int = 0
    """The bursts of a read. Each takes a place in DRAM's queue."""
    last: bool = True
    """Whether it is the last transfer of its instruction, which may have several."""
    chunks: int = 0
    """The beats that wait behind the bus when words are slower than beats."""
    first: int = 0
    """The beats of its first burst."""


class Stream:
    """One direction: transfers in order. ``served`` counts beats; ``watch`` is the count that somebody waits for."""

    def __init__(
        self, places: int = DRAM_BURSTS, turn: int = 0, read: int = DRAM_READ, ports: int = 1, ahead: int | None = None
    ) -> None:
        self._places = places
        """The most bursts that may be on their way."""
        self._ahead = None if ahead is None or ahead >= read + AHEAD_TURN else ahead
        """The most beats that may be on their way when another burst is asked for. With None no burst waits for this limit:
        DRAM serves a beat in a cycle at most, so it is never reached."""
        self._turn = turn
        """The additional cycles from the end of a burst to the next address, where the machine holds that back."""
        self._read = read
        """The cycles from DRAM taking an address to the first beat."""
        self._ports = ports
        self.queue: deque[Transfer] = deque()
        self.current: Transfer | None = None
        self.left = 0.0
        self.density = 0.0
        self.served = 0.0
        self.asked = 0
        self.watch = NEVER
        self._over = -NEVER
        """When the last transfer was over."""
        self._ends: list[float] = []
        """When each of the last bursts was over, which freed its place in DRAM's queue."""
        self._begun = 0
        """The beats of all transfers before the current one."""
        self._spans: deque[tuple[int, float, float]] = deque()
        """For each of the last transfers the number of its first beat, when that was due, and the cycles from beat to beat."""

    def add(self, transfer: Transfer) -> None:
        self.asked += transfer.beats
        if self.current is None:
            self._begin(transfer)
        else:
            self.queue.append(transfer)

    def _begin(self, transfer: Transfer) -> None:
        """Makes this the current transfer, with the bursts that find places in DRAM's queue in time. The others follow as a
        transfer of their own."""
        since = transfer.due
        transfer.due = max(since, self._over + transfer.gap)
        if transfer.bursts:
            self._address(transfer)
        if self._ports > 1 and transfer.beats:
            transfer.work += self._alone(transfer, transfer.due - since)
        self.current = transfer
        self.left = transfer.work
        self.density = transfer.beats / transfer.work if transfer.work else 0.0

    def _alone(self, transfer: Transfer, since: float) -> float:
        """The additional cycles of its first burst, which has half the speed if it comes while no others are served."""
        first = min(transfer.first, transfer.beats)
        return max(0.0, first * (self._ports - transfer.work / transfer.beats) - since)

    def finish(self, now: float) -> Transfer:
        done = self.current
        assert done is not None
        self.current = None
        self._over = now
        if done.bursts:
            apart, size = max(done.work, now - done.due) / done.bursts, done.beats / done.bursts
            self.free([now - (burst + 1) * apart + size for burst in range(min(done.bursts, self._places) - 1, -1, -1)])
        if self._ahead is not None and done.beats:
            self._spans.append((self._begun, done.due, (now - done.due) / done.beats))
            self._begun += done.beats
            while len(self._spans) > 1 and self._spans[1][0] < self._begun - self._ahead:
                self._spans.popleft()
        if self.queue:
            self._begin(self.queue.popleft())
        return done

    def free(self, ends: Sequence[float]) -> None:
        """Frees the places of bursts that are over at these times."""
        self._ends = sorted([*self._ends, *ends])[-self._places :]

    def _address(self, transfer: Transfer) -> None:
        """Sets when the transfer can begin, and splits off the bursts that cannot follow without a gap.

        DRAM takes the address of a burst when the burst that is as many before it as there are places is over.
        """
        size = transfer.work / transfer.bursts
        ends = self._ends
        places, delay = self._places, self._read + self._turn
        free = places - len(ends)
        if not free and ends[0] + delay > transfer.due:
            transfer.due = ends[0] + delay
        transfer.due = max(transfer.due, self._asked_for(0))
        own = transfer.due + size
        most = self._together(transfer, size)
        for burst in range(max(1, free), most):
            end = ends[burst - free] if burst < places else own + (burst - places) * size
            if end + delay > transfer.due + burst * size + EPSILON:
                most = burst
                break
            if burst > places:
                break
        if most < transfer.bursts:
            self._split(transfer, most)

    def _together(self, transfer: Transfer, size: float) -> int:
        """The number of bursts that are asked for in time, if only the limit of beats on the way counts."""
        if self._ahead is None:
            return transfer.bursts
        beats = -(-transfer.beats // transfer.bursts)
        for burst in range(1, transfer.bursts):
            if burst * beats > self._ahead:
                waits = self._read + AHEAD_TURN > self._ahead * transfer.work / transfer.beats + EPSILON
                return burst if waits else transfer.bursts
            if self._asked_for(burst * beats) > transfer.due + burst * size + EPSILON:
                return burst
        return transfer.bursts

    def _asked_for(self, beats: int) -> float:
        """When DRAM can serve the burst behind so many beats of the current transfer, if only the limit on beats counts."""
        if self._ahead is not None:
            served = self._begun + beats - self._ahead
            for first, begin, pace in reversed(self._spans):
                if first < served:
                    return begin + (served - first) * pace + (self._read + AHEAD_TURN)
        return -NEVER

    def _split(self, transfer: Transfer, bursts: int) -> None:
        """Leaves so many bursts to the transfer, and makes a transfer of the others, which comes next."""
        share = bursts / transfer.bursts
        beats = round(transfer.beats * share)
        rest = Transfer(
            transfer.index, transfer.beats - beats, transfer.work * (1 - share), transfer.due, 0, transfer.bursts - bursts,
            transfer.last, transfer.chunks, transfer.first,
        )  # fmt: skip
        transfer.beats, transfer.work, transfer.bursts, transfer.last = beats, transfer.work * share, bursts, False
        self.queue.appendleft(rest)


@dataclass(slots=True)
class Burst:
    """An instruction fetch. ``behind`` is the count of LOAD beats that come first; it is known when the burst is asked for."""

    number: int
    beats: int
    asked: float
    behind: float = NEVER


class Bus:
    """Serves both streams and instruction fetch; ``step`` goes on to the next event.

    When both directions want the port it alternates. A stream whose unit cannot keep up (``density`` below one
    beat per cycle) leaves the rest to the other. Reads come back in the order in which they were asked for, so a
    fetch waits for the LOAD beats that are already on their way, and LOAD then waits for the fetch.
    """

    def __init__(
        self, reads: int = DRAM_BURSTS, ports: int = 1, ahead: int = MachineConfig.axi_read_ahead, dram_read: int = DRAM_READ
    ) -> None:
        self._ports = ports
        self.ahead = ahead - 1
        """The most beats that may be on their way when another burst is asked for."""
        self._places = min(reads, DRAM_BURSTS * ports)
        self.read = dram_read + (BRIDGE_READ if ports > 1 else 0)
        """The cycles from DRAM taking an address to the read of the first beat, as the machine sees it."""
        self.now = 0.0
        self.reads = Stream(self._places, READ_TURN if reads < DRAM_BURSTS * ports else 0, self.read, ports, self.ahead)
        self.writes = Stream(ports=ports)
        self.fetches: deque[Burst] = deque()
        self.fetch_left = 0.0
        self.buffered = 0.0
        """The beats of LOAD that are behind the bus while it brings instructions."""
        self.read_done: list[tuple[Transfer, float]] = []
        self.write_done: list[tuple[Transfer, float]] = []
        self.fetched: list[tuple[int, float]] = []
        self.speeds = (1.0, 1.0)
        """The speeds of reading and of writing until the next event. One is below 1 when the other takes its turns."""
        self.watched = False
        """Whether a stream has reached its ``watch``."""

    def fetch(self, number: int, beats: int, asked: float) -> None:
        self.fetches.append(Burst(number, beats, asked))

    def step(self, until: float = NEVER) -> bool:
        """Goes on to the next event. If there is none before ``until``, returns False and changes nothing but ``speeds``."""
        reads, writes, now = self.reads, self.writes, self.now
        fetching = self.fetch_left > 0
        reading = writing = blocked = False
        then = NEVER
        if self.fetches:
            then, blocked, begins = self._fetches(fetching)
            if begins:
                return True
        current = reads.current
        apart = False
        if current is not None:
            apart = current.beats == 0 or (fetching and self.buffered > EPSILON)
            if apart or not (fetching or blocked):
                if current.due <= now:
                    reading = True
                elif current.due < then:
                    then = current.due
        current = writes.current
        if current is not None:
            if current.due <= now:
                writing = True
            elif current.due < then:
                then = current.due

        read_speed = write_speed = 1.0
        if writing and (reading or fetching):
            read_density = 1.0 if fetching else reads.density
            write_density = writes.density
            if read_density + write_density > 1.0:
                read_speed = min(1.0, max(0.5, 1.0 - write_density) / read_density)
                write_speed = min(1.0, max(0.5, 1.0 - read_density) / write_density)
        own_speed = 1.0 if apart else read_speed
        self.speeds = (own_speed, write_speed)
        if fetching and now + self.fetch_left / read_speed < then:
            then = now + self.fetch_left / read_speed
        if reading:
            span = reads.left / own_speed
            rate = own_speed * reads.density
            if rate:
                if fetching:
                    span = min(span, self.buffered / rate)
                elif self.fetches and self.fetches[0].behind < NEVER:
                    ahead = self.fetches[0].behind - reads.served
                    before = ahead - self._packed()
                    span = min(span, (before if before > EPSILON else ahead) / rate)
                if reads.watch < NEVER:
                    span = min(span, max(0.0, (reads.watch - reads.served) / rate))
            if now + span < then:
                then = now + span
        if writing:
            span = writes.left / write_speed
            if writes.watch < NEVER:
                span = min(span, max(0.0, (writes.watch - writes.served) / (write_speed * writes.density)))
            if now + span < then:
                then = now + span
        if then > until or then == NEVER:
            return False

        passed = then - now
        self.now = then
        if fetching:
            self.fetch_left -= passed * read_speed
            if self.fetch_left < EPSILON:
                self.fetch_left = 0.0
                self.fetches.popleft()
                reads.free((then,))
            if reading:
                self.buffered -= passed * reads.density
        if reading:
            self._serve(reads, passed * own_speed, self.read_done)
        if writing:
            self._serve(writes, passed * write_speed, self.write_done)
        return True

    def _fetches(self, fetching: bool) -> tuple[float, bool, bool]:
        """Returns when instruction fetch has its next event, whether it keeps LOAD waiting, and whether it begins now."""
        reads, now = self.reads, self.now
        then = NEVER
        for burst in self.fetches:
            if burst.behind == NEVER:
                if burst.asked > now:
                    then = min(then, burst.asked)
                else:
                    burst.behind = min(reads.served + self._on_the_way(burst), reads.asked)
        burst = self.fetches[0]
        if fetching or burst.behind > reads.served + self._packed() + EPSILON:
            return then, False, False
        due = burst.asked + self.read
        if due > now:
            return min(then, due), burst.behind <= reads.served + EPSILON, False
        self.fetch_left = burst.beats + max(0.0, burst.beats * (self._ports - 1) - (now - due))
        self.buffered = max(0.0, burst.behind - reads.served)
        self.fetched.append((burst.number, now))
        return now, False, True

    def _packed(self) -> float:
        """The beats of LOAD that wait in the packer, beyond those that count as served, when words are slower than beats."""
        current = self.reads.current
        return current.chunks if current is not None and current.due <= self.now and self.reads.density < 1.0 else 0

    def _serve(self, stream: Stream, work: float, done: list[tuple[Transfer, float]]) -> None:
        stream.left -= work
        stream.served += work * stream.density
        if stream.served + EPSILON >= stream.watch:
            self.watched = True
        if stream.left < EPSILON:
            done.append((stream.finish(self.now), self.now))

    def _on_the_way(self, fetch: Burst) -> float:
        """The LOAD beats that are asked for and not there yet. One burst is asked for per cycle while DRAM's queue has room."""
        reads = self.reads
        current = reads.current
        if current is None:
            return 0.0
        left = reads.left * reads.density
        size = current.beats / max(1, current.bursts)
        served = left % size if size else 0.0
        asked = min(left, self._asked(current), served + self._whole(served, size))
        if asked < left:
            return asked
        count = left
        if not current.last:
            self._queue_up(fetch, current)
            return count + min(reads.queue[0].beats, max(0.0, (self._places + SLICE) * size - count))
        bursts = count / size if size else 0.0
        for transfer in reads.queue:
            size = transfer.beats / max(1, transfer.bursts)
            places = max(0.0, self._places + SLICE - bursts) * size
            asked = min(self._asked(transfer), self._whole(count, size), places)
            count += min(transfer.beats, asked)
            bursts += transfer.bursts
            if asked < transfer.beats:
                break
        return count

    def _asked(self, transfer: Transfer) -> float:
        """The beats of the bursts whose addresses DRAM takes before that of a fetch in this cycle, which goes first.

        The first address of a transfer is on the bus 5 cycles after acceptance (``hw/move/load.py``): ``read`` + 1 before
        ``due``.
        """
        return max(0.0, self.now - transfer.due + self.read + 1) * transfer.beats / max(1, transfer.bursts)

    def _queue_up(self, fetch: Burst, current: Transfer) -> None:
        """Puts the fetch behind LOAD's bursts in the register slice, since DRAM's queue is full."""
        fetch.asked = max(fetch.asked, max(self.now, current.due) + (SLICE + 1) * current.work / current.bursts)

    def _whole(self, count: float, size: float) -> float:
        """The beats of the whole bursts that are asked for beside ``count`` beats on their way. The last one passes the
        limit."""
        return max(0.0, (self.ahead - count) // size + 1) * size if size else 0.0
