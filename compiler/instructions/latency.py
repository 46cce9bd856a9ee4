"""The latencies that planning and ordering use: how long a result, or loaded words, wait until they can be used.

The cycle model knows each stage of the hardware by itself (``sim/cycle/timing.py``), and ``dram_latency``. Planning and
ordering weigh thousands of plans. They take one number for all units and configurations, with the latency that presets have.
"""

from __future__ import annotations

from isa.config import MachineConfig
from isa.instructions import Unit
from sim.cycle.timing import DRAM_READ, LOAD_READ, LOAD_TAIL

AFTER_LOAD = LOAD_READ + LOAD_TAIL
"""The cycles of a LOAD besides its beats: until DRAM reads the first one, and from the last one until others may use it."""
TAIL = 29
"""The cycles from a unit's last beat until its instruction is done, as for CONV on `base`."""
HANDOVER = 5
"""The cycles from there until an instruction that waits for it begins: its token is given, and it is accepted."""
AFTER = TAIL + HANDOVER
"""The cycles from a unit's last beat until another unit may use its result."""
START_AND_DRAIN = 36
"""The cycles that CONV is busy besides its beats on `nano`. On any other preset it is busy longer."""


def least_of_a_pass(config: MachineConfig) -> int:
    """The fewest cycles of a pass besides the beats of its busiest unit, which waits for a load, begins and drains.

    It is a bound of the walk, too. With any latency up to the usual one, the walk has ``AFTER_LOAD`` before the first beat, and
    again at the end.
    """
    return min(config.dram_latency - 1, DRAM_READ) + START_AND_DRAIN


UNTIL_TAKEN = {
    Unit.LOAD: AFTER_LOAD + HANDOVER, Unit.SAVE: TAIL, Unit.CONV: TAIL, Unit.POOL: TAIL, Unit.MISC: TAIL, Unit.ROW: TAIL,
}  # fmt: skip
"""The cycles that the ordering of a program takes from the end of an instruction's work to the start of one that waits for it.
The ordering counts the handover behind loads, for which whole groups wait. The walk counts it behind units, step by step."""
