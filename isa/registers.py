"""The AXI4-Lite register map, declared once for hardware, driver and documentation."""

from __future__ import annotations

import enum


class Register(enum.IntEnum):
    """Byte offset of each 32-bit register."""

    ID = 0x000
    """Read: the ASCII bytes 'TLWR', first byte in the lowest bits."""
    CONFIG = 0x004
    """Read: hash of the configuration."""
    CONTROL = 0x008
    """Write: bit 0 starts the program (ignored while busy)."""
    STATUS = 0x00C
    """Read: bit 0 busy, bit 1 done, bit 2 error."""
    IRQ_ENABLE = 0x010
    """Bit 0: raise the interrupt when done or stopped by an error."""
    IRQ_PENDING = 0x014
    """Read: bit 0 interrupt pending. Write 1 to clear."""
    ERROR_CODE = 0x018
    """Read: the fault code; 0 when there is none."""
    ERROR_PC = 0x01C
    """Read: word offset, in the program, of the instruction that stopped the machine."""
    PROGRAM_LO = 0x020
    PROGRAM_HI = 0x024
    """Byte address of the program, a multiple of the AXI beat."""
    PROGRAM_WORDS = 0x028
    """Length of the program in 32-bit words."""
    WATCHDOG = 0x02C
    """Cycles without progress after which the machine stops; 0: never."""
    BASE_CONST_LO = 0x030
    BASE_CONST_HI = 0x034
    BASE_WORK_LO = 0x038
    BASE_WORK_HI = 0x03C
    BASE_INPUT_LO = 0x040
    BASE_INPUT_HI = 0x044
    BASE_OUTPUT_LO = 0x048
    BASE_OUTPUT_HI = 0x04C
    """Bases of the DRAM regions, each a multiple of the AXI beat."""
    CYCLES_LO = 0x080
    CYCLES_HI = 0x084
    """Read: cycles from start to done."""
    READ_BEATS = 0x088
    WRITE_BEATS = 0x08C
    """Read: data beats on the AXI read and write channels since start."""
    COUNTERS = 0x100
    """Read: first of the counters of each unit."""


class Counter(enum.IntEnum):
    """Per-unit counters of cycles since start, 32 bits each, wrapping."""

    BUSY = 0
    """The unit has an instruction in work."""
    WAIT_TOKEN = 1
    """An instruction is at the head of the queue and lacks a token."""
    WAIT_BANK = 2
    """The unit asks for a bank and is refused."""
    WAIT_DRAM = 3
    """The unit waits for DRAM: for read data, for room to write, or for a response."""
    ACTIVE = 4
    """The unit does its work: a beat of CONV, a tap of POOL, a word of MISC, LOAD or SAVE."""


ID_VALUE = int.from_bytes(b"TLWR", "little")
STATUS_BUSY, STATUS_DONE, STATUS_ERROR = 1, 2, 4
DEFAULT_WATCHDOG = 1 << 20


def counter_offset(unit: int, counter: Counter) -> int:
    """Byte offset of a unit's counter."""
    return Register.COUNTERS + unit * 0x20 + counter * 4
