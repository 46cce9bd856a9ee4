"""One bank of the feature-map buffer, and where a word lies among the banks."""

from __future__ import annotations

from math import gcd
from typing import Any, NamedTuple

from amaranth import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from isa.config import MachineConfig
from isa.ram import ram_attributes


def write_granularity(config: MachineConfig) -> int:
    """The number of bytes of a word that are written together. Only chunks narrower than a word write a part of it."""
    return gcd(config.ic_p, config.oc_p) if config.oc_p < config.ic_p else config.ic_p


class Place(NamedTuple):
    """The place of a word: bank ``group * fm_phases + phase``, and the row in it."""

    phase: Value
    group: Value
    row: Value


def split_address(config: MachineConfig, addr: Value) -> Place:
    """The place of the word ``addr``. From the lowest bit up an address has the phase (``fm_phases``), the row of the bank
    (``fm_depth``) and the bank group."""
    phase_bits, row_bits = exact_log2(config.fm_phases), exact_log2(config.fm_depth)
    group_bits = ceil_log2(config.fm_banks // config.fm_phases)
    row_end = phase_bits + row_bits
    return Place(addr[:phase_bits], addr[row_end : row_end + group_bits], addr[phase_bits:row_end])


class Bank(wiring.Component):
    """A block RAM of ``fm_depth`` words and its output register. It serves one read and one write in every cycle.

    Read data comes two cycles after ``read_en``; nothing stalls. A read of a word that is written in the same cycle returns an
    undefined value, so that any block RAM will do.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.granularity = 8 * write_granularity(config)
        width = 8 * config.ic_p
        row_bits = exact_log2(config.fm_depth)
        super().__init__({
            "read_en": In(1),
            "read_row": In(row_bits),
            "read_data": Out(width),
            "write_en": In(width // self.granularity),
            "write_row": In(row_bits),
            "write_data": In(width),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        c = self.config
        m.submodules.memory = memory = Memory(shape=8 * c.ic_p, depth=c.fm_depth, init=[], attrs=ram_attributes(c.fm_ram))
        read = memory.read_port()
        write = memory.write_port(granularity=self.granularity)
        output = Signal(8 * self.config.ic_p, reset_less=True)
        m.d.sync += output.eq(read.data)
        m.d.comb += [
            read.en.eq(self.read_en),
            read.addr.eq(self.read_row),
            self.read_data.eq(output),
            write.en.eq(self.write_en),
            write.addr.eq(self.write_row),
            write.data.eq(self.write_data),
        ]
        return m
