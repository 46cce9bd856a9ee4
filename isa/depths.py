"""How much the machine has on its way, or waiting, at a time: what its simulators share with its hardware."""

from __future__ import annotations

IN_FLIGHT = 8
"""Instructions that a unit may have accepted and not yet finished."""
READ_AHEAD_BEATS = 128
"""No burst is asked for while so many beats are on the way: more than the latency of DRAM, and a bound on what an
instruction fetch queues behind."""
MISC_AHEAD = 4
"""Addresses of an operand of MISC that wait for a bank: so far may one operand be ahead of the other."""
MISC_ANSWERS = 8
"""Words of an operand of MISC that are on their way or wait to be cut into slices."""
SAVE_WORDS = 8
"""Words of SAVE that are on their way or wait: a read that is granted cannot be refused."""
