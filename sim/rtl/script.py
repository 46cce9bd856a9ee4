"""The script of the bench's host (``host.v``), and its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isa.instructions import Region, Unit
from isa.registers import (
    DEFAULT_BUS_WATCHDOG,
    DEFAULT_WATCHDOG,
    NO_LIMIT,
    Control,
    Counter,
    Register,
    Status,
    counter_offset,
)
from sim.rtl.tools import SimulatorError

END, WRITE, WAIT, READ, RESET, DELAY, POLL = range(7)
RESET_CYCLES = 8
SCRIPT_STEPS = 2048
"""The words of the script memory in ``host.v``."""

Step = tuple[int, int, int]
"""An operation, a register offset and a value."""


@dataclass(frozen=True)
class Start:
    """One program that the host starts."""

    address: int
    words: int
    bases: Mapping[Region, int]
    watchdog: int = DEFAULT_WATCHDOG
    bus_watchdog: int = DEFAULT_BUS_WATCHDOG
    limits: Mapping[Region, int] = field(default_factory=dict)
    """The bytes of the regions. Regions that are left out have no limit."""
    stop: tuple[Control, int] | None = None
    """What is written to CONTROL while the program runs, and how many cycles after its start."""
    meddle: tuple[tuple[Register, int], ...] = ()
    """The registers and values that are written while the program runs."""
    meddle_after: int = 0
    """The cycles from the start to the first of these writes."""
    hasty: bool = False
    """Whether the host asks for another start as soon as it is told of the end, drained or not."""


STATUS_REGISTERS = (
    Register.STATUS, Register.ERROR_CODE, Register.ERROR_PC, Register.CYCLES_LO, Register.CYCLES_HI, Register.READ_BEATS,
    Register.WRITE_BEATS, Register.IRQ_PENDING,
)  # fmt: skip
COUNTER_OFFSETS = tuple(counter_offset(unit, counter) for unit in Unit for counter in Counter)


def host_script(starts: Sequence[Start], *, counters: bool = True, watched: int = 0) -> str:
    """The script that resets the machine and runs the programs.

    For every program the host starts it, waits for the interrupt, reads status and counters, waits until the machine is idle,
    and clears the interrupt. ``watched``: how often it reads a counter while the program runs.
    """
    steps: list[Step] = [(RESET, 0, RESET_CYCLES), (WRITE, Register.IRQ_ENABLE, 1)]
    for start in starts:
        steps += [*_write_pair(Register.PROGRAM_LO, start.address), (WRITE, Register.PROGRAM_WORDS, start.words)]
        for region in Region:
            steps += _write_pair(Register.BASE_CONST_LO + 8 * region, start.bases.get(region, 0))
            steps += [(WRITE, Register.LIMIT_CONST + 4 * region, start.limits.get(region, NO_LIMIT))]
        steps += [(WRITE, Register.WATCHDOG, start.watchdog), (WRITE, Register.BUS_WATCHDOG, start.bus_watchdog)]
        steps += [(WRITE, Register.CONTROL, Control.START)]
        steps += [(READ, COUNTER_OFFSETS[time % len(COUNTER_OFFSETS)], 0) for time in range(watched)]
        steps += [(DELAY, 0, start.meddle_after)] * bool(start.meddle_after)
        steps += [(WRITE, register, value) for register, value in start.meddle]
        resets = start.stop is not None and Control.RESET in start.stop[0]
        if start.stop is not None:
            steps += [(DELAY, 0, start.stop[1]), (WRITE, Register.CONTROL, start.stop[0])]
        steps += [(POLL, Register.STATUS, Status.IDLE) if resets else (WAIT, 0, 0)]
        steps += [(READ, offset, 0) for offset in (*STATUS_REGISTERS, *(COUNTER_OFFSETS if counters else ()))]
        if start.hasty:
            steps += [(WRITE, Register.CONTROL, Control.START)]
        steps += [(POLL, Register.STATUS, Status.IDLE), (WRITE, Register.IRQ_PENDING, 1), (WRITE, Register.IRQ_ENABLE, 1)]
    return script_text(steps)


def script_text(steps: Sequence[Step]) -> str:
    """The steps and the end as text for ``$readmemh``."""
    if len(steps) >= SCRIPT_STEPS:
        raise ValueError(f"script of {len(steps)} steps: the host holds {SCRIPT_STEPS}; start fewer programs in one run")
    whole = [*steps, *[(END, 0, 0)] * (SCRIPT_STEPS - len(steps))]
    return "".join(f"{operation:02x}{offset:04x}{value:08x}\n" for operation, offset, value in whole)


def read_result(text: str) -> tuple[list[dict[int, int]], str]:
    """The registers after each program, and how the script ended: "end", "timeout", or "" if it was cut off."""
    lines = text.splitlines()
    ending = lines.pop() if lines and lines[-1] in ("end", "timeout") else ""
    results: list[dict[int, int]] = []
    for line in lines:
        if line.startswith("refused"):
            raise SimulatorError(f"the machine refused an access to its register at {line.split()[1]}")
        offset, value = (int(field, 16) for field in line.split())
        if offset == Register.STATUS:
            results.append({})
        results[-1][offset] = value
    return results, ending


def _write_pair(low: int, value: int) -> list[Step]:
    return [(WRITE, low, value & 0xFFFFFFFF), (WRITE, low + 4, value >> 32)]
