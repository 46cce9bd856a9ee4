"""Register stages of the machine's parts, in cycles: what the cycle model adds up (``sim/cycle/timing.py``).

Each name has the file of ``hw`` whose docstring gives the same number.
"""

from __future__ import annotations

from isa.latency import BANK_LATENCY

RESET = 2
"""From a reset to the registers at the leaves of its tree, which reset all others a cycle later (``hw/reset.py``)."""
START = 4 + RESET
"""From the host's write to the sequencer's ``begin``: register, start, clear until all is reset, run
(``control/sequencer.py``)."""
FETCH = 3
"""From ``begin`` to the first address on AR: counters, size of the burst, AR (``control/fetch.py``)."""
FETCH_AGAIN = 1
"""From room in the prefetch queue to an address on AR."""
DISPATCH_OUT = 1
"""The register before the queues of the units (``control/dispatch.py``)."""
RULES = 1
"""From an instruction's last word to the first cycle in which the unit may accept it (``control/receiver.py``)."""
COUNTED = -RESET
"""From the last ``done`` to the count of cycles, which begins later than the trace: by as much as END takes, and by the wait
for the reset."""

FIFO = 2
"""``buffers/fifo.py``."""
SLICE = 1
"""``axi/slice.py``."""
CHANNEL = 1
"""A register of AR, AW, W, B or R."""
HALVES = 1
"""From the lower half of a beat to the whole, at a port of two (``axi/bridge.py``)."""
SPLITTER = 2
"""From a run to its first burst (``axi/burst.py``)."""
CREDITS = 1
"""From a burst's last beat to the room that it gives back (``axi/credits.py``)."""

RASTER = 3
"""From the raster's counters to its output: place, choose, add (``window/raster.py``)."""
RASTER_SETUP = 2
"""From a walk to its counters, besides ``raster_rounds``."""
RASTER_SETTINGS = 2
"""Pixel groups after which the raster takes the settings of the next walk."""
TAPS = 4
"""From a pixel group to a step's addresses: loop, sum, wrap, address (``window/generator.py``)."""
READ_QUEUE = 1
"""From a request to the cycle in which its lanes ask for their banks (``buffers/read_port.py``)."""
READ_PORT = BANK_LATENCY + 2
"""From a request to its answer (``buffers/read_port.py``)."""
ANSWER = 1
"""From a word that the banks read to its answer."""
PLACE = 3
"""From a group of the placement's raster to the request to write: sum, address, queue (``window/placement.py``)."""

LOAD_FRONT = 2
"""From acceptance to the first run: front, runs (``move/load.py``, ``move/runs.py``)."""
LOAD_FRONT_AGAIN = 2
"""From one acceptance to the next."""
LOAD_QUEUE = 1
"""Between the front and the walk of words."""
WALK = 2
"""From a transfer to its first word (``move/words.py``)."""
PACKER = 3
"""From a chunk to its word (``move/packer.py``)."""
LOAD_GAP = 1
"""Between the words of one transfer and the next, or the beats of two LOADPs."""
PACKER_CHUNKS = 5
"""Chunks that wait in the packer."""
FM_WRITE = 1
"""The request to write a word."""
DONE = 1
"""From the end of an instruction's work to ``done``."""

RESULT = 5
"""Of CONV and POOL, from the byte of a finishing lane to ``done``, besides the drain: operands, gather, queue, write, done
(``conv/unit.py``, ``pool/finish.py``)."""
STORED = 3
"""Of CONV, from the array's sums to ``done`` where they stay as accumulators: operands, sums, done (``conv/accumulate.py``)."""

UNPACKER = 1
"""From a word to its beat (``move/unpacker.py``)."""
UNPACKER_BEATS = 2
SLICE_BEATS = 2
SAVE_RUNS = 2
"""From a row to its bursts (``move/runs.py``)."""
BURST_LENGTH = 1
"""From AW to the length that W counts (``axi/write_engine.py``)."""

MISC_LOOPS = 1
"""From acceptance to the addresses of the first words (``misc/walk.py``)."""
MISC_NOTICE = 1
"""From the first cycle in which an instruction is offered to its acceptance, at least (``misc/unit.py``)."""
MISC_TURN = 1
"""From the last iteration of an instruction to the acceptance of the next, at least."""

ROW_BEGIN = 2
"""From acceptance to the first word that is asked for (``rows/unit.py``)."""
ROW_REDUCE = 5
"""From a row's last slice to its sums, besides a stage for each doubling of the lanes (``rows/take.py``)."""
ROW_TOTAL = 6
"""From the last step of the pass over its denominators to their total, besides the same (``rows/total.py``)."""
ROW_ROOT = 79
"""From a row's sums to its root (``rows/root.py``)."""
ROW_RECIPROCAL = 23
"""From a total to its reciprocal (``rows/reciprocal.py``)."""
ROW_NUMBERS = 79
"""From a root to a row's factor and offset (``rows/reciprocal.py``)."""
ROW_EMIT = 23
"""From the last slice of a word to the word (``rows/emit.py``)."""
ROWS_HELD = 4
"""Rows that lie in the row buffer at a time: two are read and one is written, and one covers the ends of the passes."""
