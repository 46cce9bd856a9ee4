"""Makes the correction of each sum for the weights' zero-point: the zero-point times the sum of the window's inputs.

``sum x (w - z) = sum x w - z sum x``, and ``sum x`` is one number per pixel for all output lanes. So the array multiplies the
weights as they are stored. The correction costs one adder tree and one multiplier for each pixel lane, and one addition where
sums are drained.
"""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.conv.entries import asks_for, keep, kept_entries
from hw.conv.sequence import beat_flags
from hw.conv.tree import add_tree
from hw.copies import Spread
from isa.config import MachineConfig
from isa.latency import array_latency, tree_stages

_LOW = 26
"""The bits of a sum that one 27 x 18 multiplier takes. The product of the others ends above bit 26."""


_BY_TURNS = 3
_TURN = 17
"""The bits of a sum that an 18 x 18 multiplier takes, with a sign."""


def takes_turns(config: MachineConfig) -> bool:
    """True if one 18 x 18 multiplier makes the product in two cycles. It does where others are not packed and there is time:
    drains take more than one cycle, and the array takes at least ``_BY_TURNS``, because its beats are looked at ``READ_AHEAD``
    cycles before their sums come."""
    leaves_time = config.px_p * config.oc_p > config.conv_finish and array_latency(config) >= _BY_TURNS
    return not config.dsp_packing and leaves_time


def latency(config: MachineConfig) -> int:
    """The cycles from a reduction's last beat to its corrections: one for the sum and one for the product, or one for each half
    of it."""
    return _BY_TURNS if takes_turns(config) else 2


class WindowSum(wiring.Component):
    """``corrections[p] = -w_zp * sum x[p][i]`` over all input lanes and beats of a reduction, modulo 2^32.

    ``beat`` belongs to the ``x`` of ``delay`` cycles ago, and ``ahead`` is the beat that comes ``READ_AHEAD`` cycles after it.
    The sums are kept with the accumulator entries: ``acc_in`` starts from them, and ``acc_out`` stores them without a
    correction. ``corrections`` are valid ``latency`` cycles after a last beat that drains. It never stalls.
    """

    def __init__(self, config: MachineConfig, delay: int) -> None:
        assert delay >= tree_stages(config.ic_p), f"the sum of {config.ic_p} inputs takes longer than {delay} cycles"
        self.config = config
        self.delay = delay
        c = config
        super().__init__({
            "x": In(data.ArrayLayout(data.ArrayLayout(signed(8), c.ic_p), c.px_p)),
            "beat": In(beat_flags(c)),
            "ahead": In(beat_flags(c)),
            "corrections": Out(data.ArrayLayout(signed(32), c.px_p)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        asked = Signal(asks_for(self.ahead).shape())
        writes, entry = kept_entries(m, c, c.px_p, Spread(m, asked, asks_for(self.ahead)))

        beat = self.beat.beat
        stores = Signal()
        stored = Signal.like(beat.entry)
        factor = Signal(signed(9), reset_less=True)
        ends = self.beat.valid & beat.last
        drains = ends & ~beat.acc_out
        m.d.sync += [stores.eq(ends & beat.acc_out), stored.eq(beat.entry)]
        with m.If(drains):
            m.d.sync += factor.eq(-beat.w_zp)
        second = Signal()
        if takes_turns(c):
            first = Signal()
            m.d.sync += [first.eq(drains), second.eq(first)]
        totals = []
        for p in range(c.px_p):
            inputs = add_tree(m, list(self.x[p]), f"inputs_{p}")
            for n in range(self.delay - tree_stages(c.ic_p)):
                later = Signal(inputs.shape(), name=f"inputs_{p}_later_{n}", reset_less=True)
                m.d.sync += later.eq(inputs)
                inputs = later
            total = Signal(signed(32), name=f"total_{p}", reset_less=True)
            with m.If(self.beat.valid):
                m.d.sync += total.eq(inputs + Mux(beat.first, entry[p], total))
            totals.append(total)
            product = self._in_turns(m, p, total, factor, second) if takes_turns(c) else self._at_once(m, p, total, factor)
            m.d.comb += self.corrections[p].eq(product)
        keep(m, writes, stores, stored, totals)
        return m

    def _at_once(self, m: Module, p: int, total: Signal, factor: Signal) -> Value:
        low = Signal(signed(_LOW + 9), name=f"low_{p}", reset_less=True)
        high = Signal(32 - _LOW, name=f"high_{p}", reset_less=True)
        m.d.sync += [low.eq(total[:_LOW] * factor), high.eq(total[_LOW:] * factor)]
        return Cat(low[:_LOW], (low[_LOW:32] + high)[: 32 - _LOW])

    def _in_turns(self, m: Module, p: int, total: Signal, factor: Signal, second: Signal) -> Value:
        """The product in two cycles, the low part first. By the ``second`` cycle the sum may already be that of the next
        window."""
        rest = Signal(signed(32 - _TURN), name=f"rest_{p}", reset_less=True)
        part = Signal(signed(_TURN + 1), name=f"part_{p}")
        product = Signal(signed(_TURN + 9), name=f"product_{p}", reset_less=True)
        before = Signal.like(product, name=f"before_{p}", reset_less=True)
        m.d.comb += part.eq(Mux(second, rest, total[:_TURN]))
        m.d.sync += [rest.eq(total[_TURN:]), product.eq(part * factor), before.eq(product)]
        return Cat(before[:_TURN], (before[_TURN:].as_signed() + product)[: 32 - _TURN])
