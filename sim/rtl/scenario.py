"""Scenarios of the benches: what the machine must do, and what must come of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from isa.codec import Op, encode
from isa.config import MachineConfig
from isa.faults import Fault, MachineFault
from isa.instructions import INSTRUCTIONS, Region, Unit
from isa.registers import DEFAULT_WATCHDOG, Register
from sim.functional.machine import FunctionalMachine
from sim.rtl.memory import QUOTED, Dram
from sim.rtl.script import Start

Bytes = npt.NDArray[np.uint8]
Ending = tuple[Fault, int]
"""The code of a fault and its instruction word."""
DONE: Ending = (Fault.NONE, 0)


@dataclass
class Scenario:
    """Programs that the host starts one after the other on one memory, with the endings that they must have.

    The endings and the final memory are those of the functional simulator, which keeps its state from program to program as the
    machine does.
    """

    config: MachineConfig
    memory: Bytes
    bases: Mapping[Region, int]
    stalls_seed: int | None = None
    compare_memory: bool = True
    starts: list[Start] = field(default_factory=list)
    endings: list[Ending | None] = field(default_factory=list)
    """The endings. With None the program may end or be stopped."""
    dram: Dram = QUOTED
    """The memory behind the bus. ``bases`` begin at its origin."""
    code: Bytes = field(default_factory=lambda: np.zeros(0, np.uint8))

    def __post_init__(self) -> None:
        self.expected = self.memory.copy()
        self._functional = FunctionalMachine(self.config)

    @property
    def program_base(self) -> int:
        return self.dram.program_base(self.config)

    def start(
        self, words: Sequence[int], *, watchdog: int = DEFAULT_WATCHDOG, bases: Mapping[Region, int] | None = None,
        meddle: tuple[tuple[Register, int], ...] = (), meddle_after: int = 0, limits: Mapping[Region, int] | None = None,
        address: int | None = None,
    ) -> None:  # fmt: skip
        """Runs these words next (at ``address`` if they are there already). Writes of registers (``meddle``) must not
        matter."""
        bases = self.bases if bases is None else bases
        place = self.place(words) if address is None else address
        self.starts.append(
            Start(
                place, len(words), self.dram.bases(bases), watchdog, meddle=meddle, meddle_after=meddle_after,
                limits=limits or {},
            )
        )  # fmt: skip
        try:
            self._functional.run(words, self.expected, bases, limits=limits)
        except MachineFault as fault:
            self.endings.append((fault.fault, fault.pc))
        else:
            self.endings.append(DONE)

    def start_at(self, address: int, words: int, ending: Ending) -> None:
        """Starts at an address where there may be no program."""
        self.starts.append(Start(address, words, self.dram.bases(self.bases)))
        self.endings.append(ending)

    def stopped(self, start: Start) -> None:
        """Adds a program that is stopped at some time. What it leaves in memory must not matter."""
        self.starts.append(replace(start, bases=self.dram.bases(start.bases)))
        self.endings.append(None)

    def place(self, words: Sequence[int]) -> int:
        """Puts these words behind those that are there; returns their address."""
        address = self.program_base + self.code.size
        program = np.array(words, "<u4").view(np.uint8)
        padding = np.zeros(-program.size % self.config.axi_bytes, np.uint8)
        self.code = np.concatenate([self.code, program, padding])
        return address


def whole(config: MachineConfig, *ops: Op) -> list[int]:
    """The words of a program of these instructions."""
    return [word for op in (Op("START", {"config": config.hash}), *ops, Op("END")) for word in encode(op)]


def token(unit: Unit, *, wait: Sequence[Unit] = (), signal: Sequence[Unit] = ()) -> Op:
    """A short instruction of that unit, for the sake of its tokens."""
    row = next(row for row in INSTRUCTIONS if row.unit is unit)
    values = {name: 1 for name, f in row.fields.items() if f.nonzero}
    values |= {
        name: value for name, value in {"step": 1, "hi": 127, "o_addr": 40, "region": 1, "last_lanes": 1}.items()
        if name in row.fields
    }
    return Op(row.name, values, frozenset(wait), frozenset(signal))
