"""The entries that sums are kept in from one CONV to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth import Cat, Module, Signal, Value, signed
from amaranth.lib import data, memory

from hw.copies import PINS, Spread
from isa.config import MachineConfig
from isa.ram import ram_attributes
from isa.requantisation import SUM_BITS

READ_AHEAD = 2
"""Cycles from where a beat asks for its entry to the entry: memory, then its register."""


def asks_for(ahead: data.View) -> Value:
    """The entry that a beat begins with, and in the bit above whether it begins with one."""
    return Cat(ahead.beat.entry, ahead.valid & ahead.beat.first & ahead.beat.acc_in)


def kept_entries(m: Module, config: MachineConfig, count: int, asks: Spread, bits: int = SUM_BITS) -> tuple[list[Any], Signal]:
    """Memories of ``count`` sums of so many ``bits`` to an entry, in ``m``: their write ports, each with some of the sums, and
    the entry that the beat of ``asks`` (``asks_for``) begins with.

    The entry is there ``READ_AHEAD`` cycles after ``asks``; zeros for a beat that takes none. No stalls. In LUTs a memory has
    as many sums as a copy of its address reaches.
    """
    style = ram_attributes(config.acc_ram)
    together = count if config.acc_ram == "block" else max(1, PINS // bits)
    entry = Signal(data.ArrayLayout(signed(bits), count), reset_less=True)
    unused = Signal()
    clears = Spread(m, unused, ~asks.signal[-1], "sync")
    writes = []
    for first in range(0, count, together):
        sums = data.ArrayLayout(signed(bits), min(together, count - first))
        m.submodules[f"entries_{first}"] = storage = memory.Memory(shape=sums, depth=config.acc_depth, init=[], attrs=style)
        read = storage.read_port()
        write = storage.write_port()
        writes.append(write)
        m.d.comb += Cat(read.addr, read.en).eq(asks.of(min(sums.size, PINS)))
        for n in range(sums.length):
            m.d.sync += entry[first + n].eq(read.data[n])
            with m.If(clears.of(bits)):
                m.d.sync += entry[first + n].eq(0)
    return writes, entry


def keep(m: Module, writes: list[Any], en: Value, entry: Value, sums: Sequence[Value]) -> None:
    """Write the sums of an entry."""
    left = iter(sums)
    for write in writes:
        m.d.comb += [write.en.eq(en), write.addr.eq(entry)]
        m.d.comb += [write.data[n].eq(next(left)) for n in range(len(write.data))]
