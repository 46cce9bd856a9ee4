"""The state of the machine between instructions, and the context in which one instruction works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.faults import Fault, MachineFault
from isa.instructions import Buffer, Region
from sim.functional.addresses import Ints, Nest, fm_modulus, outside

Bytes = npt.NDArray[np.uint8]
Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Sums = npt.NDArray[np.signedinteger]
"""Sums in int32, or in the int64 that hold longer accumulators."""


class MachineState:
    """Every memory of the machine, zero at first."""

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.padded_words: Int8 = np.zeros((config.fm_words + 1, config.ic_p), dtype=np.int8)
        """The feature-map buffer, and after its last word the padding vector of the instruction at work."""
        self.buffers: dict[Buffer, Bytes] = {
            buffer: np.zeros((config.buffer_depth(buffer.name), config.buffer_word_bytes(buffer.name)), dtype=np.uint8)
            for buffer in Buffer
        }
        """The raw bytes of the parameter memories, one row for each word."""
        sums = np.int64 if config.act16 else np.int32
        self.accumulators: Sums = np.zeros((config.acc_depth, config.px_p, config.oc_p), dtype=sums)
        self.window_sums: Int32 = np.zeros((config.acc_depth, config.px_p), dtype=np.int32)
        """The sums of the inputs that made the accumulators. A zero-point of the weights is multiplied by them."""

    @property
    def feature_map(self) -> Int8:
        """The feature-map buffer, ``fm_words x ic_p`` int8."""
        return self.padded_words[:-1]

    def write_words(self, words: Ints, values: Int8) -> None:
        """Writes the vectors one after the other. Of several to the same word the last one stays."""
        self.feature_map[words.reshape(-1)] = values.reshape(-1, self.config.ic_p)

    @property
    def tables(self) -> Int8:
        return self.buffers[Buffer.TABLE].view(np.int8)


@dataclass
class Context:
    """What an instruction works on, and what it counts."""

    state: MachineState
    memory: Bytes
    bases: Mapping[Region, int]
    limits: Mapping[Region, int] = field(default_factory=dict)
    """The bytes of the regions. Regions that are left out have no limit."""
    pc: int = 0
    macs: int = 0
    dram_read: Counter[str] = field(default_factory=Counter)
    dram_written: Counter[str] = field(default_factory=Counter)

    @property
    def config(self) -> MachineConfig:
        return self.state.config

    def require_words(self, nest: Nest, what: str) -> None:
        """Raises a ``MachineFault`` if the nest leaves the feature-map buffer."""
        if outside(nest, self.config.fm_words, fm_modulus(self.config)):
            raise MachineFault(Fault.FM_ADDRESS, self.pc, f"{what}: a word is not below {self.config.fm_words}")

    def require_entries(self, first: int, count: int, depth: int, what: str) -> None:
        """Raises a ``MachineFault`` if ``count`` entries from ``first`` on leave a buffer."""
        if first + count > depth:
            raise MachineFault(Fault.BUFFER_ADDRESS, self.pc, f"{what} {first + count - 1} is not below {depth}")

    def require_buffer(self, nest: Nest, depth: int, what: str) -> None:
        """Raises a ``MachineFault`` if the nest leaves a parameter buffer."""
        if outside(nest, depth):
            raise MachineFault(Fault.BUFFER_ADDRESS, self.pc, f"{what}: one is not below {depth}")

    def dram_address(self, region: int, offset: int) -> int:
        return dram_address(self.config, self.bases, region, offset)

    def require_region(self, region: int, offsets: Iterable[int], count: int) -> None:
        """Raises a ``MachineFault`` if ``count`` bytes from one of the offsets, taken modulo 2^32, leave the region."""
        limit = self.limits.get(Region(region))
        if limit is None or not count:
            return
        for offset in offsets:
            if offset % (1 << 32) + count > limit:
                detail = f"bytes {offset % (1 << 32):#x} to {offset % (1 << 32) + count - 1:#x} of {Region(region).name}"
                raise MachineFault(Fault.REGION_LIMIT, self.pc, f"{detail}, which has {limit:#x}")

    def require_dram(self, address: int, count: int, fault: Fault) -> None:
        if count and address + count > self.memory.size:
            last = address + count - 1
            raise MachineFault(fault, self.pc, f"DRAM byte {last:#x} is outside the memory of {self.memory.size:#x} bytes")


def dram_address(config: MachineConfig, bases: Mapping[Region, int], region: int, offset: int) -> int:
    """The DRAM address of an offset, which counts modulo 2^32 from the base of its region."""
    return (bases[Region(region)] + offset % (1 << 32)) % (1 << config.axi_addr_bits)
