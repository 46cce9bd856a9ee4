"""The entries that sums are kept in from one CONV to the next."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal, signed
from amaranth.lib import data, memory

from hw.copies import Spread
from isa.config import MachineConfig
from isa.ram import ram_attributes
from isa.requantisation import SUM_BITS

READ_AHEAD = 2
"""Cycles from the beat that asks for its entry to the entry: memory, then its register."""


def kept_entries(m: Module, config: MachineConfig, count: int, ahead: data.View, bits: int = SUM_BITS) -> tuple[Any, Signal]:
    """A memory of ``count`` sums of so many ``bits`` to an entry, in ``m``: its write port, and the entry that the beat
    ``ahead`` begins with.

    The entry is there ``READ_AHEAD`` cycles after ``ahead``; zeros for a beat that takes none. No stalls.
    """
    entries = data.ArrayLayout(signed(bits), count)
    style = ram_attributes(config.acc_ram)
    m.submodules.entries = storage = memory.Memory(shape=entries, depth=config.acc_depth, init=[], attrs=style)
    read = storage.read_port()
    write = storage.write_port()
    entry = Signal(entries, reset_less=True)
    unused = Signal()
    clears = Spread(m, unused, ~read.en, "sync")
    m.d.comb += [
        read.en.eq(ahead.valid & ahead.beat.first & ahead.beat.acc_in),
        read.addr.eq(ahead.beat.entry),
    ]
    m.d.sync += entry.eq(read.data)
    for n in range(count):
        with m.If(clears.of(bits)):
            m.d.sync += entry[n].eq(0)
    return write, entry
