"""Why a machine stops: the codes that the hardware's status register and the functional simulator share."""

from __future__ import annotations

import enum

from isa.errors import TilewrightError


class Fault(enum.IntEnum):
    """Value of ERROR_CODE."""

    NONE = 0
    """The machine has not stopped."""
    ILLEGAL_OPCODE = 1
    """No such instruction, or one of a unit that was not built."""
    ILLEGAL_FIELD = 2
    """Wrong length, a reserved bit set, tokens of a unit that was not built, a count of zero, a value without a meaning, or a
    broken rule."""
    CONFIG_MISMATCH = 3
    """START carries the hash of another configuration, or the program does not begin with START."""
    FM_ADDRESS = 4
    """A feature-map word outside the buffer."""
    BUFFER_ADDRESS = 5
    """A weight, parameter, tap, table or accumulator word outside its buffer."""
    READ_ERROR = 6
    """DRAM answered a LOAD with an error."""
    WRITE_ERROR = 7
    """DRAM answered a SAVE with an error."""
    FETCH_ERROR = 8
    """DRAM answered an instruction fetch with an error."""
    WATCHDOG = 9
    """Nothing moved for the watchdog's time: an instruction waits for a token that nobody sends, or for room for its own."""
    PROGRAM_END = 10
    """The program ended without END, or in the middle of an instruction."""
    BUS_TIMEOUT = 11
    """DRAM left a burst without an answer for the time that BUS_WATCHDOG gives it, while nothing else moved."""
    ABORTED = 12
    """The host asked for it; the instruction is the one that was being dispatched."""
    MISALIGNED = 13
    """At START, the program's address or a base was no multiple of the AXI beat: nothing was fetched."""
    REGION_LIMIT = 14
    """A LOAD, LOADP or SAVE goes beyond the LIMIT of its region; none of the bytes beyond was asked for or written."""


TOKEN_MAX = 255
"""Tokens that may be on the way from one unit to another; a unit with one more to give waits until one is taken."""


class MachineFault(TilewrightError):
    """The machine stopped: which instruction (by its word offset in the program), and why."""

    def __init__(self, fault: Fault, pc: int, detail: str = "") -> None:
        self.fault = fault
        self.pc = pc
        self.detail = detail
        super().__init__(f"machine stopped at instruction word {pc}: {fault.name}{': ' + detail if detail else ''}")
