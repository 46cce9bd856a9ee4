"""Activation of int16 values: steps 6 to 8 of docs/machine.md, int16 to int8."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.interfaces import TableWrite
from isa.config import MachineConfig
from isa.instructions import Activation

LATENCY = 4
"""Register stages, the last one being the table's own."""

FINISH = {
    "zp": signed(8),
    "lo": signed(8),
    "hi": signed(8),
    "act": unsigned(2),
    "table": unsigned(2),
    "alpha": unsigned(16),
}
"""What an instruction says about steps 6 to 8; it travels with every vector, for instructions follow without a gap."""


class Activate(wiring.Component):
    """``y = table[clamp(leaky(r) + zp, lo, hi)]`` on a vector of lanes; LEAKY and the table only if ``act`` says so.

    One vector per cycle, latency ``LATENCY``. While the output is refused everything stands still.
    Every lane has its own copy of all tables: lanes look up different bytes in the same cycle.
    A table must not be written while vectors that use it are on their way.

    ======  ==================================================================================================
    0       product with alpha
    1       rounded where LEAKY asks for it; bounds of ``r`` instead of ``r + zp``, once for all lanes
    2       ``r + zp`` beside both comparisons. Nine bits of ``r`` suffice: where they do not, it is beyond a bound
    3       table
    ======  ==================================================================================================
    """

    def __init__(self, config: MachineConfig, lanes: int) -> None:
        self._config = config
        self._lanes = lanes
        super().__init__({
            "i": In(stream.Signature(data.StructLayout({"r": data.ArrayLayout(signed(16), lanes), **FINISH}))),
            "o": Out(stream.Signature(data.ArrayLayout(signed(8), lanes))),
            "table_write": In(TableWrite(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        valid = Signal(LATENCY)
        move = Signal()
        m.d.comb += [
            move.eq(self.o.ready | ~valid[-1]),
            self.i.ready.eq(move),
            self.o.valid.eq(valid[-1]),
        ]
        with m.If(move):
            m.d.sync += valid.eq(Cat(self.i.valid, valid))

        side_layout = data.StructLayout(FINISH)
        side = [Signal(side_layout, name=f"side_{n}") for n in range(LATENCY - 1)]
        incoming = [(self.i.valid, Cat(self.i.payload[name] for name in FINISH))]
        incoming += [(valid[n], side[n].as_value()) for n in range(LATENCY - 2)]
        for target, (present, source) in zip(side, incoming, strict=True):
            with m.If(move & present):
                m.d.sync += target.as_value().eq(source)
        # If lo > hi, hi is what comes out.
        low, high = Signal(signed(8)), Signal(signed(8))
        least, most = Signal(signed(9)), Signal(signed(9))
        floor = Signal(signed(8))
        m.d.comb += floor.eq(Mux(side[0].lo > side[0].hi, side[0].hi, side[0].lo))
        with m.If(move & valid[0]):
            m.d.sync += [
                low.eq(floor),
                high.eq(side[0].hi),
                least.eq(floor - side[0].zp),
                most.eq(side[0].hi - side[0].zp),
            ]
        looked_up = Signal()
        with m.If(move & valid[2]):
            m.d.sync += looked_up.eq(side[2].act == Activation.TABLE.value)

        for lane in range(self._lanes):
            r = [Signal(signed(16), name=f"r{n}_{lane}") for n in range(2)]
            y = [Signal(signed(8), name=f"y{n}_{lane}") for n in range(2)]
            scaled = Signal(signed(33), name=f"scaled_{lane}")
            with m.If(move & self.i.valid):
                m.d.sync += [r[0].eq(self.i.payload.r[lane]), scaled.eq(self.i.payload.r[lane] * self.i.payload.alpha)]
            leaky = (side[0].act == Activation.LEAKY.value) & r[0][15]
            with m.If(move & valid[0]):
                m.d.sync += r[1].eq(_rounded(Mux(leaky, scaled[16:32], r[0]), leaky & _rounds_up(scaled)))
            far = ~(r[1][8:].all() | ~r[1][8:].any())
            few = r[1][:9].as_signed()
            below = Mux(far, r[1][15], (few - least)[9])
            above = Mux(far, ~r[1][15], (most - few)[9])
            with m.If(move & valid[1]):
                m.d.sync += y[0].eq(Mux(below, low, Mux(above, high, (r[1][:8] + side[1].zp)[:8].as_signed())))
            with m.If(move & valid[2]):
                m.d.sync += y[1].eq(y[0])
            table = self._table(m, lane, move & valid[2], Cat(y[0], side[2].table))
            m.d.comb += self.o.payload[lane].eq(Mux(looked_up, table, y[1]))
        return m

    def _table(self, m: Module, lane: int, en: Value, index: Value) -> Value:
        """This lane's copy of the tables, read when the vector enters the last stage."""
        memory = Memory(shape=unsigned(8), depth=256 * self._config.tables, init=[])
        m.submodules[f"table_{lane}"] = memory
        write = memory.write_port()
        read = memory.read_port()
        port = self.table_write
        m.d.comb += [
            write.en.eq(port.en),
            write.addr.eq(Cat(port.index, port.table)),
            write.data.eq(port.data),
            read.en.eq(en),
            read.addr.eq(index),
        ]
        return read.data


def _rounds_up(value: Value) -> Value:
    """Whether ``value / 2^16`` is rounded up, ties to even."""
    return value[15] & (value[:15].any() | value[16])


def _rounded(floor: Value, up: Value) -> Value:
    """``floor + up`` as one chain of carries."""
    return (Cat(Const(1, 1), Const(0, len(floor))) + Cat(up, floor))[1 : 1 + len(floor)].as_signed()
