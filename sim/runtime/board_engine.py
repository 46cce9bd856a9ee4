"""Machine steps on a board: the driver's sequence, from Python."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from isa.capabilities import built_units
from isa.config import MachineConfig
from isa.faults import Fault, MachineFault
from isa.instructions import Region
from isa.registers import ID_VALUE, Control, Counter, Register, Status, counter_offset
from isa.version import HARDWARE_VERSION, ISA_VERSION
from sim.runtime.board import Board, BoardError, addresses, write_pair
from sim.runtime.engine import Measured
from sim.runtime.image import Image

ALIGN = 4096
CHUNK = 64
"""Copies are of whole ones: where DRAM is mapped as a device, its bytes cannot be reached one by one."""
SECONDS = 10.0
"""What a step may take; then it is aborted."""
_GONE = 0xFFFFFFFF


class BoardEngine:
    """Copies what a step needs to the board's DRAM, runs it there, and copies back what it may have written."""

    def __init__(self, config: MachineConfig, board: Board, seconds: float | None = None) -> None:
        self._config, self._board = config, board
        self._seconds = SECONDS if seconds is None else seconds
        self._constants: tuple[int, NDArray[np.uint8]] | None = None
        """Where CONST lies on the board, and what it is."""
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
        program = np.array(words, "<u4").view(np.uint8)
        program = np.concatenate([program, np.zeros(-program.size % CHUNK, np.uint8)])
        places = addresses([*image.limits.values(), program.size], self._board.dram, ALIGN)
        bases = dict(zip(image.limits, places, strict=False))
        self._put_constants(image, bases[Region.CONST])
        for region in (Region.WORK, Region.INPUT):
            self._copy(image, region, bases[region], to_board=True)
        self._memory(places[-1], program.size)[...] = program
        self._start(places[-1], len(words), bases, image)
        self._finish()
        for region in (Region.WORK, Region.OUTPUT):
            self._copy(image, region, bases[region], to_board=False)
        self._count(measured)

    def _memory(self, address: int, size: int) -> NDArray[np.uint8]:
        start = address - self._board.dram.address
        return self._board.dram.memory[start : start + size]

    def _copy(self, image: Image, region: Region, address: int, *, to_board: bool) -> None:
        mine = _region(image, region)
        theirs = self._memory(address, mine.size)
        if to_board:
            theirs[...] = mine
        else:
            mine[...] = theirs

    def _put_constants(self, image: Image, address: int) -> None:
        """Once for all runs of a program."""
        mine = _region(image, Region.CONST)
        if self._constants is None or self._constants[0] != address or not np.array_equal(self._constants[1], mine):
            self._memory(address, mine.size)[...] = mine
            self._constants = (address, mine.copy())

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

    def _finish(self) -> None:
        end = time.monotonic() + self._seconds
        while True:
            left = end - time.monotonic()
            status = self._status()
            if status & Status.ERROR:
                code, pc = self._board.read(Register.ERROR_CODE), self._board.read(Register.ERROR_PC)
                self._until_idle()
                raise MachineFault(Fault(code), pc)
            if status & Status.DONE:
                return
            if left <= 0:
                self._board.write(Register.CONTROL, Control.ABORT)
                self._until_idle()
                raise BoardError(f"not done within {self._seconds} s; the machine was stopped, and can be used again")
            self._board.wait(left)

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

    def _count(self, measured: Measured) -> None:
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


def _region(image: Image, region: Region) -> NDArray[np.uint8]:
    """Its bytes, up to a whole chunk: regions of an image lie a page apart."""
    start = image.bases[region]
    return image.memory[start : start + -(-image.limits[region] // CHUNK) * CHUNK]
