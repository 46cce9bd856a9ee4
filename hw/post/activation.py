"""Activation of int16 values: steps 6 to 8 of docs/machine.md, int16 to int8."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.arithmetic.cascade import Nearest, cascades_of
from hw.arithmetic.doubled import doubled_cascades, halves_of_a_cycle
from hw.arithmetic.dsp48e2 import Enables
from hw.arithmetic.sums import chosen_sum, extended
from hw.interfaces import TableWrite
from isa.config import MachineConfig
from isa.instructions import Activation
from isa.latency import activate_latency, product_latency

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

    One vector per cycle, latency ``activate_latency``; it never stalls.
    Every lane has its own copy of all tables: lanes look up different bytes in the same cycle.
    A table must not be written while vectors that use it are on their way.

    ======  ==================================================================================================
    0       product with alpha; with ``array_clock`` 2 a DSP makes those of two lanes by turns, in two stages more
    1       rounded, where LEAKY asks for it, and else ``r``; bounds of ``r`` instead of ``r + zp``, once for all lanes
    2       ``r`` or the bound that it is beyond, and ``zp``. Nine bits of ``r`` suffice: where they do not, it is beyond one
    3       table
    ======  ==================================================================================================
    """

    def __init__(self, config: MachineConfig, lanes: int) -> None:
        self._config = config
        self._lanes = lanes
        super().__init__({
            "i": In(vectors(data.StructLayout({"r": data.ArrayLayout(signed(16), lanes), **FINISH}))),
            "o": Out(vectors(data.ArrayLayout(signed(8), lanes))),
            "table_write": In(TableWrite(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        behind = product_latency(self._config)
        latency = activate_latency(self._config)
        valid, advance = Signal(latency), Signal(latency)
        m.d.comb += [advance.eq(Cat(self.i.valid, valid[:-1])), self.o.valid.eq(valid[-1])]
        m.d.sync += valid.eq(advance)

        side = [Signal(data.StructLayout(FINISH), name=f"side_{n}") for n in range(latency - 1)]
        sources = (Cat(self.i.p[name] for name in FINISH), *(kept.as_value() for kept in side[:-1]))
        for n, (target, source) in enumerate(zip(side, sources, strict=True)):
            with m.If(advance[n]):
                m.d.sync += target.as_value().eq(source)
        bounding, clamping, looking = side[behind - 1 :]
        # If lo > hi, hi is what comes out.
        least, most = Signal(signed(9)), Signal(signed(9))
        floor = Signal(signed(8))
        m.d.comb += floor.eq(Mux(bounding.lo > bounding.hi, bounding.hi, bounding.lo))
        with m.If(advance[behind]):
            m.d.sync += [least.eq(floor - bounding.zp), most.eq(bounding.hi - bounding.zp)]
        looked_up = Signal()
        with m.If(advance[-1]):
            m.d.sync += looked_up.eq(looking.act == Activation.TABLE.value)

        for lane, found in enumerate(self._shrunk(m, platform, advance)):
            whole = found.whole
            far = ~(whole[8:].all() | ~whole[8:].any())
            # few - least and most - few, whose carry chains take the inverted operands in; only their signs count. Whether few
            # is one less is a carry of the first one; if that takes few to most, most is what comes out all the same.
            few = extended(found.above[:9].as_signed(), 10)
            below = Mux(far, whole[15], chosen_sum(~extended(least, 10), few, 1 if found.less is None else ~found.less)[9])
            above = Mux(far, ~whole[15], chosen_sum(extended(most, 10), ~few, 1)[9])
            y = [Signal(signed(8), name=f"y{n}_{lane}") for n in range(2)]
            with m.If(advance[-2]):
                bounded = Mux(below, least[:8], Mux(above, most[:8], whole[:8]))
                m.d.sync += y[0].eq(chosen_sum(clamping.zp, bounded))
            with m.If(advance[-1]):
                m.d.sync += y[1].eq(y[0])
            table = self._table(m, lane, advance[-1], Cat(y[0], looking.table))
            m.d.comb += self.o.p[lane].eq(Mux(looked_up, table, y[1]))
        return m

    def _shrunk(self, m: Module, platform: Any, advance: Signal) -> list[Nearest]:
        """Stages 0 and 1: step 6 in each lane."""
        r, alpha = list(self.i.p.r), self.i.p.alpha
        chosen = [(self.i.p.act == Activation.LEAKY.value) & value[15] for value in r]
        if self._config.array_clock > 1:
            return doubled_cascades(platform, halves_of_a_cycle(m)).shrunk(m, r, alpha, chosen, advance[-3])
        kind, enables = cascades_of(platform), Enables(advance[0], advance[0], advance[1])
        return [kind.shrunk(m, value, alpha, chosen[n], enables, str(n)) for n, value in enumerate(r)]

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
    """Vectors that cannot be refused."""
    return wiring.Signature({"valid": Out(1), "p": Out(layout)})
