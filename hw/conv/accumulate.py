"""Output-stationary accumulators, the entries that keep their sums, and the drain."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.adders import Adders, adders_of
from hw.arithmetic.choice import pick
from hw.arithmetic.sums import extended
from hw.conv.array import is_one_less, sum_shape
from hw.conv.entries import asks_for, keep, kept_entries
from hw.conv.sequence import address_bits, beat_flags
from hw.copies import PINS, Spread
from isa.config import MachineConfig


class Accumulate(wiring.Component):
    """Adds the array's sums up, one beat per cycle, and hands finished sums out, ``conv_finish`` at a time, pixel by pixel. It
    never stalls.

    ``beat`` belongs to the sums present in this cycle. ``next`` is the ``beat`` of the next cycle, ``ahead`` that of
    ``READ_AHEAD + 1`` cycles later. A reduction's sums are drained in the ``drain_cycles`` cycles that follow its last beat,
    while the next reduction adds up. So last beats must be that far apart. In the first of these cycles the accumulators
    themselves are still intact; sums that are drained later wait in a shadow register. Each sum gets its pixel's correction
    (``corrections`` belong to the first drain cycle), and the result is shown one cycle later.

    With ``acc_out`` nothing leaves: the sums are written to their entry in the cycle after the last beat.

    ``ask`` is high one cycle before ``valid``: the sums of part ``part`` of a pixel come, and they need parameter word
    ``param``.

    ``last``: this is the last of an instruction. ``stored`` says the same for an ``acc_out`` instruction.

    With ``act16`` sums have 36 bits, and those of ``high`` bytes are worth 256 times as much.
    """

    def __init__(self, config: MachineConfig, drain_cycles: int) -> None:
        self.config = config
        self.drain_cycles = drain_cycles
        c = config
        flags = beat_flags(c)
        super().__init__({
            "sums": In(data.ArrayLayout(data.ArrayLayout(sum_shape(c.ic_p), c.oc_p), c.px_p)),
            "beat": In(flags),
            "next": In(flags),
            "ahead": In(flags),
            "corrections": In(data.ArrayLayout(signed(32), c.px_p)),
            "valid": Out(1),
            "last": Out(1),
            "acc": Out(data.ArrayLayout(signed(c.sum_bits), c.conv_finish)),
            "ask": Out(1),
            "param": Out(address_bits(c.param_depth)),
            "part": Out(range(max(2, c.conv_parts))),
            "stored": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        c = self.config
        count = c.px_p * c.oc_p
        asked = Signal(asks_for(self.ahead).shape())
        writes, entry = kept_entries(m, c, count, Spread(m, asked, asks_for(self.ahead), "sync"), c.sum_bits)

        totals: list[Value] = []
        beat = self.beat.beat
        tells_of = [self.next.valid, self.next.beat.first, *([self.next.beat.high] if c.act16 else [])]
        told = Signal(len(tells_of))
        tells = Spread(m, told, Cat(tells_of), "sync")
        adders = adders_of(platform, c)
        for n in range(count):
            pixel, lane = divmod(n, c.oc_p)
            one_more = is_one_less(c, pixel, lane)
            shown = self.sums[pixel][lane]
            valid, first, *high = tells.of(c.sum_bits)
            if high:
                shown = _worth(shown, high[0], one_more)
            totals.append(adders.running(m, shown, entry[n], first, one_more, valid, f"total_{n}"))

        done = Signal()
        done_beat = Signal.like(beat)
        m.d.sync += [done.eq(self.beat.valid & beat.last), done_beat.eq(beat)]
        stores = Signal()
        m.d.comb += [stores.eq(done & done_beat.acc_out), self.stored.eq(stores & done_beat.last_of_instruction)]
        keep(m, writes, stores, done_beat.entry, totals)
        self._drain(m, adders, totals, done & ~done_beat.acc_out, done_beat.last_of_instruction)
        return m

    def _drain(self, m: Module, adders: Adders, totals: list[Value], done: Value, last: Value) -> None:
        """Shows the finished sums with their corrections, ``conv_finish`` of them in each cycle. The first ones come from the
        accumulators, the others from the shadow."""
        c = self.config
        width, cycles = c.conv_finish, self.drain_cycles
        left = Signal(range(max(2, cycles)))
        ends = Signal()
        shadow = [Signal(signed(c.sum_bits), name=f"shadow_{n}", reset_less=True) for n in range(len(totals) - width)]
        kept = [Signal(signed(32), name=f"correction_{p}", reset_less=True) for p in range(c.px_p)]
        with m.If(done):
            m.d.sync += ends.eq(last)
            m.d.sync += [to.eq(self.corrections[p]) for p, to in enumerate(kept)]
        turns = Spread(m, left, Mux(done, cycles - 1, Mux(left != 0, left - 1, 0)), "sync", elsewhere=PINS)
        fill = Signal()
        fills = Spread(m, fill, self._arriving(), "sync")
        for to, total in zip(shadow, totals[width:], strict=True):
            fills.enable(to, total)
        m.d.sync += [self.valid.eq(done | (left != 0)), self.last.eq(last if cycles == 1 else ends & (left == 1))]
        always = Const(1, 1)
        source = [*totals[:width], *shadow]
        for n in range(width):
            total = Signal(signed(c.sum_bits), name=f"drained_{n}")
            drained_correction = Signal(signed(32), name=f"drained_correction_{n}")
            with m.Switch(turns.of(c.sum_bits)):
                for turn in range(cycles):
                    number = turn * width + n
                    pixel = number // c.oc_p
                    with m.Case((cycles - turn) % cycles):
                        m.d.comb += total.eq(source[number])
                        m.d.comb += drained_correction.eq(kept[pixel] if turn else self.corrections[pixel])
            correction: Value = drained_correction
            if c.act16:
                correction = extended(correction, c.sum_bits).as_signed()
            m.d.comb += self.acc[n].eq(adders.sum(m, correction, total, always, always, f"acc_{n}"))
        self._ask(m, done, left)

    def _ask(self, m: Module, done: Value, left: Signal) -> None:
        """Asks for the parameter records of the sums that are drained in the next cycle. The results are shown a cycle later
        still."""
        c, cycles = self.config, self.drain_cycles
        held = Signal.like(self.param, reset_less=True)
        arriving = self._arriving()
        with m.If(arriving):
            m.d.sync += held.eq(self.beat.beat.param)
        follows = Signal.like(left)
        m.d.comb += follows.eq(Mux(done, cycles - 1, left - 1))
        m.d.sync += [
            self.ask.eq(arriving | (done & (cycles > 1)) | (left > 1)),
            self.param.eq(Mux(arriving, self.beat.beat.param, held)),
            self.part.eq(Mux(arriving, 0, pick([(cycles - n) % c.conv_parts for n in range(cycles)], follows))),
        ]

    def _arriving(self) -> Value:
        """High if the last sums of a reduction that is drained are there in the next cycle."""
        return self.beat.valid & self.beat.beat.last & ~self.beat.beat.acc_out


def _worth(shown: Value, high: Value, one_more: bool) -> Value:
    """A sum of the array, times 256 if it is one of high bytes. If the sum lacks one, the appended bits lack one, too."""
    filled = Const(0xFF if one_more else 0, 8)
    return Mux(high, Cat(filled, shown), extended(shown, len(shown) + 8)).as_signed()
