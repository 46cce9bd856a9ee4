"""The AXI4-Lite register map, declared once for hardware, driver and documentation."""

from __future__ import annotations

import enum


class Register(enum.IntEnum):
    """Byte offset of each 32-bit register."""

    ID = 0x000
    """Read: the ASCII bytes 'TLWR', first byte in the lowest bits."""
    VERSION = 0x004
    """Read: bits 0-15 version of the hardware, bits 16-31 version of the instruction set."""
    CONFIG = 0x008
    """Read: hash of the configuration."""
    CONTROL = 0x00C
    """Write: bit 0 starts the program, bit 1 aborts it, bit 2 resets the machine; see `Control` below."""
    STATUS = 0x010
    """Read: bit 0 busy, bit 1 done, bit 2 error, bit 3 idle, bit 4 refused; see `Status` below."""
    IRQ_ENABLE = 0x014
    """Bit 0: raise the interrupt when done or stopped by an error."""
    IRQ_PENDING = 0x018
    """Read: bit 0 interrupt pending. Write 1 to clear."""
    ERROR_CODE = 0x01C
    """Read: the fault code; 0 when there is none."""
    ERROR_PC = 0x020
    """Read: word offset, in the program, of the instruction that stopped the machine."""
    WATCHDOG = 0x024
    """Cycles without progress, while no burst is on its way, after which the machine stops; 0: never."""
    BUS_WATCHDOG = 0x028
    """Cycles without progress, while DRAM owes an answer, after which the machine stops; 0: never."""
    PROGRAM_WORDS = 0x02C
    """Length of the program in 32-bit words."""
    PROGRAM_LO = 0x030
    PROGRAM_HI = 0x034
    """Byte address of the program, a multiple of the AXI beat."""
    BASE_CONST_LO = 0x040
    BASE_CONST_HI = 0x044
    BASE_WORK_LO = 0x048
    BASE_WORK_HI = 0x04C
    BASE_INPUT_LO = 0x050
    BASE_INPUT_HI = 0x054
    BASE_OUTPUT_LO = 0x058
    BASE_OUTPUT_HI = 0x05C
    """Bases of the DRAM regions, each a multiple of the AXI beat."""
    LIMIT_CONST = 0x060
    LIMIT_WORK = 0x064
    LIMIT_INPUT = 0x068
    LIMIT_OUTPUT = 0x06C
    """Bytes of the DRAM regions: no LOAD, LOADP or SAVE goes beyond; 0xffffffff, as after reset: no limit."""
    CYCLES_LO = 0x080
    CYCLES_HI = 0x084
    """Read: cycles from start to done. Reading the low half keeps the high half for the read that follows."""
    READ_BEATS = 0x088
    WRITE_BEATS = 0x08C
    """Read: data beats on the AXI read and write channels since start."""
    CAPABILITY = 0x0A0
    """Read: first of the registers that describe the machine."""
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


class Control(enum.IntFlag):
    """Bits of CONTROL; bytes that are not strobed do nothing."""

    START = 1
    """Starts the program. Refused unless IDLE, or together with another bit."""
    ABORT = 2
    """Stops the program with the fault ABORTED: bursts are completed, then the interrupt comes. Nothing unless busy."""
    RESET = 4
    """Aborts, waits until the bus is drained, then sets every register to its reset value. No interrupt."""


class Status(enum.IntFlag):
    """Bits of STATUS."""

    BUSY = 1
    """A program runs, or its bursts are being completed after a fault or ABORT. After BUS_TIMEOUT the machine is neither BUSY
    nor IDLE until DRAM has answered."""
    DONE = 2
    """The last program came to its end."""
    ERROR = 4
    """The last program was stopped: ERROR_CODE and ERROR_PC say why and where."""
    IDLE = 8
    """No program, and no burst on its way: START is taken, and registers can be written."""
    REFUSED = 16
    """A START, or a write to a register that sets up a program, was ignored, for the machine was not IDLE. Until the next
    START that is taken."""


MACHINE_BYTES = 0x1000
"""The bytes from the registers of one machine to those of the next, where a chip has several."""
ID_VALUE = int.from_bytes(b"TLWR", "little")
NO_LIMIT = 0xFFFFFFFF
"""The value of a LIMIT register that limits nothing."""
DEFAULT_WATCHDOG = 1 << 20
DEFAULT_BUS_WATCHDOG = 1 << 24


def counter_offset(unit: int, counter: Counter) -> int:
    """Byte offset of a unit's counter."""
    return Register.COUNTERS + unit * 0x20 + counter * 4
