"""Activation of int16 values: steps 6 and 7 of docs/reference/semantics.md, int16 to int8."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Shape, Signal, Value, signed, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.arithmetic.cascade import registered
from hw.interfaces import TableWrite
from hw.post.clamp import clamped, clamped16
from isa.config import MachineConfig
from isa.instructions import Activation
from isa.latency import ACTIVATE


def finish_fields(bits: int) -> dict[str, Shape]:
    """The fields of an instruction for steps 6 and 7. They travel with every vector, because instructions follow without a gap.
    With 16 ``bits`` some results are ``y16``, and the others are bytes."""
    return {
        "zp": signed(bits),
        "lo": signed(bits),
        "hi": signed(bits),
        "act": unsigned(1),
        "table": unsigned(2),
        **({"y16": unsigned(1)} if bits > BYTE else {}),
    }


BYTE = 8
FINISH = finish_fields(BYTE)


class Activate(wiring.Component):
    """``y = table[clamp(r + zp, lo, hi)]`` on a vector of lanes, with the table only if ``act`` asks for it.

    It takes one vector per cycle, with a latency of ``isa.latency.ACTIVATE``. It never stalls. Every lane has its own copy of
    all tables, because lanes look up different bytes in the same cycle. A table must not be written while vectors that use it
    are on their way.

    With 16 ``bits`` a result that is ``y16`` has both bytes, the low one less 128. Of any other result only the low byte
    counts.

    ======  =====================================================================
    0       bounds of ``r`` instead of ``r + zp``, computed once for all lanes
    1       ``r`` or the bound that it exceeds, plus ``zp``
    2       table
    ======  =====================================================================
    """

    def __init__(self, config: MachineConfig, lanes: int, bits: int = BYTE) -> None:
        self._config = config
        self._lanes = lanes
        self._bits = bits
        r_bits = 16 if bits == BYTE else bits + 1
        super().__init__({
            "i": In(vectors(data.StructLayout({"r": data.ArrayLayout(signed(r_bits), lanes), **finish_fields(bits)}))),
            "o": Out(vectors(data.ArrayLayout(signed(bits), lanes))),
            "table_write": In(TableWrite(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        valid, advance = (Signal(ACTIVATE, name=name) for name in ("valid", "advance"))
        # The first stage takes whatever is there, so that VALID drives no enables.
        m.d.comb += [advance.eq(Cat(1, valid[:-1])), self.o.valid.eq(valid[-1])]
        m.d.sync += valid.eq(Cat(self.i.valid, valid[:-1]))

        finish = self.i.p
        # If lo > hi, hi is what comes out.
        floor = Signal(signed(self._bits))
        m.d.comb += floor.eq(Mux(finish.lo > finish.hi, finish.hi, finish.lo))
        least = registered(m, floor - finish.zp, "least", advance[0])
        most = registered(m, finish.hi - finish.zp, "most", advance[0])
        zp = registered(m, finish.zp, "zp", advance[0])
        looks_up, table = finish.act == Activation.TABLE.value, finish.table
        for stage in range(2):
            looks_up = registered(m, looks_up, f"looks_up_{stage}", advance[stage])
            table = registered(m, table, f"table_{stage}", advance[stage])
        looked_up = registered(m, looks_up, "looked_up", advance[2])
        y16: Value = finish.y16 if self._bits > BYTE else Const(0, 1)
        for stage in range(2 if self._bits > BYTE else 0):
            y16 = registered(m, y16, f"y16_{stage}", advance[stage])

        for lane in range(self._lanes):
            r = registered(m, finish.r[lane], f"r_{lane}", advance[0])
            if self._bits == BYTE:
                byte = registered(m, clamped(r, least, most, zp), f"byte_{lane}", advance[1])
                plain = registered(m, byte, f"plain_{lane}", advance[2])
            else:
                word = registered(m, clamped16(r, least, most, zp), f"word_{lane}", advance[1])
                byte = word[:BYTE]
                plain = registered(m, word ^ (y16 << BYTE - 1), f"plain_{lane}", advance[2])
            found = self._table(m, lane, advance[2], Cat(byte, table))
            m.d.comb += self.o.p[lane].eq(Mux(looked_up, found, plain))
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


def vectors(layout: ShapeLike) -> wiring.Signature:
    """The signature of vectors that cannot be refused."""
    return wiring.Signature({"valid": Out(1), "p": Out(layout)})
