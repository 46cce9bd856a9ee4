"""Runs machine steps on a board, with the driver's sequence in Python."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from isa.capabilities import built_units
from isa.config import MachineConfig
from isa.faults import Fault, MachineFault
from isa.instructions import Region
from isa.registers import ID_VALUE, Control, Counter, Register, Status, counter_offset
from isa.version import HARDWARE_VERSION, ISA_VERSION
from sim.runtime.board import Area, BoardError, Machine, addresses, write_pair
from sim.runtime.engine import Measured
from sim.runtime.image import Image

ALIGN = 4096
CHUNK = 64
"""The bytes that copies come in multiples of. DRAM that is mapped as a device cannot be reached byte by byte."""
SECONDS = 10.0
"""The seconds that a step may take before it is aborted."""
_GONE = 0xFFFFFFFF


class Constants:
    """CONST on a board, which is copied there once for all runs of a program.

    ``alone``: it belongs to one machine, in that machine's memory. Otherwise it lies at the beginning of ``area``, for all
    machines of a chip.
    """

    def __init__(self, area: Area, *, alone: bool = True) -> None:
        self._area, self.alone = area, alone
        self._held: tuple[int, NDArray[np.uint8]] | None = None
        """The address of CONST, and its bytes."""

    def put(self, mine: NDArray[np.uint8], place: int | None) -> int:
        """Copies CONST if it is not there yet; returns its address, which is ``place`` if that is given."""
        address = addresses([mine.size], self._area, ALIGN)[0] if place is None else place
        if self._held is None or self._held[0] != address or not np.array_equal(self._held[1], mine):
            self._area.put(address, mine)
            self._held = (address, mine.copy())
        return address


class BoardEngine:
    """Copies what a step needs to the board's DRAM, runs it there, and copies back what it may have written."""

    def __init__(
        self, config: MachineConfig, board: Machine, seconds: float | None = None, constants: Constants | None = None
    ) -> None:  # fmt: skip
        self._config, self._board = config, board
        self._seconds = SECONDS if seconds is None else seconds
        self._constants = Constants(board.dram) if constants is None else constants
        self._bases: dict[Region, int] = {}
        self._end = 0.0
        """When the program must be done."""
        found = board.read(Register.ID)
        if found != ID_VALUE:
            raise BoardError(f"register ID reads {found:#010x}, expected {ID_VALUE:#010x}: check address, clock and reset")
        version, expected = board.read(Register.VERSION), HARDWARE_VERSION | ISA_VERSION << 16
        if version != expected:
            raise BoardError(f"register VERSION reads {version:#010x}, expected {expected:#010x}: take Tilewright as the core")
        if (found := board.read(Register.CONFIG)) != config.hash:
            raise BoardError(
                f"the machine has configuration {found:#010x}, and the program is for {config.name!r} ({config.hash:#010x}); "
                f"compile it for the machine's"
            )
        board.write(Register.CONTROL, Control.RESET)
        self._until_idle()

    def run(self, words: Sequence[int], first_word: int, image: Image, measured: Measured) -> None:
        self.begin(words, image)
        while not self.ended():
            self._board.wait(max(0.0, self._end - time.monotonic()))
        self.collect(image, measured)

    def begin(self, words: Sequence[int], image: Image, bases: Mapping[Region, int] | None = None) -> None:
        """Copies everything into DRAM, and starts. ``bases``: where the image lies already, for all machines that share it."""
        program = np.array(words, "<u4").view(np.uint8)
        program = np.concatenate([program, np.zeros(-program.size % CHUNK, np.uint8)])
        own = {} if bases else {r: n for r, n in image.limits.items() if r is not Region.CONST or self._constants.alone}
        *places, at = addresses([*own.values(), program.size], self._board.dram, ALIGN)
        self._bases = dict(bases or zip(own, places, strict=True))
        if not bases:
            self._bases[Region.CONST] = self._constants.put(region_of(image, Region.CONST), self._bases.get(Region.CONST))
            for region in (Region.WORK, Region.INPUT):
                self._board.dram.put(self._bases[region], region_of(image, region))
        self._board.dram.put(at, program)
        self._start(at, len(words), self._bases, image)
        self._end = time.monotonic() + self._seconds

    def ended(self) -> bool:
        """Whether the step is done. Raises the fault that stopped it, or, after too long, stops it and raises that."""
        late = time.monotonic() > self._end
        status = self._status()
        if status & (Status.ERROR | Status.DONE):
            self._board.write(Register.IRQ_PENDING, 1)
        if status & Status.ERROR:
            code, pc = self._board.read(Register.ERROR_CODE), self._board.read(Register.ERROR_PC)
            self._until_idle()
            if code not in list(Fault):
                raise BoardError(f"the machine stopped with ERROR_CODE {code}: no fault has that code; check clock and bus")
            raise MachineFault(Fault(code), pc)
        if status & Status.DONE:
            return True
        if late:
            self._board.write(Register.CONTROL, Control.ABORT)
            self._until_idle()
            raise BoardError(f"not done within {self._seconds} s; the machine was stopped, and can be used again")
        return False

    def collect(self, image: Image, measured: Measured) -> None:
        """Copies back what the step may have written, and adds what it has counted."""
        for region in (Region.WORK, Region.OUTPUT):
            mine = region_of(image, region)
            mine[...] = self._board.dram.get(self._bases[region], mine.size)
        self.count(measured)

    def _start(self, address: int, words: int, bases: dict[Region, int], image: Image) -> None:
        board = self._board
        self._until_idle()
        write_pair(board, Register.PROGRAM_LO, address)
        board.write(Register.PROGRAM_WORDS, words)
        for region in Region:
            write_pair(board, Register.BASE_CONST_LO + 8 * region, bases[region])
            board.write(Register.LIMIT_CONST + 4 * region, image.limits[region])
        board.arm()
        board.write(Register.CONTROL, Control.START)
        if self._status() & Status.REFUSED:
            raise BoardError("the machine did not take the start: it is not idle; is another program using it?")

    def _status(self) -> int:
        status = self._board.read(Register.STATUS)
        if status == _GONE:
            raise BoardError("the registers do not answer any more: check clock and power of the machine")
        return status

    def _until_idle(self) -> None:
        end = time.monotonic() + self._seconds
        while not self._status() & Status.IDLE:
            if time.monotonic() > end:
                raise BoardError("the machine does not become idle: DRAM owes it an answer; reset it and its interconnect")

    def count(self, measured: Measured) -> None:
        """Adds what the step has counted."""
        low = self._board.read(Register.CYCLES_LO)
        taken = low | self._board.read(Register.CYCLES_HI) << 32
        measured.cycles = (measured.cycles or 0) + taken
        measured.steps.append(taken)
        measured.read_beats += self._board.read(Register.READ_BEATS)
        measured.write_beats += self._board.read(Register.WRITE_BEATS)
        for unit in built_units(self._config):
            total = measured.counters.setdefault(unit, dict.fromkeys(Counter, 0))
            for counter in Counter:
                total[counter] += self._board.read(counter_offset(unit, counter))


def region_of(image: Image, region: Region) -> NDArray[np.uint8]:
    """The bytes of a region up to a whole chunk. The regions of an image lie a page apart."""
    start = image.bases[region]
    return image.memory[start : start + -(-image.limits[region] // CHUNK) * CHUNK]
