"""The kinds of memory that ``dram.v`` can be: the one that figures are quoted for, or anything that AXI4 allows."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from isa.config import MachineConfig
from isa.instructions import Region

READ_LATENCY = 64
"""The cycles from a read address to its first data beat, unless a memory says otherwise."""
DRAM_BURSTS = 16
"""The bursts of each direction that DRAM takes at a time."""
MOST_LATENCY = 600
LATE = (0, 0, 3, 31, 255)
SPACE_ABOVE = 1 << 32
"""The end of addresses of 32 bits."""


@dataclass(frozen=True)
class Dram:
    """One memory behind the machine's bus."""

    latency: int = READ_LATENCY
    """The cycles from a read's address to its first beat, from 1."""
    seed: int = 0
    """The seed of disorder and delays; 0: there are none."""
    disorder: bool = False
    """Whether bursts of different ids overtake each other, and their beats are interleaved. Those of one id stay in order."""
    late: int = 0
    """The most cycles, 2**n - 1, by which a burst's first beat, or a B, comes later."""
    total: int = 0
    """The bytes in a cycle that all ports share, if not 0. Each port then moves beats of reads and of writes apart."""
    origin: int = 0
    """The address of the image's first byte."""
    bad: tuple[int, int] = (0, 0)
    """The first byte of the image, and the number of bytes, whose beats are answered with SLVERR."""

    def arguments(self) -> list[str]:
        """The arguments of the simulator."""
        first, size = self.bad
        return [
            f"+latency={self.latency}", f"+memory_seed={self.seed}", f"+disorder={int(self.disorder)}", f"+late={self.late}",
            f"+total={self.total}",
            f"+memory_base={self.origin:x}", f"+bad={self.origin + first:x}", f"+bad_bytes={size:x}",
        ]  # fmt: skip

    def bases(self, bases: Mapping[Region, int]) -> dict[Region, int]:
        """The addresses of the regions."""
        return {region: base + self.origin for region, base in bases.items()}

    def program_base(self, config: MachineConfig) -> int:
        """The address of programs: in the other half of the address space, so that a program is never beside its data."""
        half = 1 << (config.axi_addr_bits - 1)
        return half if self.origin < half else 0


QUOTED = Dram()
"""The memory that figures are quoted for."""


def dram_of(config: MachineConfig) -> Dram:
    """The memory of a machine's figures, as quick as its configuration says."""
    return Dram(latency=config.dram_latency)


def random_dram(config: MachineConfig, seed: int, size: int) -> Dram:
    """A memory for an image of ``size`` bytes. Its latency is short or long, and it lies at the ends of the address space or
    anywhere."""
    rng = random.Random(f"memory {config.hash} {seed}")
    space = 1 << config.axi_addr_bits
    room = space // 2 - size
    origins = [0, space // 2 - size, space // 2, space - size, rng.randrange(room), space // 2 + rng.randrange(room)]
    if space // 2 > SPACE_ABOVE:  # With 33 bits the program's half begins there, and the upper half is drawn from already.
        origins += [SPACE_ABOVE, SPACE_ABOVE - size // 2, SPACE_ABOVE + rng.randrange(room - SPACE_ABOVE + 1)]
    return Dram(
        latency=int(MOST_LATENCY ** rng.random()), seed=rng.randrange(1, 1 << 32), disorder=rng.random() < 0.7,
        late=rng.choice(LATE), origin=rng.choice(origins) & -config.axi_bytes,
    )  # fmt: skip
