"""Every latency that the cycle model knows, as a sum of the stages of ``isa/stages.py`` and of the RTL bench's DRAM.

None of them is fitted: the traces of the RTL agree with them. Times are those of ``TraceEvent``: cycle 0 is the one after the
host's write to CONTROL. A ``- 1`` counts from the cycle after the event.
"""

from __future__ import annotations

from dataclasses import dataclass

from isa import stages
from isa.config import MachineConfig
from isa.depths import SAVE_WORDS
from isa.latency import BANK_LATENCY, array_latency, conv_post_latency, pool_latency, post_latency
from isa.stages import CHANNEL, DONE, FIFO, SLICE, SPLITTER
from sim.rtl.memory import DRAM_BURSTS, READ_LATENCY

DRAM = 1
"""The cycles from W at DRAM to the write."""
DRAM_READ = READ_LATENCY - 1
"""The cycles from DRAM taking an address to the read of the first beat, which is on R in the next cycle. The latency of DRAM is
that of the presets."""

BRIDGE_READ = stages.HALVES + FIFO
"""The cycles by which a beat from one of two ports is later than a beat from the only one."""
BRIDGE_WRITE = FIFO
"""The cycles by which a beat that is written, or the answer to it, is later with two ports."""

BEGIN = stages.START
"""The cycles from the start of the trace to the sequencer's ``begin``."""
FETCH_BEGIN = stages.FETCH + SLICE
"""The cycles from ``begin`` to DRAM taking the first address."""
FETCH_ADDRESS = stages.FETCH_AGAIN + SLICE
"""The cycles from the dispatcher taking the word that makes room to DRAM taking the address. The word left the prefetch queue a
cycle before."""
FETCH_WORD = CHANNEL + SLICE + FIFO + SLICE
"""The cycles from the DRAM read of a beat to its first word at the dispatcher."""
READ_TURN = SLICE + stages.CREDITS + CHANNEL + SLICE
"""The cycles from DRAM's read of a burst's last beat to DRAM taking the address that waited for it."""
AHEAD_TURN = SLICE + stages.CREDITS + SLICE
"""The cycles from DRAM's read of a beat to DRAM taking the address that waited for fewer beats on the way."""
QUEUE = stages.DISPATCH_OUT + FIFO
"""The cycles from a word leaving the dispatcher to the receiver taking it."""
OFFER = stages.RULES
"""The cycles from an instruction's last word being there to the first in which the unit may accept it."""

RASTER_START = stages.RASTER_SETUP
"""The cycles from acceptance to the first pixel group leaving the raster's counters, without ``raster_rounds``."""
RASTER_STAGES = stages.RASTER_SETTINGS
"""The groups between the raster's counters and its output. It takes new settings when the first of a walk is put out."""
RASTER_AHEAD = stages.RASTER
"""The pixel groups between the raster's counters and the loop over taps: the next walk begins when the loop takes so many."""
LOOP_TO_BEAT = stages.TAPS + stages.READ_PORT
"""The cycles from the loop over taps to the beat."""
RASTER_TO_BEAT = stages.RASTER + LOOP_TO_BEAT
"""The cycles from a pixel group that leaves the raster's counters to its first beat."""
READ_TO_BEAT = BANK_LATENCY + stages.ANSWER
"""The cycles from the grant of a beat's last word to the beat."""
PLACES_AHEAD = stages.RASTER + stages.PLACE
"""The places between the placement's counters and the write port."""

