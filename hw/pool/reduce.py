"""The arithmetic of POOL: windows of taps to one value for each pixel and channel."""

from __future__ import annotations

from amaranth import Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import BufferRead, operand_layout
from hw.pool.layouts import REDUCTION_LAYOUT, WORD_BITS, pixel_layout
from isa.config import MachineConfig
from isa.instructions import PoolMode


class WindowReduce(wiring.Component):
    """Maximum, sum, or tap-weighted sum over each window, on ``px_p`` pixels of ``ic_p`` channels at a time.

    One tap per cycle. All modes share the multipliers and adders: MAX and AVERAGE multiply by one, MAX
    replaces where others add. A finished window moves to a shadow register, from which its ``px_p`` pixels
    (surplus lanes too) leave ``pool_finish`` lanes at a time while the next window is summed: ``o`` costs no cycle if
    windows have at least ``px_p x ic_p / pool_finish`` taps.

    ====== ====================================================================================
    stage  work
    ====== ====================================================================================
    0      tap word is asked for, padding that does not count becomes zero
    1      8 x 8 products
    2      accumulation of sums, and of the parameter word (``by_count``: one more per counted tap)
    3      finished: on to the shadow; the first part of pixel 0 is offered in the next cycle
    ====== ====================================================================================

    ``settings`` are those of the instruction at the input and are taken with its last tap. The stages stand
    still together, only when a finished window finds the shadow in use. ``outside`` is high when a
    tap word beyond the buffer is asked for.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "i": In(stream.Signature(operand_layout(config))),
            "settings": In(stream.Signature(REDUCTION_LAYOUT)),
            "o": Out(stream.Signature(pixel_layout(config))),
            "taps": Out(BufferRead((config.taps_depth - 1).bit_length(), 8 * config.ic_p)),
            "outside": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        operand = self.i.p
        settings = self.settings.p
        depthwise = Signal()
        move = Signal()
        take = Signal()
        m.d.comb += [
            depthwise.eq(settings.mode == PoolMode.DEPTHWISE.value),
            self.i.ready.eq(self.settings.valid & move),
            take.eq(self.i.valid & self.i.ready),
            self.settings.ready.eq(take & operand.last_of_instruction),
        ]
        param = self._walk_words(m, take, depthwise)

        control = [Signal(_CONTROL, name=f"control_{n}") for n in range(3)]
        with m.If(move):
            m.d.sync += [control[0].valid.eq(take), control[1].eq(control[0]), control[2].eq(control[1])]
        with m.If(take):
            m.d.sync += [
                control[0].first.eq(operand.first),
                control[0].last.eq(operand.last),
                control[0].last_of_instruction.eq(operand.last_of_instruction),
                control[0].max.eq(settings.mode == PoolMode.MAX.value),
                control[0].depthwise.eq(depthwise),
            ]
        sums = self._sums(m, take, move, control)
        params = self._params(m, take, move, control, param)

        turns = self.config.px_p * self.config.pool_parts
        left = Signal(turns)
        last = Signal()
        finished = Signal()
        load = Signal()
        step = Signal()
        m.d.comb += [
            finished.eq(control[2].valid & control[2].last),
            self.o.valid.eq(left[0]),
            self.o.p.last.eq(last & ~left[self.config.pool_parts :].any()),
            step.eq(self.o.valid & self.o.ready),
            load.eq(finished & (~left[0] | (step & ~left[1:].any()))),
            move.eq(load | ~finished),
        ]
        turn = Signal(range(max(2, turns)))
        with m.If(load):
            m.d.sync += [left.eq(~0), last.eq(control[2].last_of_instruction), turn.eq(0)]
        with m.Elif(step):
            m.d.sync += [left.eq(left[1:]), turn.eq(turn + 1)]
        self._shadow(m, load, turn, sums, params)
        return m

    def _walk_words(self, m: Module, take: Signal, depthwise: Signal) -> Signal:
        """Asks for the tap word of each operand; returns the window's first parameter word."""
        operand = self.i.p
        settings = self.settings.p
        fresh = Signal(init=1)
        tap, tap_base, tap_next, tap_vector = (Signal(WORD_BITS, name=f"tap{n}") for n in ("", "_base", "_next", "_vector"))
        param, param_next = Signal(WORD_BITS), Signal(WORD_BITS)
        m.d.comb += [
            tap.eq(Mux(fresh, settings.t_addr, tap_next)),
            tap_base.eq(Mux(fresh, settings.t_addr, tap_vector)),
            param.eq(Mux(fresh, settings.p_addr, param_next)),
            self.taps.addr.eq(tap),
            self.taps.en.eq(take & depthwise),
            self.outside.eq(take & depthwise & (tap >= self.config.taps_depth)),
        ]
        with m.If(take):
            m.d.sync += fresh.eq(operand.last_of_instruction)
            m.d.sync += [tap_next.eq(tap + 1), tap_vector.eq(tap_base), param_next.eq(param)]
            with m.If(operand.last_of_outer):
                onward = Signal(WORD_BITS)
                m.d.comb += onward.eq(tap_base + settings.t_step)
                m.d.sync += [tap_next.eq(onward), tap_vector.eq(onward), param_next.eq(param + settings.p_step)]
            with m.Elif(operand.last):
                m.d.sync += tap_next.eq(tap_base)
        return param

    def _sums(self, m: Module, take: Signal, move: Signal, control: list[data.View]) -> list[list[Signal]]:
        """Stages 0 to 2 for every pixel and channel."""
        operand = self.i.p
        factors = []
        for n in range(self.config.ic_p):
            factor = Signal(signed(8), name=f"factor_{n}")
            m.d.comb += factor.eq(Mux(control[0].depthwise, self.taps.data[8 * n : 8 * n + 8], 1))
            factors.append(factor)
        replace = control[1].first | control[1].max
        sums = []
        for p in range(self.config.px_p):
            blank = Signal(name=f"blank_{p}")
            m.d.comb += blank.eq(self.settings.p.by_count & ~operand.counted[p])
            row = []
            for n, factor in enumerate(factors):
                x = Signal(signed(8), name=f"x_{p}_{n}")
                product = Signal(signed(16), name=f"product_{p}_{n}")
                total = Signal(signed(32), name=f"sum_{p}_{n}")
                with m.If(take):
                    m.d.sync += x.eq(Mux(blank, 0, operand.data[p][8 * n : 8 * n + 8]))
                with m.If(move & control[0].valid):
                    m.d.sync += product.eq(x * factor)
                # A maximum and its rivals are single bytes: eight bits tell which is greater.
                keep = control[1].max & ~control[1].first & (product[:8].as_signed() <= total[:8].as_signed())
                with m.If(move & control[1].valid & ~keep):
                    m.d.sync += total.eq(product + Mux(replace, 0, total))
                row.append(total)
            sums.append(row)
        return sums

    def _params(self, m: Module, take: Signal, move: Signal, control: list[data.View], base: Signal) -> list[Signal]:
        """Stages 0 to 2 for every pixel's parameter word."""
        start = [Signal(WORD_BITS, name=f"param_start_{n}") for n in range(2)]
        with m.If(take):
            m.d.sync += start[0].eq(base)
        with m.If(move & control[0].valid):
            m.d.sync += start[1].eq(start[0])
        words = []
        for p in range(self.config.px_p):
            more = [Signal(name=f"more_{p}_{n}") for n in range(2)]
            word = Signal(WORD_BITS, name=f"param_{p}")
            with m.If(take):
                m.d.sync += more[0].eq(self.settings.p.by_count & self.i.p.counted[p])
            with m.If(move & control[0].valid):
                m.d.sync += more[1].eq(more[0])
            with m.If(move & control[1].valid):
                m.d.sync += word.eq(Mux(control[1].first, start[1], word) + more[1])
            words.append(word)
        return words

    def _shadow(self, m: Module, load: Value, turn: Signal, sums: list[list[Signal]], params: list[Signal]) -> None:
        """Finished pixels, shown part by part, lane 0 of pixel 0 first."""
        width = self.config.pool_finish
        parts = []
        for p, (row, param) in enumerate(zip(sums, params, strict=True)):
            shadow = [Signal(signed(32), name=f"shadow_{p}_{n}", reset_less=True) for n in range(len(row))]
            word = Signal(WORD_BITS, name=f"shadow_param_{p}", reset_less=True)
            with m.If(load):
                m.d.sync += [to.eq(source) for to, source in zip((*shadow, word), (*row, param), strict=True)]
            parts += [(n, shadow[n * width : (n + 1) * width], word) for n in range(self.config.pool_parts)]
        with m.Switch(turn):
            for number, (part, values, word) in enumerate(parts):
                with m.Case(number):
                    m.d.comb += [self.o.p.part.eq(part), self.o.p.param.eq(word)]
                    m.d.comb += [self.o.p.sums[n].eq(value) for n, value in enumerate(values)]


_CONTROL = data.StructLayout({"valid": 1, "first": 1, "last": 1, "last_of_instruction": 1, "max": 1, "depthwise": 1})
