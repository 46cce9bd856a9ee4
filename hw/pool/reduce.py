"""The arithmetic of POOL: windows of taps to one value for each pixel and channel."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import BufferRead, operand_layout
from hw.pool.layouts import WORD_BITS, ending_layout, job_layout, pixel_layout
from hw.window.queue import Queue
from isa.config import MachineConfig
from isa.instructions import PoolMode

_PENDING = 4
"""Windows between their last tap's entry and the shadow: three stages, one more for the queue's own latency."""


class WindowReduce(wiring.Component):
    """Maximum, sum, or tap-weighted sum over each window, on ``px_p`` pixels of ``ic_p`` channels at a time.

    One tap per cycle. All modes share the multipliers and adders: MAX and AVERAGE multiply by one, MAX
    replaces where others add. A finished window moves to a shadow register, from which its pixels leave one by
    one while the next window is summed, so ``o`` costs no cycle if windows have at least ``px_p`` taps.

    ====== ==================================================================
    stage  work
    ====== ==================================================================
    0      tap word is asked for, uncounted padding becomes zero
    1      8 x 8 products
    2      accumulation of sums, and of the parameter word (one more per counted tap)
    3      finished: on to the shadow; pixel 0 is offered in the next cycle
    ====== ==================================================================

    ``job`` describes the window at the input and is taken with its last tap. The stages stand still together,
    only when a finished window finds the shadow in use. ``outside`` is high in the cycle that asks for a tap
    word beyond the buffer, in which ``job`` is the offending one.
    """

    def __init__(self, config: MachineConfig) -> None:
        self._config = config
        super().__init__({
            "i": In(stream.Signature(operand_layout(config))),
            "job": In(stream.Signature(job_layout(config))),
            "o": Out(stream.Signature(pixel_layout(config))),
            "taps": Out(BufferRead((config.taps_depth - 1).bit_length(), 8 * config.ic_p)),
            "outside": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        c = self._config
        job = self.job.payload
        depthwise = job.mode == PoolMode.DEPTHWISE.value
        m.submodules.endings = endings = Queue(_parting_layout(c), _PENDING)

        move = Signal()
        take = Signal()
        m.d.comb += [
            take.eq(self.i.valid & self.job.valid & endings.i.ready & move),
            self.i.ready.eq(self.job.valid & endings.i.ready & move),
            self.job.ready.eq(take & self.i.payload.last),
            endings.i.valid.eq(self.job.ready),
        ]
        m.d.comb += [endings.i.payload[name].eq(job[name]) for name in ("used", "address", "last", "ending")]

        tap_next = Signal(WORD_BITS)
        tap = Signal(WORD_BITS)
        m.d.comb += [
            tap.eq(Mux(self.i.payload.first, job.tap, tap_next)),
            self.taps.addr.eq(tap),
            self.taps.en.eq(take & depthwise),
            self.outside.eq(take & depthwise & (tap >= c.taps_depth)),
        ]
        with m.If(take):
            m.d.sync += tap_next.eq(tap + 1)

        control = [Signal(_CONTROL, name=f"control_{n}") for n in range(3)]
        with m.If(move):
            m.d.sync += [control[0].valid.eq(take), control[1].eq(control[0]), control[2].eq(control[1])]
        with m.If(take):
            m.d.sync += [
                control[0].first.eq(self.i.payload.first),
                control[0].last.eq(self.i.payload.last),
                control[0].max.eq(job.mode == PoolMode.MAX.value),
                control[0].depthwise.eq(depthwise),
            ]
        finished = control[2].valid & control[2].last

        sums = self._datapath(m, take, move, control)
        params = self._param_words(m, take, move, control)

        left = Signal(c.px_p)
        offered = Signal()
        load = Signal()
        m.d.comb += [
            offered.eq(left[0]),
            self.o.valid.eq(offered),
            load.eq(finished & (~offered | (self.o.ready & ~left[1:].any()))),
            move.eq(load | ~finished),
            endings.o.ready.eq(load),
        ]
        step = Signal()
        m.d.comb += step.eq(offered & self.o.ready)
        parting = endings.o.payload
        self._shadow(m, load, step, parting, sums, params)
        with m.If(load):
            m.d.sync += left.eq(parting.used)
        with m.Elif(step):
            m.d.sync += left.eq(left[1:])
        last = Signal()
        ending = Signal.like(parting.ending)
        with m.If(load):
            m.d.sync += [last.eq(parting.last), ending.eq(parting.ending)]
        m.d.comb += [self.o.payload.ending.eq(ending), self.o.payload.last.eq(last & ~left[1:].any())]
        return m

    def _datapath(self, m: Module, take: Value, move: Value, control: list[Any]) -> list[list[Signal]]:
        """Stages 0 to 2 for every pixel and channel; the accumulators."""
        c = self._config
        i, job = self.i.payload, self.job.payload
        factors = [Signal(signed(8), name=f"factor_{n}") for n in range(c.ic_p)]
        for n, factor in enumerate(factors):
            m.d.comb += factor.eq(Mux(control[0].depthwise, self.taps.data[8 * n : 8 * n + 8], 1))
        replace = control[1].first | control[1].max
        sums = []
        for p in range(c.px_p):
            blank = Signal(name=f"blank_{p}")
            m.d.comb += blank.eq(job.by_count & ~i.counted[p])
            row = []
            for n in range(c.ic_p):
                x = Signal(signed(8), name=f"x_{p}_{n}")
                product = Signal(signed(16), name=f"product_{p}_{n}")
                total = Signal(signed(32), name=f"sum_{p}_{n}")
                with m.If(take):
                    m.d.sync += x.eq(Mux(blank, 0, i.data[p][8 * n : 8 * n + 8]))
                with m.If(move & control[0].valid):
                    m.d.sync += product.eq(x * factors[n])
                keep = control[1].max & ~control[1].first & (product[:8].as_signed() <= total[:8].as_signed())
                with m.If(move & control[1].valid & ~keep):
                    m.d.sync += total.eq(product + Mux(replace, 0, total))
                row.append(total)
            sums.append(row)
        return sums

    def _param_words(self, m: Module, take: Value, move: Value, control: list[Any]) -> list[Signal]:
        """Stages 0 to 2 for every pixel's parameter word."""
        i, job = self.i.payload, self.job.payload
        start = [Signal(WORD_BITS, name=f"param_start_{n}") for n in range(2)]
        with m.If(take):
            m.d.sync += start[0].eq(job.param)
        with m.If(move & control[0].valid):
            m.d.sync += start[1].eq(start[0])
        words = []
        for p in range(self._config.px_p):
            more = [Signal(name=f"more_{p}_{n}") for n in range(2)]
            word = Signal(WORD_BITS, name=f"param_{p}")
            with m.If(take):
                m.d.sync += more[0].eq(job.by_count & i.counted[p])
            with m.If(move & control[0].valid):
                m.d.sync += more[1].eq(more[0])
            with m.If(move & control[1].valid):
                m.d.sync += word.eq(Mux(control[1].first, start[1], word) + more[1])
            words.append(word)
        return words

    def _shadow(
        self, m: Module, load: Value, step: Value, parting: Any, sums: list[list[Signal]], params: list[Signal]
    ) -> None:
        """Finished pixels, shifted out with lane 0 first."""
        pixels = []
        for p in range(self._config.px_p):
            held = [Signal(signed(32), name=f"shadow_{p}_{n}") for n in range(self._config.ic_p)]
            pixels.append([*held, Signal(WORD_BITS, name=f"shadow_param_{p}"), Signal(24, name=f"shadow_address_{p}")])
        with m.If(load):
            for p, pixel in enumerate(pixels):
                m.d.sync += [to.eq(source) for to, source in zip(pixel, [*sums[p], params[p], parting.address[p]], strict=True)]
        with m.Elif(step):
            for pixel, after in zip(pixels, pixels[1:]):
                m.d.sync += [to.eq(source) for to, source in zip(pixel, after, strict=True)]
        *first, param, address = pixels[0]
        o = self.o.payload
        m.d.comb += [o.sums[n].eq(value) for n, value in enumerate(first)]
        m.d.comb += [o.param.eq(param), o.address.eq(address)]


_CONTROL = data.StructLayout({"valid": 1, "first": 1, "last": 1, "max": 1, "depthwise": 1})


def _parting_layout(config: MachineConfig) -> data.StructLayout:
    """The part of a job that its pixels take along."""
    return data.StructLayout({
        "used": unsigned(config.px_p),
        "address": data.ArrayLayout(24, config.px_p),
        "last": unsigned(1),
        "ending": ending_layout(),
    })
