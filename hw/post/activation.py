"""Activation of int16 values: steps 6 to 8 of docs/machine.md, int16 to int8."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.arithmetic.doubled import lanes_by_turns
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
    1       rounded where LEAKY asks for it; bounds of ``r`` instead of ``r + zp``, once for all lanes
    2       ``r + zp`` beside both comparisons. Nine bits of ``r`` suffice: where they do not, it is beyond a bound
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
        rounding, clamping, looking = side[behind - 1 :]
        # If lo > hi, hi is what comes out.
        low, high = Signal(signed(8)), Signal(signed(8))
        least, most = Signal(signed(9)), Signal(signed(9))
        floor = Signal(signed(8))
        m.d.comb += floor.eq(Mux(rounding.lo > rounding.hi, rounding.hi, rounding.lo))
        with m.If(advance[behind]):
            m.d.sync += [
                low.eq(floor),
                high.eq(rounding.hi),
                least.eq(floor - rounding.zp),
                most.eq(rounding.hi - rounding.zp),
            ]
        looked_up = Signal()
        with m.If(advance[-1]):
            m.d.sync += looked_up.eq(looking.act == Activation.TABLE.value)

        for lane, scaled in enumerate(self._scaled(m, platform)):
            r: Value = self.i.p.r[lane]
            for n in range(behind):
                kept = Signal(signed(16), name=f"r{n}_{lane}")
                with m.If(advance[n]):
                    m.d.sync += kept.eq(r)
                r = kept
            whole = Signal(signed(16), name=f"whole_{lane}")
            leaky = (rounding.act == Activation.LEAKY.value) & r[15]
            with m.If(advance[behind]):
                m.d.sync += whole.eq(_rounded(Mux(leaky, scaled[16:32], r), leaky & _rounds_up(scaled)))
            far = ~(whole[8:].all() | ~whole[8:].any())
            few = whole[:9].as_signed()
            below = Mux(far, whole[15], (few - least)[9])
            above = Mux(far, ~whole[15], (most - few)[9])
            y = [Signal(signed(8), name=f"y{n}_{lane}") for n in range(2)]
            with m.If(advance[-2]):
                m.d.sync += y[0].eq(Mux(below, low, Mux(above, high, (whole[:8] + clamping.zp)[:8].as_signed())))
            with m.If(advance[-1]):
                m.d.sync += y[1].eq(y[0])
            table = self._table(m, lane, advance[-1], Cat(y[0], looking.table))
            m.d.comb += self.o.p[lane].eq(Mux(looked_up, table, y[1]))
        return m

    def _scaled(self, m: Module, platform: Any) -> list[Value]:
        """Each lane's ``r * alpha``, ``product_latency`` cycles later."""
        r, alpha = list(self.i.p.r), self.i.p.alpha
        if self._config.array_clock == 1:
            scaled = [Signal(signed(33), name=f"scaled_{lane}") for lane in range(self._lanes)]
            with m.If(self.i.valid):
                m.d.sync += [to.eq(value * alpha) for to, value in zip(scaled, r, strict=True)]
            return list(scaled)
        return lanes_by_turns(m, platform, r, Cat(alpha, Const(0, 1)).as_signed(), 33, "scaled")

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


def vectors(layout: ShapeLike) -> wiring.Signature:
    """Vectors that cannot be refused."""
    return wiring.Signature({"valid": Out(1), "p": Out(layout)})
