"""Output-stationary accumulators, the entries they can be kept in, and the drain."""

from __future__ import annotations

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from hw.conv.array import is_one_less, sum_shape
from hw.conv.sequence import beat_flags
from isa.config import MachineConfig

READ_AHEAD = 2
"""Cycles by which ``ahead`` runs before ``beat``: entry memory, then its register."""


class Accumulate(wiring.Component):
    """Adds the array's sums up, one beat per cycle, and hands finished sums out ``post_px`` pixels at a time.

    ``beat`` belongs to the sums present in this cycle, ``ahead`` is the beat that comes ``READ_AHEAD``
    cycles later. A reduction's sums are drained in the ``drain_cycles`` cycles that follow its last beat, while
    the next reduction adds up: last beats must be that far apart. With one drain cycle the accumulators
    themselves are still intact in that cycle; with more, the sums wait in a shadow register. From each sum its pixel's
    correction is taken (``corrections`` belong to the first drain cycle), and what is left is shown one cycle later.
    With ``acc_out`` nothing leaves: the sums are written to their entry in the cycle after the last beat.

    ``last``: this is the last of an instruction; ``stored`` says the same for an ``acc_out`` instruction.
    """

    def __init__(self, config: MachineConfig, drain_cycles: int) -> None:
        self.config = config
        self.drain_cycles = drain_cycles
        c = config
        flags = beat_flags(c)
        super().__init__({
            "sums": In(data.ArrayLayout(data.ArrayLayout(sum_shape(c.ic_p), c.oc_p), c.px_p)),
            "beat": In(flags),
            "ahead": In(flags),
            "corrections": In(data.ArrayLayout(signed(32), c.px_p)),
            "valid": Out(1),
            "last": Out(1),
            "acc": Out(data.ArrayLayout(signed(32), c.post_px * c.oc_p)),
            "stored": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        count = c.px_p * c.oc_p
        entries = data.ArrayLayout(signed(32), count)
        m.submodules.entries = storage = memory.Memory(shape=entries, depth=c.acc_depth, init=[])
        read = storage.read_port()
        write = storage.write_port()
        entry = Signal(entries, reset_less=True)
        use = Signal()
        m.d.comb += [
            read.en.eq(self.ahead.valid & self.ahead.beat.first & self.ahead.beat.acc_in),
            read.addr.eq(self.ahead.beat.entry),
        ]
        m.d.sync += use.eq(read.en)
        with m.If(use):
            m.d.sync += entry.eq(read.data)
        with m.Else():
            m.d.sync += entry.eq(0)

        totals = []
        beat = self.beat.beat
        for n in range(count):
            total = Signal(signed(32), name=f"total_{n}", reset_less=True)
            with m.If(self.beat.valid):
                m.d.sync += total.eq(self._added(*divmod(n, c.oc_p), Mux(beat.first, entry[n], total)))
            totals.append(total)

        done = Signal()
        done_beat = Signal.like(beat)
        m.d.sync += [done.eq(self.beat.valid & beat.last), done_beat.eq(beat)]
        m.d.comb += [
            write.en.eq(done & done_beat.acc_out),
            write.addr.eq(done_beat.entry),
            self.stored.eq(done & done_beat.acc_out & done_beat.last_of_instruction),
        ]
        m.d.comb += [write.data[n].eq(total) for n, total in enumerate(totals)]
        self._drain(m, totals, done & ~done_beat.acc_out, done_beat.last_of_instruction)
        return m

    def _added(self, pixel: int, lane: int, before: Value) -> Value:
        """With the sum that the array shows now."""
        shown = self.sums[pixel][lane]
        return before - ~shown if is_one_less(self.config, pixel, lane) else before + shown

    def _drain(self, m: Module, totals: list[Signal], done: Signal, last: Signal) -> None:
        """Show the finished sums without their corrections, ``post_px`` pixels in each cycle."""
        c = self.config
        drained = [
            Cat(self.corrections[p], *totals[p * c.oc_p : (p + 1) * c.oc_p]) for p in range(c.px_p)
        ]  # fmt: skip
        valid, ends = done, last
        if self.drain_cycles > 1:
            shadow = [Signal(len(pixel), name=f"shadow_{p}", reset_less=True) for p, pixel in enumerate(drained[c.post_px :])]
            left = Signal(range(self.drain_cycles))
            was_last = Signal()
            with m.If(done):
                m.d.sync += [left.eq(self.drain_cycles - 1), was_last.eq(last)]
                m.d.sync += [s.eq(pixel) for s, pixel in zip(shadow, drained[c.post_px :], strict=True)]
            with m.Elif(left != 0):
                m.d.sync += left.eq(left - 1)
                m.d.sync += [s.eq(pixel) for s, pixel in zip(shadow, shadow[c.post_px :], strict=False)]
            valid, ends = done | (left != 0), was_last & (left == 1)
            later = [*shadow, *[Const(0, len(drained[0]))] * c.post_px][: c.post_px]
            drained = [Mux(done, pixel, waiting) for pixel, waiting in zip(drained[: c.post_px], later, strict=True)]
        m.d.sync += [self.valid.eq(valid), self.last.eq(ends)]
        for p, pixel in enumerate(drained):
            correction, *sums = (pixel.word_select(n, 32).as_signed() for n in range(1 + c.oc_p))
            m.d.sync += [self.acc[p * c.oc_p + o].eq(total - correction) for o, total in enumerate(sums)]
