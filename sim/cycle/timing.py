"""Every latency that the cycle model knows, each with the part of the hardware that it comes from.

None of them is fitted: they are register stages counted in ``hw`` and ``sim/rtl/dram.v``, and the traces of the
RTL agree with them. Times are those of ``TraceEvent``: cycle 0 is the one after the host's write to CONTROL.
"""

from __future__ import annotations

from dataclasses import dataclass

from isa.config import MachineConfig
from isa.depths import READ_AHEAD_BEATS, SAVE_WORDS
from isa.latency import BANK_LATENCY, array_latency, conv_post_latency, pool_latency, post_latency
from sim.rtl.memory import DRAM_BURSTS, READ_LATENCY

BEGIN = 4
"""From the start of the trace to the sequencer's ``begin``: register, start, idle to clear, clear to run."""
FETCH_BEGIN = 4
"""From ``begin`` to DRAM taking the first address: counters, size of the burst, AR, register slice."""
FETCH_ADDRESS = 2
"""From the dispatcher taking the word that makes room, which left the prefetch queue a cycle before, to DRAM taking the
address: counters, AR, register slice."""
FETCH_WORD = 5
"""From the DRAM read of a beat to its first word at the dispatcher: R, register slice, prefetch queue (2), word."""
DRAM_READ = READ_LATENCY - 1
"""From DRAM taking an address to the read of the first beat, which is on R in the next cycle."""
READ_TURN = 4
"""From DRAM's read of a burst's last beat to DRAM taking the address that waited for it: R, slice, credits, AR, slice."""
QUEUE = 3
"""From a word leaving the dispatcher to the receiver taking it: register, buffered FIFO (2)."""
OFFER = 1
"""From its last word being there to the first cycle in which the unit may accept."""

RASTER_START = 2
"""From acceptance to the first pixel group leaving the raster's counters, but for the ``raster_rounds`` before it."""
RASTER_TO_BEAT = 12
"""From there to the first beat: raster (3), loop, sum, wrap, address, fetch (5)."""
RASTER_STAGES = 2
"""Groups between the raster's counters and its output: its settings are taken anew when the first of a walk is put out."""
RASTER_AHEAD = 3
"""Pixel groups between the raster's counters and the loop over taps: the next walk begins when the loop takes so many."""
READ_TO_BEAT = BANK_LATENCY + 1
"""From the grant of a beat's last word to the beat: bank, queue."""
LOOP_TO_BEAT = 9
"""From the loop over taps to the beat: loop, sum, wrap, address, fetch (5)."""
PLACES_AHEAD = 6
"""Places between the placement's counters and the write port: raster (3), sum, address, queue."""

LOAD_READ = 6 + DRAM_READ
"""From acceptance of a LOAD to the DRAM read of its first beat: front, runs, splitter (2), AR, register slice."""
LOAD_TAIL = 6
"""From the cycle after the last beat's read, or after the last word's, to ``done``: R, slice, packer (3), write, done."""
LOAD_WORD = 1
"""By which the first word of a LOAD is later than its bytes when these had to wait for the LOADP before it: slice."""
LOADP_TAIL = 2
"""The same for LOADP: R, slice, writer, done."""
LOAD_FILL = 4
"""From acceptance of a LOAD without DRAM bytes to its first word in the packer: front, queue, walk, slice."""
LOAD_GAP = 1
"""Between the words of one LOAD and the next, or the beats of one LOADP and the next."""
LOAD_CHUNKS = 5
"""Beats that wait in the packer when words are slower than beats: fetch then holds up nobody for so long."""
LOAD_NEXT = 2
"""From one acceptance to the next when the front is free at once."""
BURSTS_AHEAD = DRAM_BURSTS + 4
"""Bursts that have left the generator of runs and are not yet served: DRAM's queue, register slice (2), splitter (2)."""
LOAD_AHEAD_BEATS = READ_AHEAD_BEATS - 1
"""Beats that may be on their way when another burst is asked for."""

SAVE_WRITE = 11
"""From acceptance of a SAVE to the DRAM write of its first beat: walk (2), queue, read (2), queue (2), unpacker, W, slice,
DRAM."""
SAVE_READ = 3
"""From the cycle after acceptance, or after the last word's walk of the SAVE before, to the first read: walk (2), queue."""
SAVE_ADDRESS = 8
"""The same by way of the address, but for the time that a row's length takes: runs, splitter (2), AW, lengths, W, DRAM."""
SAVE_TAIL = 3
"""From the cycle after the last beat's write to ``done``: B queue, B, slice, done."""
SAVE_AHEAD_BEATS = SAVE_WORDS + 4 + DRAM_BURSTS
"""Beats between the reads of the feature maps and the write in DRAM: reader (8), unpacker (2), slice (2), DRAM (16)."""

MISC_READ = 2
"""From acceptance of a MISC to its first read: loops, request queue."""
MISC_NOTICE = 1
"""From the first cycle in which a MISC is offered to its acceptance, at least."""
MISC_TURN = 1
"""From the cycle in which a MISC's last iteration leaves the loops to the acceptance of the next, at least."""
END_TAIL = 0
"""From the last ``done`` to the count of cycles, which begins three cycles later than the trace: count of instructions (2),
complete."""


@dataclass(frozen=True)
class Drain:
    """How the results of a reduction leave: in ``entries`` of ``port`` pixels.

    An entry takes ``parts`` cycles to be finished, and then ``words`` cycles to be written.
    """

    entries: int
    port: int
    parts: int
    words: int

    @property
    def every(self) -> int:
        """Cycles from entry to entry."""
        return max(self.parts, self.words)

    @property
    def cycles(self) -> int:
        """From reduction to reduction, at least."""
        return self.entries * self.every

    @property
    def last(self) -> int:
        """From the first result to the last word, both included."""
        return (self.entries - 1) * self.every + self.parts + self.words - 1


def drain_of(config: MachineConfig) -> Drain:
    """CONV's."""
    return Drain(config.px_p // config.conv_ports, config.conv_ports, config.conv_parts, config.words_per_chunk)


def pool_drain_of(config: MachineConfig) -> Drain:
    """POOL's: one pixel at a time."""
    return Drain(config.px_p, 1, config.pool_parts, 1)


@dataclass(frozen=True)
class Timing:
    """The latencies that depend on the configuration."""

    conv_done: int
    """From the last beat to ``done``, less what the drain takes from its first result to its last word (``Drain.last``)."""
    conv_stored: int
    """From the last beat to ``done`` when sums are kept as accumulators."""
    pool_done: int
    """From the last tap to ``done``, less the same."""

    @classmethod
    def of(cls, config: MachineConfig) -> Timing:
        array = array_latency(config)
        return cls(
            conv_done=array + conv_post_latency(config) + 5,
            conv_stored=array + 3,
            pool_done=pool_latency(config) + post_latency(config) + 5,
        )
