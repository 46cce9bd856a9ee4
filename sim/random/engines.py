"""The outcome of a program on each engine, in a form that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.faults import Fault, MachineFault
from sim.functional.machine import FunctionalMachine
from sim.random.memories import Ending, endings, memory_of
from sim.random.program import RandomProgram
from sim.rtl.machine import RtlMachine, RtlTimeout
from sim.rtl.tools import MissingToolError, SimulatorError

MAX_CYCLES = 20_000_000
"""The most cycles of a run. Random programs end long before, and so does the watchdog."""
WATCHDOG = 100_000


@dataclass(frozen=True)
class Outcome:
    """The memory after a program, or why there is none."""

    memory: npt.NDArray[np.uint8] | None = None
    fault: tuple[Fault, int] | None = None
    failure: str = ""
    """What went wrong with the simulation itself."""
    cycles: int = 0


Engine = Callable[[RandomProgram], Outcome]


def functional(program: RandomProgram) -> Outcome:
    memory = program.memory.copy()
    try:
        FunctionalMachine(program.config).run(program.words, memory, program.bases)
    except MachineFault as fault:
        return Outcome(fault=(fault.fault, fault.pc))
    return Outcome(memory)


def stalls_seed(program: RandomProgram) -> int | None:
    """The seed of the stalls that a program meets. Every fourth program has none."""
    return program.seed if program.seed % 4 else None


def rtl(machine: RtlMachine, *, stalls: bool = True) -> Engine:
    """The generated Verilog as an engine. With stalls, their seed is the program's, and every fourth program has none; every
    second program runs on any memory that AXI4 allows (``memory_of``)."""

    def run(program: RandomProgram) -> Outcome:
        try:
            result = machine.run(
                program.words, program.memory, program.bases, stalls_seed=stalls_seed(program) if stalls else None,
                watchdog=WATCHDOG, max_cycles=MAX_CYCLES, garbage_seed=program.seed,
                dram=memory_of(program) if stalls else None,
            )  # fmt: skip
        except MachineFault as fault:
            return Outcome(fault=(fault.fault, fault.pc))
        except RtlTimeout as timeout:
            return Outcome(failure=str(timeout))
        except MissingToolError:
            raise
        except SimulatorError as error:
            return Outcome(failure=str(error))
        return Outcome(result.memory, cycles=result.cycles)

    return run


@lru_cache(maxsize=8)
def rtl_machine(config: MachineConfig, simulator: str = "verilator", *, garbage: bool = False) -> RtlMachine:
    """The machine that random programs run on, with the AXI4 protocol checker. Many short programs share it."""
    return RtlMachine(config, simulator, check=True, garbage=garbage, brief=True)


def difference(expected: Outcome, actual: Outcome, allowed: Collection[Ending] = ()) -> str | None:
    """How two outcomes differ, in one line, or None if they do not. ``allowed``: endings that a bad memory asks for."""
    if actual.failure:
        return actual.failure
    if allowed:
        told = " or ".join(_fault_text(ending) for ending in allowed)
        return None if actual.fault in allowed else f"expected {told}, got {_fault_text(actual.fault)}"
    if expected.fault != actual.fault:
        return f"expected {_fault_text(expected.fault)}, got {_fault_text(actual.fault)}"
    if expected.memory is None or actual.memory is None:
        return None
    wrong = np.flatnonzero(expected.memory != actual.memory)
    if wrong.size == 0:
        return None
    first = int(wrong[0])
    return (
        f"{wrong.size} bytes differ, first at DRAM byte {first:#x}: "
        f"expected {expected.memory[first]:#04x}, got {actual.memory[first]:#04x}"
    )


def wrong_on_rtl(program: RandomProgram, actual: Outcome, *, stalls: bool = True) -> str | None:
    """What is wrong with the outcome of the program on ``rtl``, in one line, or None."""
    return difference(functional(program), actual, endings(program, memory_of(program)) if stalls else ())


def _fault_text(fault: tuple[Fault, int] | None) -> str:
    return f"{fault[0].name} at instruction word {fault[1]}" if fault else "no fault"
