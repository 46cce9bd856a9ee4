"""Reads the program ahead of the dispatcher and cuts it into words."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.choice import pick
from hw.axi.credits import Credits
from hw.axi.signature import AxiRead
from hw.buffers.fifo import RamFifo
from hw.control.dispatch import FETCHED_LAYOUT
from isa.config import MachineConfig
from isa.depths import fetch_beats


class Fetch(wiring.Component):
    """Emits the program's words in order, from the first one on, after ``start``.

    Two bursts at most are on their way or wait in the prefetch queue. A burst is asked for only when the queue has room for all
    of it, so R is never held up. Bursts end at multiples of their size, so they never cross 4 KB.

    AR comes three cycles after ``start``, and a beat's first word three cycles after the beat. One word per cycle follows,
    which stalls while the reader refuses it. The reader takes a word into a register. The last beat may bring words from behind
    the program; the dispatcher knows the length and leaves them.

    ``stop`` asks for no further burst; ``idle`` is high when none is under way. A new program needs a reset.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.burst = fetch_beats(config)
        super().__init__({
            "start": In(1),
            "program": In(config.axi_addr_bits),
            "program_words": In(32),
            "words": Out(stream.Signature(FETCHED_LAYOUT)),
            "stop": In(1),
            "idle": Out(1),
            "bus": Out(AxiRead(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        words_per_beat = self.config.axi_bytes // 4
        depth = 2 * self.burst
        beat_shift = (self.config.axi_bytes - 1).bit_length()
        m.submodules.queue = queue = RamFifo(self.config, width=self.config.axi_data_bits + 1, depth=depth)

        beat_addr = Signal(self.config.axi_addr_bits - beat_shift)
        left = Signal(range((1 << 32) // words_per_beat + 1))
        m.submodules.taken = taken = Credits(depth, step=self.burst)
        m.submodules.outstanding = outstanding = Credits(depth, step=self.burst)
        ar, r = self.bus.ar, self.bus.r

        size = Signal(range(self.burst + 1))
        """The beats of the next burst; 0 in the cycle after the counters were set. The counters rest in the cycle in which AR
        is shown."""
        asks = Signal()
        """``size`` is not 0."""
        to_boundary = self.burst - beat_addr % self.burst
        few = len(size)
        m.d.sync += [size.eq(Mux(~left[few:].any() & (left[:few] < to_boundary), left, to_boundary)), asks.eq(left.any())]
        issue = Signal()
        m.d.comb += issue.eq(~ar.valid & ~self.stop & asks & (taken.out <= depth - self.burst))
        with m.If(self.start):
            m.d.sync += [
                beat_addr.eq(self.program[beat_shift:]),
                left.eq((self.program_words + (words_per_beat - 1)) >> (words_per_beat - 1).bit_length()),
            ]
        with m.Elif(issue):
            m.d.sync += [
                ar.valid.eq(1),
                ar.payload.addr.eq(beat_addr << beat_shift),
                ar.payload.len.eq(size - 1),
                beat_addr.eq(beat_addr + size),
                left.eq(left - size),
            ]
        with m.If(ar.valid & ar.ready):
            m.d.sync += ar.valid.eq(0)

        leaves = Signal()
        issued = Mux(issue, size, 0)
        m.d.comb += [
            r.ready.eq(queue.w_rdy),
            queue.w_en.eq(r.valid),
            queue.w_data.eq(Cat(r.payload.data, r.payload.error)),
            taken.take.eq(issued),
            taken.give.eq(leaves),
            outstanding.take.eq(issued),
            outstanding.give.eq(r.valid & r.ready),
            self.idle.eq((outstanding.out == 0) & ~ar.valid),
        ]
        self._cut(m, queue, leaves, words_per_beat)
        return m

    def _cut(self, m: Module, queue: RamFifo, leaves: Signal, words_per_beat: int) -> None:
        """Cuts the beats of the queue into words. A beat leaves the queue with its last word."""
        beat = queue.r_data[:-1]
        position = Signal(range(words_per_beat))
        m.d.comb += [
            self.words.valid.eq(queue.r_rdy),
            self.words.payload.word.eq(pick([beat[n : n + 32] for n in range(0, len(beat), 32)], position)),
            self.words.payload.error.eq(queue.r_data[-1]),
            queue.r_en.eq(leaves),
        ]
        # This has a module of its own, because the queue's counts depend on it.
        m.submodules.cut = cut = Module()
        cut.d.comb += leaves.eq(queue.r_rdy & self.words.ready & (position == words_per_beat - 1))
        m.d.sync += position.eq(position + (self.words.valid & self.words.ready))
