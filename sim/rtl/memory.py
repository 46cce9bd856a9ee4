"""What kind of memory ``dram.v`` is to be: the one that figures are quoted for, or anything that AXI4 allows."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from isa.config import MachineConfig
from isa.instructions import Region

READ_LATENCY = 64
"""Cycles from a read address to its first data beat, unless a memory says otherwise."""
DRAM_BURSTS = 16
"""Bursts of each direction that DRAM takes at a time."""
MOST_LATENCY = 600
LATE = (0, 0, 3, 31, 255)
SPACE_ABOVE = 1 << 32
"""Where addresses of 32 bits end."""


@dataclass(frozen=True)
class Dram:
    """One memory behind the machine's bus."""

    latency: int = READ_LATENCY
    """Cycles from a read's address to its first beat, from 1."""
    seed: int = 0
    """Of all that follows; 0 for nothing of it."""
    disorder: bool = False
    """Bursts of different ids overtake each other, and their beats are interleaved. Those of one id stay in order."""
    late: int = 0
    """2**n - 1: a burst's first beat, or a B, comes up to so many cycles later."""
    total: int = 0
    """Not 0: bytes in a cycle that all ports share; each port then moves beats of reads and of writes apart."""
    origin: int = 0
    """The address of the image's first byte."""
    bad: tuple[int, int] = (0, 0)
    """Beats from this byte of the image on, so many bytes, are answered with SLVERR."""

    def arguments(self) -> list[str]:
        """For the simulator."""
        first, size = self.bad
        return [
            f"+latency={self.latency}", f"+memory_seed={self.seed}", f"+disorder={int(self.disorder)}", f"+late={self.late}",
            f"+total={self.total}",
            f"+memory_base={self.origin:x}", f"+bad={self.origin + first:x}", f"+bad_bytes={size:x}",
        ]  # fmt: skip

    def bases(self, bases: Mapping[Region, int]) -> dict[Region, int]:
        """Where the regions are."""
        return {region: base + self.origin for region, base in bases.items()}

    def program_base(self, config: MachineConfig) -> int:
        """In the other half of the address space, so that a program is never beside its data."""
        half = 1 << (config.axi_addr_bits - 1)
        return half if self.origin < half else 0


QUOTED = Dram()
"""The memory that figures are quoted for."""


def dram_of(config: MachineConfig) -> Dram:
    """The memory of a machine's figures: as quick as its configuration says."""
    return Dram(latency=config.dram_latency)


def random_dram(config: MachineConfig, seed: int, size: int) -> Dram:
    """A memory for an image of ``size`` bytes: short and long latencies alike, at the ends of the address space or anywhere."""
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
