"""The end of MISC: zero-point, clamp and table, which make int8 of int10."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.interfaces import TableWrite
from hw.misc.numbers import SETTINGS
from hw.misc.rounding import WHOLE
from isa.config import MachineConfig
from isa.instructions import Activation


class Finish(wiring.Component):
    """``y = table[clamp(r + zp, lo, hi)]`` on ``misc_lanes`` lanes, with the table only if ``act`` says so. The latency is
    ``MISC_FINISH``.

    It never stalls. ``settings`` must not change while values are on their way. Every lane has its own copy of all tables,
    because lanes look up different bytes in the same cycle. A table must not be written while slices that use it are on their
    way.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "r": In(data.ArrayLayout(signed(WHOLE), config.misc_lanes)),
            "settings": In(SETTINGS),
            "y": Out(data.ArrayLayout(signed(8), config.misc_lanes)),
            "table_write": In(TableWrite(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        low, high = self.settings.lo, self.settings.hi
        looks_up = Signal()
        m.d.sync += looks_up.eq(self.settings.act == Activation.TABLE.value)
        for lane in range(self.config.misc_lanes):
            summed = Signal(signed(WHOLE + 1), name=f"summed{lane}", reset_less=True)
            raised = Signal(signed(WHOLE + 1), name=f"raised{lane}", reset_less=True)
            bounded = Signal(signed(8), name=f"bounded{lane}", reset_less=True)
            plain = Signal(signed(8), name=f"plain{lane}", reset_less=True)
            m.d.sync += [
                summed.eq(self.r[lane] + self.settings.zp),
                raised.eq(Mux(summed > low, summed, low)),
                bounded.eq(Mux(raised < high, raised, high)),
                plain.eq(bounded),
            ]
            table = self._table(m, lane, Cat(bounded, self.settings.table))
            m.d.comb += self.y[lane].eq(Mux(looks_up, table, plain))
        return m

    def _table(self, m: Module, lane: int, index: Value) -> Value:
        memory = Memory(shape=unsigned(8), depth=256 * self.config.tables, init=[])
        m.submodules[f"table{lane}"] = memory
        write = memory.write_port()
        read = memory.read_port()
        port = self.table_write
        m.d.comb += [
            write.en.eq(port.en),
            write.addr.eq(Cat(port.index, port.table)),
            write.data.eq(port.data),
            read.en.eq(1),
            read.addr.eq(index),
        ]
        return read.data
