"""What a host may do with each register, what it holds after a reset, and what happens in each case.

Hardware, the reference page and the exported tables take it from here; ``tests/hw/control/test_register_rules.py`` has a test
for each row of ``RULES``.
"""

from __future__ import annotations

import enum

from isa.instructions import Region
from isa.registers import DEFAULT_BUS_WATCHDOG, DEFAULT_WATCHDOG, ID_VALUE, NO_LIMIT, Register, Status


class Access(enum.Enum):
    READ = "read"
    ANY_TIME = "read, write"
    SETUP = "read, write while IDLE"
    CLEAR = "read, write 1 to clear"
    COMMAND = "write; reads 0"


SETUP = (
    Register.PROGRAM_LO, Register.PROGRAM_HI, Register.PROGRAM_WORDS, Register.WATCHDOG, Register.BUS_WATCHDOG,
    *(Register[f"BASE_{region.name}_{half}"] for region in Region for half in ("LO", "HI")),
    *(Register[f"LIMIT_{region.name}"] for region in Region),
)  # fmt: skip
"""Registers that set up a program: a write is refused while the machine is not IDLE."""
OWN = {Register.IRQ_ENABLE: Access.ANY_TIME, Register.IRQ_PENDING: Access.CLEAR, Register.CONTROL: Access.COMMAND}
OF_THE_MACHINE = (Register.VERSION, Register.CONFIG, Register.CAPABILITY)
"""Registers whose value is that of the hardware."""
AFTER_RESET = {
    Register.ID: ID_VALUE,
    Register.STATUS: int(Status.IDLE),
    Register.WATCHDOG: DEFAULT_WATCHDOG,
    Register.BUS_WATCHDOG: DEFAULT_BUS_WATCHDOG,
    **{Register[f"LIMIT_{region.name}"]: NO_LIMIT for region in Region},
}
"""Values after ``rst`` and after RESET in CONTROL; all others are 0."""
RULES = (
    ("read or write where no register is", "SLVERR. A write changes nothing; what is read means nothing."),
    ("write to a register that is only read", "OKAY. Nothing changes."),
    ("address between words", "The two lowest bits count as 0."),
    ("byte without strobe", "Keeps its value. CONTROL and IRQ_PENDING need the strobe of byte 0."),
    ("`*_HI` where addresses have 32 bits", "Reads 0; a write changes nothing. So do missing bits of wider addresses."),
    ("write to a set-up register while not IDLE", "OKAY. Nothing changes; REFUSED, until the next START that is taken."),
    ("START while not IDLE, or with another bit", "Nothing starts; REFUSED, until the next START that is taken."),
    (
        "START that is taken",
        "BUSY. DONE, ERROR, REFUSED and ERROR_CODE are cleared, counters begin at 0 two cycles later, the program with them. "
        "IRQ_PENDING stays.",
    ),
    ("START, an address between beats", "The fault MISALIGNED, before any other. Nothing is fetched."),
    ("END", "DONE and IDLE, no longer BUSY. IRQ_PENDING is set."),
    ("fault, or ABORT while BUSY", "BUSY until all bursts are complete. Then ERROR and IDLE; IRQ_PENDING is set."),
    ("ABORT while not BUSY", "Nothing, now and later."),
    (
        "DRAM owes an answer for longer than BUS_WATCHDOG",
        "The fault BUS_TIMEOUT, unless another came first. ERROR, IRQ_PENDING. Neither BUSY nor IDLE until DRAM answers.",
    ),
    ("RESET", "As ABORT, without interrupt. Then every register has its value after reset, and the machine is IDLE."),
    ("interrupt while IRQ_ENABLE is 0", "IRQ_PENDING is set, `irq` stays low. Writing 1 to IRQ_ENABLE raises it at once."),
    ("write of 1 to IRQ_PENDING", "Clears it, and `irq` falls. A program that ends in the same cycle sets it all the same."),
    (
        "two faults in one cycle",
        "The first of: dispatch; LOAD, SAVE, CONV, POOL, MISC, ROW, for each what runs, then its next instruction; watchdog; "
        "ABORT.",
    ),
    ("illegal field, and another fault, in one instruction", "ILLEGAL_FIELD, before the instruction takes tokens."),
    ("CYCLES_LO, then CYCLES_HI", "Reading the low half keeps the high half that belongs to it."),
)
"""Case, and exact behaviour."""


def access(register: Register) -> Access:
    return Access.SETUP if register in SETUP else OWN.get(register, Access.READ)


def after_reset(register: Register) -> str:
    """The value after a reset as the reference page prints it."""
    if register in OF_THE_MACHINE:
        return "the machine's"
    value = AFTER_RESET.get(register, 0)
    return f"{value:#x}" if value > 9 else str(value)
