"""How much the machine has on its way, or waiting, at a time: what its simulators share with its hardware."""

from __future__ import annotations

from isa.config import MachineConfig
from isa.stages import ROW_EMIT

IN_FLIGHT = 8
"""Instructions that a unit may have accepted and not yet finished."""
MISC_AHEAD = 4
"""Addresses of an operand of MISC that wait for a bank: so far may one operand be ahead of the other."""
MISC_ANSWERS = 8
"""Words of an operand of MISC that are on their way or wait to be cut into slices."""
ROW_ANSWERS = 8
"""Words of ROW that are on their way or wait to be cut into slices."""
SAVE_WORDS = 8
"""Words of SAVE that are on their way or wait: a read that is granted cannot be refused."""
FETCH_BYTES = 256
FETCH_BEATS = 16
"""A burst of instruction fetch ends at the first of these limits: short, so that LOAD never waits long behind one."""


def row_room(config: MachineConfig) -> int:
    """Words that may be between the first slice of results and the write port, so many that none waits for another's."""
    return -(-(ROW_EMIT + 8) // config.row_parts) + 1


def owed_beats(config: MachineConfig) -> int:
    """Beats of reads that are asked for and not yet taken, at most: those on the way, and those that have come by one of two
    ports and wait for a burst of the other. No burst is asked for beyond."""
    return config.axi_read_ahead + (config.axi_ports - 1) * 2 * config.burst_beats


def fetch_beats(config: MachineConfig) -> int:
    """Beats of a burst of instruction fetch; the configuration's limit holds, too."""
    return min(FETCH_BEATS, max(1, FETCH_BYTES // config.axi_bytes), config.burst_beats)
