"""A machine on a board, from Linux: registers and DRAM that the kernel maps into this process.

| engine | registers | DRAM |
|---|---|---|
| ``uio:/dev/uio0`` | map 0 of that UIO device | ``/dev/udmabuf0`` |
| ``uio:/dev/uio0,/dev/udmabuf1`` | the same | that buffer of the u-dma-buf driver |
| ``mem:0xa0000000,0x70000000,64M`` | at that address, by ``/dev/mem`` | so many bytes at the second one, reserved for it |

DRAM is mapped without caches, so that nothing has to be maintained. A UIO device tells interrupts; ``mem`` polls.
"""

from __future__ import annotations

import mmap
import os
import re
import select
import stat
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from isa.errors import TilewrightError
from isa.registers import MACHINE_BYTES, Register

SCHEMES = ("uio:", "mem:")
SYSFS = Path("/sys/class")
DEVICE_MEMORY = Path("/dev/mem")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_POLL_SECONDS = 20e-6


class BoardError(TilewrightError):
    """Raised when a board cannot be used, or does not answer."""


class Area(Protocol):
    """Memory of a machine that its host reaches. Addresses are those on the machine's bus."""

    @property
    def address(self) -> int:
        """The address of its first byte."""

    @property
    def size(self) -> int: ...

    def put(self, address: int, data: NDArray[np.uint8]) -> None: ...

    def get(self, address: int, size: int) -> NDArray[np.uint8]: ...

    def part(self, first: int, size: int) -> Area:
        """The area of ``size`` bytes from the byte ``first`` on."""


@dataclass(frozen=True)
class Dram:
    """An ``Area`` that is mapped into this process."""

    memory: NDArray[np.uint8]
    address: int

    @property
    def size(self) -> int:
        return self.memory.size

    def put(self, address: int, data: NDArray[np.uint8]) -> None:
        self._bytes(address, data.size)[...] = data

    def get(self, address: int, size: int) -> NDArray[np.uint8]:
        return self._bytes(address, size)

    def part(self, first: int, size: int) -> Dram:
        return Dram(self._bytes(self.address + first, size), self.address + first)

    def _bytes(self, address: int, size: int) -> NDArray[np.uint8]:
        start = address - self.address
        return self.memory[start : start + size]


class Machine(Protocol):
    """The registers of a machine, and its own part of memory."""

    @property
    def dram(self) -> Area: ...

    def read(self, offset: int) -> int: ...

    def write(self, offset: int, value: int) -> None: ...

    def arm(self) -> None:
        """Prepares the interrupt before a start."""

    def wait(self, seconds: float) -> None:
        """Waits for the interrupt, or for a moment."""


class Interrupts:
    """The interrupt of a UIO device. A read of its file waits for an interrupt; a write lets the next one through."""

    def __init__(self, file: int) -> None:
        self._file = file

    def arm(self) -> None:
        os.write(self._file, struct.pack("=I", 1))

    def wait(self, seconds: float) -> None:
        """Waits until the interrupt, or for that time."""
        if select.select([self._file], [], [], seconds)[0]:
            os.read(self._file, 4)


class Board:
    """A board: registers, DRAM, and the interrupt where there is one."""

    def __init__(self, registers: NDArray[np.uint32], dram: Dram, interrupts: Interrupts | None = None) -> None:
        self._registers, self.dram, self._interrupts = registers, dram, interrupts

    def read(self, offset: int) -> int:
        return int(self._registers[offset // 4])

    def write(self, offset: int, value: int) -> None:
        self._registers[offset // 4] = value

    def arm(self) -> None:
        """Prepares the interrupt before a start."""
        self.write(Register.IRQ_PENDING, 1)
        self.write(Register.IRQ_ENABLE, int(self._interrupts is not None))
        if self._interrupts is not None:
            self._interrupts.arm()

    def wait(self, seconds: float) -> None:
        """Waits for the interrupt, or for a moment."""
        if self._interrupts is not None:
            self._interrupts.wait(seconds)
        else:
            time.sleep(min(seconds, _POLL_SECONDS))


def is_board(engine: str) -> bool:
    return engine.startswith(SCHEMES)


def open_board(engine: str) -> Board:
    """Opens the board of an engine's name, as in the table above."""
    scheme, _, rest = engine.partition(":")
    parts = rest.split(",")
    if scheme == "uio" and rest and len(parts) <= 2:
        return _uio(Path(parts[0]), Path(parts[1] if len(parts) > 1 else "/dev/udmabuf0"))
    if scheme == "mem" and len(parts) == 3:
        return _mem(*(_number(part, engine) for part in parts))
    raise BoardError(f"engine {engine!r}: expected uio:DEVICE, uio:DEVICE,BUFFER or mem:REGISTERS,MEMORY,BYTES")


def _uio(device: Path, buffer: Path) -> Board:
    registers, file = _mapped(device, MACHINE_BYTES, 0)
    about = SYSFS / "u-dma-buf" / buffer.name
    try:
        address, size = int((about / "phys_addr").read_text(), 0), int((about / "size").read_text(), 0)
    except (OSError, ValueError) as error:
        raise BoardError(f"buffer {buffer}: {about} does not say address and size ({error}); is u-dma-buf loaded?") from None
    memory, other = _mapped(buffer, size, 0)
    os.close(other)
    interrupts = Interrupts(file) if stat.S_ISCHR(os.fstat(file).st_mode) else None
    return Board(registers.view(np.uint32), Dram(memory, address), interrupts)


def _mem(registers: int, address: int, size: int) -> Board:
    mapped, first = _mapped(DEVICE_MEMORY, MACHINE_BYTES, registers)
    memory, second = _mapped(DEVICE_MEMORY, size, address)
    for file in (first, second):
        os.close(file)
    return Board(mapped.view(np.uint32), Dram(memory, address))


def _mapped(path: Path, size: int, offset: int) -> tuple[NDArray[np.uint8], int]:
    """The bytes of a device, and its file, which stays open."""
    try:
        file = os.open(path, os.O_RDWR | os.O_SYNC)
    except OSError as error:
        raise BoardError(f"device {path} cannot be opened: {error.strerror}") from None
    try:
        return np.frombuffer(mmap.mmap(file, size, offset=offset), np.uint8), file
    except (OSError, ValueError) as error:
        os.close(file)
        raise BoardError(f"device {path}: {size} bytes at {offset:#x} cannot be mapped: {error}") from None


def _number(text: str, engine: str) -> int:
    found = re.fullmatch(r"(0x[0-9a-fA-F]+|\d+)([KMG]?)", text)
    if found is None:
        raise BoardError(f"engine {engine!r}: {text!r} is no number; expected one like 0xa0000000 or 64M")
    return int(found[1], 0) * _UNITS[found[2]]


def write_pair(board: Machine, low: int, value: int) -> None:
    """Writes a register of 64 bits."""
    board.write(low, value & 0xFFFFFFFF)
    board.write(low + 4, value >> 32)


def addresses(sizes: Sequence[int], dram: Area, align: int) -> list[int]:
    """The addresses of areas one behind the other, each at a multiple of ``align``."""
    found, at = [], -(-dram.address // align) * align
    for size in sizes:
        found.append(at)
        at += -(-size // align) * align
    if at > dram.address + dram.size:
        needed = at - -(-dram.address // align) * align
        raise BoardError(f"the program needs {needed} bytes of DRAM, and the board has {dram.size}; reserve more")
    return found
