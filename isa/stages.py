"""The register stages of the machine's parts, in cycles, which the cycle model adds up (``sim/cycle/timing.py``).

Each name has the file of ``hw`` whose docstring gives the same number.
"""

from __future__ import annotations

from isa.latency import BANK_LATENCY

RESET = 2
"""The cycles from a reset to the registers at the leaves of its tree, which reset all others a cycle later
(``hw/reset.py``)."""
START = 4 + RESET
"""The cycles from the host's write to the sequencer's ``begin``: register, start, clear until all is reset, run
(``control/sequencer.py``)."""
FETCH = 3
"""The cycles from ``begin`` to the first address on AR: counters, size of the burst, AR (``control/fetch.py``)."""
FETCH_AGAIN = 1
"""The cycles from room in the prefetch queue to an address on AR."""
DISPATCH_OUT = 1
"""The register before the queues of the units (``control/dispatch.py``)."""
RULES = 1
"""The cycles from an instruction's last word to the first in which the unit may accept it (``control/receiver.py``)."""
COUNTED = -RESET
"""The cycles from the last ``done`` to the count of cycles. The count begins later than the trace, by as much as END takes and
by the wait for the reset."""

FIFO = 2
"""The cycles through a FIFO (``buffers/fifo.py``)."""
SLICE = 1
"""The cycles through a register slice (``axi/slice.py``)."""
CHANNEL = 1
"""A register of AR, AW, W, B or R."""
HALVES = 1
"""The cycles from the lower half of a beat to the whole, at a port of two (``axi/bridge.py``)."""
SPLITTER = 2
"""The cycles from a run to its first burst (``axi/burst.py``)."""
CREDITS = 1
"""The cycles from a burst's last beat to the room that it gives back (``axi/credits.py``)."""

RASTER = 3
"""The cycles from the raster's counters to its output: place, choose, add (``window/raster.py``)."""
RASTER_SETUP = 2
"""The cycles from a walk to its counters, without ``raster_rounds``."""
RASTER_SETTINGS = 2
"""The pixel groups after which the raster takes the settings of the next walk."""
TAPS = 4
"""The cycles from a pixel group to a step's addresses: loop, sum, wrap, address (``window/generator.py``)."""
READ_QUEUE = 1
"""The cycles from a request to the one in which its lanes ask for their banks (``buffers/read_port.py``)."""
READ_PORT = BANK_LATENCY + 2
"""The cycles from a request to its answer (``buffers/read_port.py``)."""
ANSWER = 1
"""The cycles from a word that the banks read to its answer."""
PLACE = 3
"""The cycles from a group of the placement's raster to the request to write: sum, address, queue (``window/placement.py``)."""

LOAD_FRONT = 2
"""The cycles from acceptance to the first run: front, runs (``move/load.py``, ``move/runs.py``)."""
LOAD_FRONT_AGAIN = 2
"""The cycles from one acceptance to the next."""
LOAD_QUEUE = 1
"""The cycles between the front and the walk of words."""
WALK = 2
"""The cycles from a transfer to its first word (``move/words.py``)."""
PACKER = 3
"""The cycles from a chunk to its word (``move/packer.py``)."""
LOAD_GAP = 1
"""The cycles between the words of one transfer and the next, or the beats of two LOADPs."""
PACKER_CHUNKS = 5
"""The chunks that wait in the packer."""
FM_WRITE = 1
"""The cycle of the request to write a word."""
DONE = 1
"""The cycles from the end of an instruction's work to ``done``."""

RESULT = 5
"""The cycles of CONV and POOL from the byte of a finishing lane to ``done``, without the drain: operands, gather, queue, write,
done (``conv/unit.py``, ``pool/finish.py``)."""
STORED = 3
"""The cycles of CONV from the array's sums to ``done`` if they stay as accumulators: operands, sums, done
(``conv/accumulate.py``)."""

UNPACKER = 1
"""The cycles from a word to its beat (``move/unpacker.py``)."""
UNPACKER_BEATS = 2
SLICE_BEATS = 2
SAVE_RUNS = 2
"""The cycles from a row to its bursts (``move/runs.py``)."""
BURST_LENGTH = 1
"""The cycles from AW to the length that W counts (``axi/write_engine.py``)."""

MISC_LOOPS = 1
"""The cycles from acceptance to the addresses of the first words (``misc/walk.py``)."""
MISC_NOTICE = 1
"""The least cycles from the first in which an instruction is offered to its acceptance (``misc/unit.py``)."""
MISC_TURN = 1
"""The least cycles from the last iteration of an instruction to the acceptance of the next."""

ROW_BEGIN = 2
"""The cycles from acceptance to the first word that is asked for (``rows/unit.py``)."""
ROW_REDUCE = 5
"""The cycles from a row's last slice to its sums, without a stage for each doubling of the lanes (``rows/take.py``)."""
ROW_TOTAL = 6
"""The cycles from the last step of the pass over its denominators to their total, without the same stages
(``rows/total.py``)."""
ROW_ROOT = 79
"""The cycles from a row's sums to its root (``rows/root.py``)."""
ROW_RECIPROCAL = 23
"""The cycles from a total to its reciprocal (``rows/reciprocal.py``)."""
ROW_NUMBERS = 79
"""The cycles from a root to a row's factor and offset (``rows/reciprocal.py``)."""
ROW_EMIT = 23
"""The cycles from the last slice of a word to the word (``rows/emit.py``)."""
ROWS_HELD = 4
"""The rows that lie in the row buffer at a time: two are read, one is written, and one covers the ends of the passes."""
