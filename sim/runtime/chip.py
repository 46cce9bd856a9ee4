"""The machines of a simulated chip as software meets them: windows of registers, memory, one interrupt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isa.instructions import Region
from isa.program import Program
from isa.registers import MACHINE_BYTES, Register
from sim.rtl.memory import Dram
from sim.rtl.told import ToldChip
from sim.rtl.tools import SimulatorError
from sim.runtime.board import Area, addresses
from sim.runtime.board_engine import ALIGN, BoardEngine, Constants, region_of
from sim.runtime.image import Image

WAIT_CYCLES = 1 << 16
"""The cycles between two looks at what the user wants."""
PATIENCE = 1e9
"""The seconds that a step may take: a simulation takes as long as it takes."""


@dataclass(frozen=True)
class ChipMemory:
    """The memory of a simulated chip."""

    chip: ToldChip
    address: int
    size: int

    def put(self, address: int, data: NDArray[np.uint8]) -> None:
        self.chip.put(address, data)

    def get(self, address: int, size: int) -> NDArray[np.uint8]:
        return self.chip.get(address, size)

    def part(self, first: int, size: int) -> ChipMemory:
        return ChipMemory(self.chip, self.address + first, size)


@dataclass(frozen=True)
class ChipMachine:
    """One machine of a simulated chip."""

    chip: ToldChip
    number: int
    dram: Area

    def read(self, offset: int) -> int:
        found = self.chip.read(MACHINE_BYTES * self.number + offset)
        self._refused("read", offset)
        return found

    def write(self, offset: int, value: int) -> None:
        self.chip.write(MACHINE_BYTES * self.number + offset, value)
        self._refused("write", offset)

    def arm(self) -> None:
        self.write(Register.IRQ_PENDING, 1)
        self.write(Register.IRQ_ENABLE, 1)

    def wait(self, seconds: float) -> None:
        self.chip.wait(WAIT_CYCLES)

    def _refused(self, what: str, offset: int) -> None:
        if self.chip.refused:
            raise SimulatorError(f"machine {self.number} refused the {what} of its register at {offset:#x}")


@dataclass(frozen=True)
class CommonMemory:
    """The memory of images that all machines of a chip share."""

    area: Area

    def put(self, image: Image) -> dict[Region, int]:
        """Copies the image there; returns the addresses of its regions."""
        bases = dict(zip(image.limits, addresses([*image.limits.values()], self.area, ALIGN), strict=True))
        for region, base in bases.items():
            self.area.put(base, region_of(image, region))
        return bases

    def collect(self, image: Image, bases: Mapping[Region, int]) -> None:
        """Copies back what the machines may have written."""
        for region in (Region.WORK, Region.OUTPUT):
            mine = region_of(image, region)
            mine[...] = self.area.get(bases[region], mine.size)


@dataclass(frozen=True)
class Chip:
    """A chip that runs a batch: an engine for each machine, and the clock that they share."""

    told: ToldChip
    engines: list[BoardEngine]

    @property
    def cycles(self) -> int:
        return self.told.cycles

    def wait(self) -> None:
        """Waits for the interrupt of any machine, or for a moment."""
        self.told.wait(WAIT_CYCLES)


@contextmanager
def simulated_chip(
    program: Program, cores: int, *, dram: Dram | None = None, check: bool = False, used: int | None = None
) -> Iterator[Chip]:
    """A chip of ``cores`` machines and memory for the program: CONST once, all other regions for each machine.

    ``used``: the number of machines that get work; all if it is None.
    """
    sizes = {region: _pages(program.region_bytes(region)) for region in Region}
    shared = sizes.pop(Region.CONST)
    own = sum(sizes.values()) + _pages(4 * len(program.words))
    with ToldChip(program.config, cores, shared + cores * own, dram=dram, check=check) as told:
        memory = ChipMemory(told, 0, told.memory_bytes)
        constants = Constants(memory.part(0, shared), alone=False)
        machines = [ChipMachine(told, n, memory.part(shared + n * own, own)) for n in range(cores if used is None else used)]
        yield Chip(told, [BoardEngine(program.config, machine, PATIENCE, constants) for machine in machines])
        told.close()


@contextmanager
def shared_chip(program: Program, *, dram: Dram | None = None, check: bool = False) -> Iterator[tuple[Chip, CommonMemory]]:
    """A chip of as many machines as the program has cores, with memory for one image and for each machine's instructions."""
    image, words = sum(_pages(program.region_bytes(region)) for region in Region), _pages(4 * len(program.words))
    with ToldChip(program.config, program.cores, image + program.cores * words, dram=dram, check=check) as told:
        memory = ChipMemory(told, 0, told.memory_bytes)
        machines = [ChipMachine(told, n, memory.part(image + n * words, words)) for n in range(program.cores)]
        engines = [BoardEngine(program.config, machine, PATIENCE) for machine in machines]
        yield Chip(told, engines), CommonMemory(memory.part(0, image))
        told.close()


def _pages(size: int) -> int:
    return -(-size // ALIGN) * ALIGN
