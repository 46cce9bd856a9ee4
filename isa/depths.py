"""The depths of the machine's queues: how much is on its way, or waits, at a time. Simulators share them with the hardware."""

from __future__ import annotations

from isa.config import MachineConfig
from isa.stages import ROW_EMIT

IN_FLIGHT = 8
"""The instructions that a unit may have accepted and not yet finished."""
MISC_AHEAD = 4
"""The addresses of an operand of MISC that wait for a bank: so far may one operand be ahead of the other."""
MISC_ANSWERS = 8
"""The words of an operand of MISC that are on their way or wait to be cut into slices."""
ROW_ANSWERS = 8
"""The words of ROW that are on their way or wait to be cut into slices."""
SAVE_WORDS = 8
"""The words of SAVE that are on their way or wait, since a read that is granted cannot be refused."""
FETCH_BYTES = 256
FETCH_BEATS = 16
"""The limits of a burst of instruction fetch, which ends at the first of them. It is short, so that LOAD never waits long
behind it."""


def row_room(config: MachineConfig) -> int:
    """The words that may be between the first slice of results and the write port. They are so many that no word waits for the
    room of another."""
    return -(-(ROW_EMIT + 8) // config.row_parts) + 1


def owed_beats(config: MachineConfig) -> int:
    """The most beats of reads that are asked for and not yet taken: those on the way, and those that came by one of two ports
    and wait for a burst of the other. No burst is asked for beyond this."""
    return config.axi_read_ahead + (config.axi_ports - 1) * 2 * config.burst_beats


def fetch_beats(config: MachineConfig) -> int:
    """The beats of a burst of instruction fetch. The configuration's limit holds, too."""
    return min(FETCH_BEATS, max(1, FETCH_BYTES // config.axi_bytes), config.burst_beats)
