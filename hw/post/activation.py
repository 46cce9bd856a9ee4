"""Activation of int16 values: steps 6 to 8 of docs/reference/semantics.md, int16 to int8."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hw.arithmetic.cascade import Nearest, cascades_of, registered
from hw.arithmetic.doubled import doubled_cascades, halves_of_a_cycle
from hw.arithmetic.dsp48e2 import Enables
from hw.interfaces import TableWrite
from hw.post.clamp import Bounds
from hw.post.leaky import LEAKY_STAGES, LeakyLanes
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

    One vector per cycle, latency ``activate_latency``; it never stalls. Where ``turns`` lanes share a multiplier for LEAKY, a
    vector with LEAKY takes ``turns - 1`` cycles more; so long it stays at ``i``, and there is no other.
    Every lane has its own copy of all tables: lanes look up different bytes in the same cycle.
    A table must not be written while vectors that use it are on their way.

    ======  ==================================================================================================
    0       product with alpha; with ``array_clock`` 2 a DSP makes those of two lanes by turns, in two stages more
    1       rounded, where LEAKY asks for it, and else ``r``; bounds of ``r`` instead of ``r + zp``, once for all lanes
    2       ``r`` or the bound that it is beyond, and ``zp``. Nine bits of ``r`` suffice: where they do not, it is beyond one
    3       table
    ======  ==================================================================================================

    With ``turns`` stages 0 and 1 only keep ``r``. Lanes below zero of a vector with LEAKY also go beside all stages, one after
    another (``hw/post/leaky.py``), while the vector stays at ``i``; their bytes take the place of those behind stage 3.
    """

    def __init__(self, config: MachineConfig, lanes: int, turns: int = 1) -> None:
        """``turns``: lanes that share a multiplier for LEAKY; more than one only with ``array_clock`` 1."""
        self._config = config
        self._lanes = lanes
        self._turns = turns
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
        m.d.comb += advance.eq(Cat(self.i.valid, valid[:-1]))

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
        bounds = Bounds(least, most, clamping.zp)
        looked_up = Signal()
        with m.If(advance[-1]):
            m.d.sync += looked_up.eq(looking.act == Activation.TABLE.value)
        plain = self._shrunk(m, platform, advance)
        y = [self._clamped(m, lane, value, bounds, advance) for lane, value in enumerate(plain)]
        finished = [value[1] for value in y]
        if self._turns == 1:
            m.d.sync += valid.eq(advance)
            m.d.comb += self.o.valid.eq(valid[-1])
        else:
            leaky = looking.act == Activation.LEAKY.value
            m.d.sync += valid.eq(Cat(advance[:-1], advance[-1] & ~leaky))
            kept_least, kept_most = (
                registered(m, value, f"kept_{name}", advance[-2]) for value, name in ((least, "least"), (most, "most"))
            )
            leaves, turned = self._by_turns(m, bounding.alpha, Bounds(kept_least, kept_most, looking.zp))
            m.d.comb += self.o.valid.eq(valid[-1] | leaves)
            instead = registered(m, leaky, "instead", advance[-1])
            for lane, value in enumerate(plain):
                negative = value.whole[15]
                for n, enable in enumerate(advance[-2:]):
                    negative = registered(m, negative, f"negative{n}_{lane}", enable)
                finished[lane] = Mux(instead & negative, turned[lane], finished[lane])

        for lane, (before, value) in enumerate(zip(y, finished, strict=True)):
            table = self._table(m, lane, advance[-1], Cat(before[0], looking.table))
            m.d.comb += self.o.p[lane].eq(Mux(looked_up, table, value))
        return m

    def _clamped(self, m: Module, lane: int, found: Nearest, bounds: Bounds, advance: Signal) -> list[Signal]:
        """A lane's byte after stage 2, and the same a stage later."""
        y = [Signal(signed(8), name=f"y{n}_{lane}") for n in range(2)]
        with m.If(advance[-2]):
            m.d.sync += y[0].eq(bounds.clamped(found))
        with m.If(advance[-1]):
            m.d.sync += y[1].eq(y[0])
        return y

    def _shrunk(self, m: Module, platform: Any, advance: Signal) -> list[Nearest]:
        """Stages 0 and 1: step 6 in each lane, unless lanes take turns at it."""
        r, alpha = list(self.i.p.r), self.i.p.alpha
        if self._turns > 1:
            for n, enable in enumerate(advance[:2]):
                r = [registered(m, value, f"r{n}_{lane}", enable) for lane, value in enumerate(r)]
            return [Nearest(value) for value in r]
        chosen = [(self.i.p.act == Activation.LEAKY.value) & value[15] for value in r]
        if self._config.array_clock > 1:
            return doubled_cascades(platform, halves_of_a_cycle(m)).shrunk(m, r, alpha, chosen, advance[-3])
        kind, enables = cascades_of(platform), Enables(advance[0], advance[0], advance[1])
        return [kind.shrunk(m, value, alpha, chosen[n], enables, str(n)) for n, value in enumerate(r)]

    def _by_turns(self, m: Module, alpha: Value, bounds: Bounds) -> tuple[Value, list[Value]]:
        """When a vector with LEAKY leaves, and the bytes of its lanes below zero; ``alpha`` is there a cycle after the vector,
        ``bounds`` three."""
        turns = self._turns
        comes, take, turn = Signal(), Signal(), Signal(range(turns))
        ago = Signal(turns + LEAKY_STAGES - 1)
        """One came a cycle ago, two cycles, and so on."""
        m.d.comb += [
            comes.eq(self.i.valid & (self.i.p.act == Activation.LEAKY.value)),
            take.eq(comes | (turn != 0)),
        ]
        m.d.sync += ago.eq(Cat(comes, ago))
        with m.If(take):
            m.d.sync += turn.eq(Mux(turn == turns - 1, 0, turn + 1))
        found: list[Value] = []
        for group in range(self._lanes // turns):
            m.submodules[f"leaky_{group}"] = lanes = LeakyLanes(turns)
            m.d.comb += [
                lanes.take.eq(take),
                lanes.turn.eq(turn),
                *(to.eq(self.i.p.r[group * turns + n]) for n, to in enumerate(lanes.r)),
                lanes.alpha.eq(alpha),
                lanes.there.eq(ago[LEAKY_STAGES - 2 :]),
                lanes.least.eq(bounds.least),
                lanes.most.eq(bounds.most),
                lanes.zp.eq(bounds.zp),
            ]
            found += [lanes.y[n] for n in range(turns)]
        return ago[-1], found

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
