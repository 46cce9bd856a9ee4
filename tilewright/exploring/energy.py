"""An estimate of the energy of one run: multiplies, accesses of memories on chip, and bytes of DRAM.

It is not measured; it ranks machines. All numbers are of 45 nm at 0.9 V, from figure 1.1.9 of M. Horowitz, *Computing's energy
problem (and what we can do about it)*, ISSCC 2014. An FPGA takes about ten times as much. Leakage is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from isa.config import MachineConfig

MULTIPLY_PJ = 0.2 + 0.1
"""The picojoules of a product of 8 bits (0.2), and of its addition to a sum of 32 bits (0.1)."""
SRAM_PJ, SRAM_WORDS = 10 / 8, 1024
"""The picojoules of a byte of a memory of 8 KB that is 64 bits wide, and the words of that memory. By the figure 32 KB take 2
times, and 1 MB takes 10 times as much. The square root of the words (1024, 4096, 131072) gives 2 and 11."""
DRAM_PJ = 1300 / 8
"""The picojoules of a byte of DRAM, from the lower end of 1.3 to 2.6 nJ for 64 bits."""
OPERANDS = 3
"""The bytes of the feature-map buffer for a result of MISC: two read, one written."""


def sram_pj(words: int) -> float:
    """The picojoules of a byte of a memory of so many words. A wide word counts as several memories of 64 bits side by side."""
    return SRAM_PJ * sqrt(words / SRAM_WORDS)


def on_chip_mj(config: MachineConfig, macs: int, beats: Mapping[str, int]) -> float:
    """The millijoules of everything but DRAM. ``beats``: the cycles of work of CONV, POOL and MISC."""
    maps, weights = sram_pj(config.fm_depth), sram_pj(config.weight_depth)
    pixels = config.px_p * config.ic_p
    conv = beats.get("CONV", 0) * (pixels * maps + config.ic_p * config.oc_p * weights)
    pool = beats.get("POOL", 0) * pixels * maps
    misc = beats.get("MISC", 0) * config.misc_lanes * OPERANDS * maps
    return (macs * MULTIPLY_PJ + conv + pool + misc) / 1e9


def dram_mj(config: MachineConfig, moved: int) -> float:
    """The millijoules of bytes that pass between DRAM and the feature-map buffer."""
    return moved * (DRAM_PJ + sram_pj(config.fm_depth)) / 1e9
