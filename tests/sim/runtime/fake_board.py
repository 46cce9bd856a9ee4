"""A UIO device and a u-dma-buf made of files, with the functional simulator behind the registers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from isa.config import MachineConfig
from isa.faults import Fault, MachineFault
from isa.instructions import Region
from isa.registers import ID_VALUE, MACHINE_BYTES, Control, Register, Status
from isa.version import HARDWARE_VERSION, ISA_VERSION
from sim.functional.machine import FunctionalMachine
from sim.runtime import board
from sim.runtime.board import Board

ADDRESS = 0x4000_1200
CYCLES = 0x1_0000_0005


class FakeBoard:
    """What the files hold is what a process sees that maps them; a write to CONTROL is answered before it returns, as on a bus.

    ``mood``: well, hangs (until an abort), stuck (whatever comes), refuses, gone, raves (an error without a meaning).
    """

    def __init__(self, folder: Path, config: MachineConfig, monkeypatch: pytest.MonkeyPatch) -> None:
        memory_bytes = 1 << 20
        self.mood = "well"
        self.starts = 0
        self._machine = FunctionalMachine(config)
        (folder / "uio0").write_bytes(bytes(MACHINE_BYTES))
        (folder / "udmabuf0").write_bytes(bytes(range(256)) * (memory_bytes // 256))
        about = folder / "class" / "u-dma-buf" / "udmabuf0"
        about.mkdir(parents=True)
        (about / "phys_addr").write_text(f"{ADDRESS:#x}\n")
        (about / "size").write_text(f"{memory_bytes}\n")
        self.registers: NDArray[Any] = np.memmap(folder / "uio0", np.uint32, "r+")
        self.memory: NDArray[Any] = np.memmap(folder / "udmabuf0", np.uint8, "r+")
        self.engine = f"uio:{folder / 'uio0'},{folder / 'udmabuf0'}"
        for register, value in {
            Register.ID: ID_VALUE, Register.VERSION: HARDWARE_VERSION | ISA_VERSION << 16, Register.CONFIG: config.hash,
            Register.STATUS: Status.IDLE, Register.CYCLES_LO: CYCLES & 0xFFFFFFFF, Register.CYCLES_HI: CYCLES >> 32,
        }.items():  # fmt: skip
            self[register] = value
        monkeypatch.setattr(board, "SYSFS", folder / "class")
        plain = Board.write

        def write(one: Board, offset: int, value: int) -> None:
            plain(one, offset, value)
            if offset == Register.CONTROL:
                self._control(Control(value))

        monkeypatch.setattr(Board, "write", write)

    def __getitem__(self, register: int) -> int:
        return int(self.registers[register // 4])

    def __setitem__(self, register: int, value: int) -> None:
        self.registers[register // 4] = value

    def _control(self, command: Control) -> None:
        if self.mood == "stuck":
            self[Register.STATUS] = Status.BUSY
        elif command == Control.START:
            self.starts += 1
            self._start()
        else:
            self[Register.STATUS] = Status.IDLE | (Status.ERROR if command == Control.ABORT else 0)
            self[Register.ERROR_CODE] = Fault.ABORTED

    def _start(self) -> None:
        if self.mood == "refuses":
            self[Register.STATUS] |= Status.REFUSED
        elif self.mood == "hangs":
            self[Register.STATUS] = Status.BUSY
        elif self.mood == "gone":
            self.registers[:] = 0xFFFFFFFF
        elif self.mood == "raves":
            self[Register.STATUS], self[Register.ERROR_CODE] = Status.IDLE | Status.ERROR, 0x4007
        else:
            self._run()

    def _pair(self, low: int) -> int:
        return self[low] | self[low + 4] << 32

    def _run(self) -> None:
        start = self._pair(Register.PROGRAM_LO) - ADDRESS
        words = self.memory[start : start + 4 * self[Register.PROGRAM_WORDS]].view(np.uint32).tolist()
        bases = {region: self._pair(Register.BASE_CONST_LO + 8 * region) - ADDRESS for region in Region}
        limits = {region: self[Register.LIMIT_CONST + 4 * region] for region in Region}
        self[Register.STATUS] = Status.IDLE | Status.DONE
        try:
            self._machine.run(words, self.memory, bases, None, limits)
        except MachineFault as fault:
            self[Register.STATUS] = Status.IDLE | Status.ERROR
            self[Register.ERROR_CODE], self[Register.ERROR_PC] = fault.fault, fault.pc
