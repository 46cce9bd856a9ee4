"""Plays a bench's scenario on the C++ bench, in a process for each. It starts at once where cocotb takes a second."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from isa.registers import Register
from sim.rtl.interrupts import temporary_folder
from sim.rtl.machine import RtlMachine, write_image
from sim.rtl.process import run_process
from sim.rtl.scenario import Scenario
from sim.rtl.script import READ, RESET, RESET_CYCLES, WRITE, Step, host_script, read_result, script_text
from sim.rtl.tools import SimulatorError

REGISTERS_END, BUS_END = 0x200, 0x1000
"""An address beyond the last register, so that some accesses are refused, and the end of what the bus can address."""
WATCHED = 900
"""The number of readings of counters, one after the other, while a program runs."""
PATTERNS = (0xFFFFFFFF, 0x5A5AA5A5, 0xC3961E87, 0)


def register_file(machine: RtlMachine) -> str:
    """The machine's answers when all addresses of registers but CONTROL are written with some patterns, and all are read after
    each; and its answers at every other address."""
    steps: list[Step] = [(RESET, 0, RESET_CYCLES)]
    addresses = range(0, REGISTERS_END, 4)
    for pattern in PATTERNS:
        steps += [(WRITE, offset, pattern) for offset in addresses if offset != Register.CONTROL]
        steps += [(READ, offset, 0) for offset in addresses]
    steps += [(READ, offset, 0) for offset in range(REGISTERS_END, BUS_END, 4)]
    with temporary_folder() as work:
        (work / "script.hex").write_text(script_text(steps))
        arguments = ["+script=script.hex", "+result=result.txt", "+limit=10000", *machine.plusargs]
        status, output = run_process([str(machine.build()), *arguments], work)
        if status:
            raise SimulatorError(f"the simulation ended with status {status}: {output.strip()[-2000:]}")
        return (work / "result.txt").read_text()


def counters_after(machine: RtlMachine, scenario: Scenario, limit: int) -> str:
    """The counters while each program of a scenario runs, and status and all counters after it."""
    return _played(machine, scenario, limit, counters=True, watched=WATCHED)[1]


def play(machine: RtlMachine, scenario: Scenario, limit: int) -> str | None:
    """The difference from what must come out, or None. ``limit``: the cycles that one program may take."""
    after, text, broken = _played(machine, scenario, limit, counters=False)
    if broken:
        return f"AXI4 rules broken: {broken[:200]}"
    results, ending = read_result(text)
    if ending != "end":
        return f"the script ended with {ending!r}: the interrupt did not come"
    endings = [(r[Register.ERROR_CODE], r[Register.ERROR_PC] if r[Register.ERROR_CODE] else 0) for r in results]
    if not all(result[Register.IRQ_PENDING] for result, ending in zip(results, scenario.endings, strict=True) if ending):
        return "the interrupt did not stay until it was cleared"
    for number, (expected, actual) in enumerate(zip(scenario.endings, endings, strict=True)):
        if expected is not None and tuple(expected) != actual:
            return f"program {number}: expected (code, word) {tuple(expected)}, got {actual}"
    wrong = np.flatnonzero(after != scenario.expected) if scenario.compare_memory else np.zeros(0)
    return f"{wrong.size} bytes of memory differ, first {wrong[0]:#x}" if wrong.size else None


def _played(
    machine: RtlMachine, scenario: Scenario, limit: int, *, counters: bool, watched: int = 0
) -> tuple[npt.NDArray[np.uint8], str, str]:
    """The memory afterwards, what the host has read, and the rules of AXI4 that were broken."""
    with temporary_folder() as work:
        write_image(work / "image", np.concatenate([scenario.memory, scenario.code]), 1)
        (work / "script.hex").write_text(host_script(scenario.starts, counters=counters, watched=watched))
        stalls = 0 if scenario.stalls_seed is None else 2 * scenario.stalls_seed + 1
        arguments = [
            "+script=script.hex", "+result=result.txt", "+image=image", "+dump=dump", f"+limit={limit}",
            f"+dump_bytes={scenario.memory.size}", f"+memory_bytes={scenario.memory.size:x}",
            f"+program_base={scenario.program_base:x}", f"+program_bytes={scenario.code.size:x}",
            f"+stall_seed={stalls}", *scenario.dram.arguments(), *machine.plusargs,
        ]  # fmt: skip
        status, output = run_process([str(machine.build(scenario.memory.size + scenario.code.size)), *arguments], work)
        if status:
            raise SimulatorError(f"the simulation ended with status {status}: {output.strip()[-2000:]}")
        after = np.fromfile(work / "dump", np.uint8, scenario.memory.size)
        return after, (work / "result.txt").read_text(), output.strip() if "AXI" in output else ""
