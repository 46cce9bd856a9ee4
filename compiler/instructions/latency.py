"""Latencies that plans and orders reckon with: how long what is done, or loaded, waits to be used.

The cycle model knows each stage of the hardware by itself (``sim/cycle/timing.py``), and ``dram_latency``. Planning and
ordering weigh thousands of plans. They take one number for all units and configurations, with the latency that presets have.
"""

from __future__ import annotations

from isa.config import MachineConfig
from isa.instructions import Unit
from sim.cycle.timing import DRAM_READ, LOAD_READ, LOAD_TAIL

AFTER_LOAD = LOAD_READ + LOAD_TAIL
"""Cycles that a LOAD takes besides its beats: until the first is read in DRAM, and from the last until others may use it."""
TAIL = 29
"""Cycles from a unit's last beat until its instruction is done, as for CONV on `base`."""
HANDOVER = 5
"""Cycles from there until one that waits for it begins: token, acceptance."""
AFTER = TAIL + HANDOVER
"""Cycles from a unit's last beat until another may use what it made."""
START_AND_DRAIN = 36
"""Cycles that CONV is busy besides its beats on `nano`, and longer on any other preset."""


def least_of_a_pass(config: MachineConfig) -> int:
    """Cycles that each pass takes at least besides the beats of its busiest unit, which waits for a load, begins and drains.

    A bound of the walk, too: with any latency up to the usual one it has ``AFTER_LOAD`` before the first beat, and again at the
    end.
    """
    return min(config.dram_latency - 1, DRAM_READ) + START_AND_DRAIN


UNTIL_TAKEN = {
    Unit.LOAD: AFTER_LOAD + HANDOVER, Unit.SAVE: TAIL, Unit.CONV: TAIL, Unit.POOL: TAIL, Unit.MISC: TAIL, Unit.ROW: TAIL,
}  # fmt: skip
"""Cycles from the end of an instruction's work to the start of one that waits for it, as the program is ordered. The order
reckons with the handover behind loads, for which whole groups wait; the walk behind units, step by step."""