LOAD_ADDRESS = stages.LOAD_FRONT + SPLITTER + CHANNEL + SLICE
"""The cycles from acceptance of a LOAD to DRAM taking its first address."""
LOAD_READ = LOAD_ADDRESS + DRAM_READ
"""The cycles from acceptance of a LOAD to the DRAM read of its first beat."""
LOAD_TAIL = CHANNEL + SLICE + stages.PACKER + stages.FM_WRITE + DONE - 1
"""The cycles from that after the last beat's read, or after the last word's, to ``done``."""
WEIGHT_STEP = 1
"""The cycles of LOADW from a word to its step."""
LOAD_WORD = SLICE
"""The cycles by which the first word of a LOAD is later than its bytes, if these waited for the LOADP before it."""
LOADP_TAIL = CHANNEL + SLICE + DONE - 1
"""The cycles from that after the last beat's read to ``done`` of a LOADP."""
LOAD_FILL = stages.LOAD_QUEUE + stages.WALK + SLICE
"""The cycles from acceptance of a LOAD without DRAM bytes to its first word in the packer."""
LOAD_GAP = stages.LOAD_GAP
"""The cycles between the words of one LOAD and the next, or the beats of one LOADP and the next."""
LOAD_CHUNKS = stages.PACKER_CHUNKS
"""The beats that wait in the packer when words are slower than beats. For so long fetch holds up nobody."""
LOAD_NEXT = stages.LOAD_FRONT_AGAIN
"""The cycles from one acceptance to the next when the front is free at once."""
BURSTS_AHEAD = DRAM_BURSTS + stages.SLICE_BEATS + SPLITTER
"""The most bursts that have left the generator of runs and are not yet served."""

SAVE_READ = stages.WALK + stages.READ_QUEUE
"""The cycles to the first read from the one after acceptance, or after the last word's walk of the SAVE before."""
SAVE_WRITE = SAVE_READ + stages.READ_PORT - 1 + stages.UNPACKER + CHANNEL + SLICE + DRAM
"""The cycles from acceptance of a SAVE to the DRAM write of its first beat."""
SAVE_ADDRESS = stages.SAVE_RUNS + SPLITTER + CHANNEL + stages.BURST_LENGTH + CHANNEL + DRAM
"""The same cycles by way of the address, without the time that the length of a row takes."""
SAVE_TAIL = CHANNEL + SLICE + CHANNEL + DONE - 1
"""The cycles from that after the last beat's write to ``done``."""
SAVE_AHEAD_BEATS = SAVE_WORDS + stages.UNPACKER_BEATS + stages.SLICE_BEATS + DRAM_BURSTS
"""The most beats between the reads of the feature maps and the write in DRAM."""

MISC_READ = stages.MISC_LOOPS + stages.READ_QUEUE
"""The cycles from acceptance of a MISC to its first read."""
MISC_NOTICE = stages.MISC_NOTICE
MISC_TURN = stages.MISC_TURN
END_TAIL = stages.COUNTED
"""The cycles from the last ``done`` to the count of cycles."""


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
        """The cycles from entry to entry."""
        return max(self.parts, self.words)

    @property
    def cycles(self) -> int:
        """The least cycles from reduction to reduction."""
        return self.entries * self.every

    @property
    def last(self) -> int:
        """The cycles from the first result to the last word, both included."""
        return (self.entries - 1) * self.every + self.parts + self.words - 1


def drain_of(config: MachineConfig, result_bytes: int = 1) -> Drain:
    """The drain of CONV."""
    words = config.words_per_chunk * result_bytes
    return Drain(config.px_p // config.conv_ports, config.conv_ports, config.conv_parts, words)


def pool_drain_of(config: MachineConfig) -> Drain:
    """The drain of POOL, which finishes one pixel at a time."""
    return Drain(config.px_p, 1, config.pool_parts, 1)


@dataclass(frozen=True)
class Timing:
    """The latencies that depend on the configuration."""

    conv_done: int
    """The cycles from the last beat to ``done``, less those of the drain from first result to last word (``Drain.last``)."""
    conv_stored: int
    """The cycles from the last beat to ``done`` when sums are kept as accumulators."""
    pool_done: int
    """The cycles from the last tap to ``done``, less those of the drain in the same way."""

    @classmethod
    def of(cls, config: MachineConfig) -> Timing:
        array = array_latency(config)
        return cls(
            conv_done=array + conv_post_latency(config) + stages.RESULT,
            conv_stored=array + stages.STORED,
            pool_done=pool_latency(config) + post_latency(config) + stages.RESULT,
        )
