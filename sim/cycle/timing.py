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
"""From W at DRAM to the write."""
DRAM_READ = READ_LATENCY - 1
"""From DRAM taking an address to the read of the first beat, which is on R in the next cycle, where ``dram_latency`` is what it
is in the presets."""

BRIDGE_READ = stages.HALVES + FIFO
"""By which a beat that comes from one of two ports is later than from the only one."""
BRIDGE_WRITE = FIFO
"""The same of a beat written, and of the answer."""

BEGIN = stages.START
"""From the start of the trace to the sequencer's ``begin``."""
FETCH_BEGIN = stages.FETCH + SLICE
"""From ``begin`` to DRAM taking the first address."""
FETCH_ADDRESS = stages.FETCH_AGAIN + SLICE
"""From the dispatcher taking the word that makes room, which left the prefetch queue a cycle before, to DRAM taking the
address."""
FETCH_WORD = CHANNEL + SLICE + FIFO + SLICE
"""From the DRAM read of a beat to its first word at the dispatcher."""
READ_TURN = SLICE + stages.CREDITS + CHANNEL + SLICE
"""From DRAM's read of a burst's last beat to DRAM taking the address that waited for it."""
AHEAD_TURN = SLICE + stages.CREDITS + SLICE
"""From DRAM's read of a beat to DRAM taking the address that waited for fewer beats on the way."""
QUEUE = stages.DISPATCH_OUT + FIFO
"""From a word leaving the dispatcher to the receiver taking it."""
OFFER = stages.RULES
"""From its last word being there to the first cycle in which the unit may accept."""

RASTER_START = stages.RASTER_SETUP
"""From acceptance to the first pixel group leaving the raster's counters, but for the ``raster_rounds`` before it."""
RASTER_STAGES = stages.RASTER_SETTINGS
"""Groups between the raster's counters and its output: its settings are taken anew when the first of a walk is put out."""
RASTER_AHEAD = stages.RASTER
"""Pixel groups between the raster's counters and the loop over taps: the next walk begins when the loop takes so many."""
LOOP_TO_BEAT = stages.TAPS + stages.READ_PORT
"""From the loop over taps to the beat."""
RASTER_TO_BEAT = stages.RASTER + LOOP_TO_BEAT
"""From a pixel group that leaves the raster's counters to its first beat."""
READ_TO_BEAT = BANK_LATENCY + stages.ANSWER
"""From the grant of a beat's last word to the beat."""
PLACES_AHEAD = stages.RASTER + stages.PLACE
"""Places between the placement's counters and the write port."""

LOAD_ADDRESS = stages.LOAD_FRONT + SPLITTER + CHANNEL + SLICE
"""From acceptance of a LOAD to DRAM taking its first address."""
LOAD_READ = LOAD_ADDRESS + DRAM_READ
"""From acceptance of a LOAD to the DRAM read of its first beat."""
LOAD_TAIL = CHANNEL + SLICE + stages.PACKER + stages.FM_WRITE + DONE - 1
"""From the cycle after the last beat's read, or after the last word's, to ``done``."""
WEIGHT_STEP = 1
"""Of LOADW, from a word to its step."""
LOAD_WORD = SLICE
"""By which the first word of a LOAD is later than its bytes when these had to wait for the LOADP before it."""
LOADP_TAIL = CHANNEL + SLICE + DONE - 1
"""From the cycle after the last beat's read to ``done`` of a LOADP."""
LOAD_FILL = stages.LOAD_QUEUE + stages.WALK + SLICE
"""From acceptance of a LOAD without DRAM bytes to its first word in the packer."""
LOAD_GAP = stages.LOAD_GAP
"""Between the words of one LOAD and the next, or the beats of one LOADP and the next."""
LOAD_CHUNKS = stages.PACKER_CHUNKS
"""Beats that wait in the packer when words are slower than beats: fetch then holds up nobody for so long."""
LOAD_NEXT = stages.LOAD_FRONT_AGAIN
"""From one acceptance to the next when the front is free at once."""
BURSTS_AHEAD = DRAM_BURSTS + stages.SLICE_BEATS + SPLITTER
"""Bursts that have left the generator of runs and are not yet served."""

SAVE_READ = stages.WALK + stages.READ_QUEUE
"""From the cycle after acceptance, or after the last word's walk of the SAVE before, to the first read."""
SAVE_WRITE = SAVE_READ + stages.READ_PORT - 1 + stages.UNPACKER + CHANNEL + SLICE + DRAM
"""From acceptance of a SAVE to the DRAM write of its first beat."""
SAVE_ADDRESS = stages.SAVE_RUNS + SPLITTER + CHANNEL + stages.BURST_LENGTH + CHANNEL + DRAM
"""The same by way of the address, but for the time that a row's length takes."""
SAVE_TAIL = CHANNEL + SLICE + CHANNEL + DONE - 1
"""From the cycle after the last beat's write to ``done``."""
SAVE_AHEAD_BEATS = SAVE_WORDS + stages.UNPACKER_BEATS + stages.SLICE_BEATS + DRAM_BURSTS
"""Beats between the reads of the feature maps and the write in DRAM."""

MISC_READ = stages.MISC_LOOPS + stages.READ_QUEUE
"""From acceptance of a MISC to its first read."""
MISC_NOTICE = stages.MISC_NOTICE
MISC_TURN = stages.MISC_TURN
END_TAIL = stages.COUNTED
"""From the last ``done`` to the count of cycles."""


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


def drain_of(config: MachineConfig, result_bytes: int = 1) -> Drain:
    """CONV's."""
    words = config.words_per_chunk * result_bytes
    return Drain(config.px_p // config.conv_ports, config.conv_ports, config.conv_parts, words)


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
            conv_done=array + conv_post_latency(config) + stages.RESULT,
            conv_stored=array + stages.STORED,
            pool_done=pool_latency(config) + post_latency(config) + stages.RESULT,
        )
