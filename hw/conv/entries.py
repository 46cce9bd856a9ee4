"""The entries that keep sums from one CONV to the next."""

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
"""The cycles from a beat's request for its entry to the entry: one for the memory, one for its register."""


def asks_for(ahead: data.View) -> Value:
    """The entry that a beat begins with. The bit above says whether the beat begins with one."""
    return Cat(ahead.beat.entry, ahead.valid & ahead.beat.first & ahead.beat.acc_in)


def kept_entries(m: Module, config: MachineConfig, count: int, asks: Spread, bits: int = SUM_BITS) -> tuple[list[Any], Signal]:
    """Builds memories in ``m`` whose entries have ``count`` sums of ``bits`` bits each. Returns their write ports, each for
    some of the sums, and the entry that the beat of ``asks`` (``asks_for``) begins with.

    The entry comes ``READ_AHEAD`` cycles after ``asks``. A beat that takes none gets zeros. Nothing stalls. In LUTs a memory
    has as many sums as one copy of its address reaches.
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
    """Writes the sums of an entry."""
    left = iter(sums)
    for write in writes:
        m.d.comb += [write.en.eq(en), write.addr.eq(entry)]
        m.d.comb += [write.data[n].eq(next(left)) for n in range(len(write.data))]
