"""What the host of the bench (``host.v``) is told to do, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isa.instructions import Region, Unit
from isa.registers import DEFAULT_WATCHDOG, Counter, Register, counter_offset

END, WRITE, WAIT, READ, RESET = range(5)
RESET_CYCLES = 8
SCRIPT_STEPS = 512
"""Words of the script memory in ``host.v``."""

Step = tuple[int, int, int]
"""Operation, register offset, value."""


@dataclass(frozen=True)
class Start:
    """One program that the host starts."""

    address: int
    words: int
    bases: Mapping[Region, int]
    watchdog: int = DEFAULT_WATCHDOG


STATUS_REGISTERS = (
    Register.STATUS, Register.ERROR_CODE, Register.ERROR_PC, Register.CYCLES_LO, Register.CYCLES_HI, Register.READ_BEATS,
    Register.WRITE_BEATS,
)  # fmt: skip
COUNTER_OFFSETS = tuple(counter_offset(unit, counter) for unit in Unit for counter in Counter)


def host_script(starts: Sequence[Start], *, counters: bool = True) -> str:
    """Reset the machine; for every program start it, wait for the interrupt, read status and counters, clear the interrupt."""
    steps: list[Step] = [(RESET, 0, RESET_CYCLES), (WRITE, Register.IRQ_ENABLE, 1)]
    for start in starts:
        steps += [*_write_pair(Register.PROGRAM_LO, start.address), (WRITE, Register.PROGRAM_WORDS, start.words)]
        for region in Region:
            steps += _write_pair(Register.BASE_CONST_LO + 8 * region, start.bases.get(region, 0))
        steps += [(WRITE, Register.WATCHDOG, start.watchdog), (WRITE, Register.CONTROL, 1), (WAIT, 0, 0)]
        steps += [(READ, offset, 0) for offset in (*STATUS_REGISTERS, *(COUNTER_OFFSETS if counters else ()))]
        steps += [(WRITE, Register.IRQ_PENDING, 1)]
    steps += [(END, 0, 0)] * (SCRIPT_STEPS - len(steps))
    return "".join(f"{operation:02x}{offset:04x}{value:08x}\n" for operation, offset, value in steps)


def read_result(text: str) -> tuple[list[dict[int, int]], str]:
    """The registers after each program, and how the script ended: "end", "timeout", or "" if it was cut off."""
    lines = text.splitlines()
    ending = lines.pop() if lines and lines[-1] in ("end", "timeout") else ""
    results: list[dict[int, int]] = []
    for line in lines:
        offset, value = (int(field, 16) for field in line.split())
        if offset == Register.STATUS:
            results.append({})
        results[-1][offset] = value
    return results, ending


def _write_pair(low: int, value: int) -> list[Step]:
    return [(WRITE, low, value & 0xFFFFFFFF), (WRITE, low + 4, value >> 32)]
