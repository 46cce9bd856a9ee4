"""The arithmetic of POOL: windows of taps to one value for each pixel and channel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.cascade import Cascades, Pair, cascades_of
from hw.arithmetic.choice import pick
from hw.arithmetic.packing import GAP, SEED, unpack
from hw.arithmetic.sums import chosen_sum, extended
from hw.interfaces import BufferRead, operand_layout
from hw.pool.layouts import param_word, pixel_layout, reduction_layout, sum_shape, tap_word
from isa.config import MachineConfig
from isa.instructions import PoolMode
from isa.latency import pool_latency


class WindowReduce(wiring.Component):
    """Maximum, sum, or tap-weighted sum over each window, on ``px_p`` pixels of ``ic_p`` channels at a time.

    One step per cycle: a tap, or up to ``pool_taps`` of them. All modes share the multipliers and adders: MAX and AVERAGE
    multiply by one, MAX (one tap in a step) replaces where others add. A finished window moves to a shadow register, from
    which its ``px_p`` pixels (surplus lanes too) leave ``pool_finish`` lanes at a time while the next window is summed:
    ``o`` costs no cycle if windows have at least ``px_p x ic_p / pool_finish`` steps.

    ====== ====================================================================================
    stage  work
    ====== ====================================================================================
    0      tap words are asked for, padding that does not count and taps that are none become zero
    1      bytes and factors, side by side: the taps come late from their memory
    2      8 x 9 products; with ``dsp_packing`` two pixels share a multiplier
    3      products of a step are added (only with several taps)
    last   accumulation of sums, and of the parameter word (``by_count``: one more per counted tap)
    after  finished: on to the shadow; the first part of pixel 0 is offered in the next cycle
    ====== ====================================================================================

    With ``dsp_packing`` stages 1 to 3 are a cascade of DSPs over the taps (``hw/arithmetic/cascade.py``), each for two pixels:
    operands, products, and a sum for each tap; the bytes and the factors of tap ``n`` are ``n`` cycles late.

    ``settings`` are those of the instruction at the input and are taken with its last tap. The stages stand
    still together, only when a finished window finds the shadow in use. ``outside`` is high when a
    tap word beyond the buffer is asked for. Every tap of a step has a read port, and a copy of the memory, of its own.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.taps_at_once = config.pool_taps
        super().__init__({
            "i": In(stream.Signature(operand_layout(config, config.pool_taps))),
            "settings": In(stream.Signature(reduction_layout(config))),
            "o": Out(stream.Signature(pixel_layout(config))),
            "taps": Out(BufferRead((config.taps_depth - 1).bit_length(), 8 * config.ic_p)).array(config.pool_taps),
            "outside": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
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
        param = self._walk_words(m, take, move, depthwise)

        control = [Signal(_CONTROL, name=f"control_{n}") for n in range(pool_latency(self.config))]
        with m.If(move):
            m.d.sync += control[0].valid.eq(take)
            m.d.sync += [to.eq(source) for source, to in pairwise(control)]
        with m.If(take):
            m.d.sync += [
                control[0].first.eq(operand.first),
                control[0].last.eq(operand.last),
                control[0].last_of_instruction.eq(operand.last_of_instruction),
                control[0].max.eq(settings.mode == PoolMode.MAX.value),
                control[0].depthwise.eq(depthwise),
                control[0].offset.eq(Mux(depthwise, ~settings.w_zp, 0)),
            ]
        sums = self._sums(m, cascades_of(platform), take, move, control)
        params = self._params(m, take, move, control, param)

        turns = self.config.px_p * self.config.pool_parts
        left = Signal(turns)
        last = Signal()
        finished = Signal()
        load = Signal()
        step = Signal()
        m.d.comb += [
            finished.eq(control[-1].valid & control[-1].last),
            self.o.valid.eq(left[0]),
            self.o.p.last.eq(last & ~left[self.config.pool_parts :].any()),
            step.eq(self.o.valid & self.o.ready),
            load.eq(finished & (~left[0] | (step & ~left[1:].any()))),
            move.eq(load | ~finished),
        ]
        turn = Signal(range(max(2, turns)))
        with m.If(load):
            m.d.sync += [left.eq(~0), last.eq(control[-1].last_of_instruction), turn.eq(0)]
        with m.Elif(step):
            m.d.sync += [left.eq(left[1:]), turn.eq(turn + 1)]
        self._shadow(m, load, turn, sums, params)
        return m

    def _count(self) -> Value:
        """Taps of the step at the input."""
        return self.i.p.count if self.taps_at_once > 1 else Const(1)

    def _walk_words(self, m: Module, take: Signal, move: Signal, depthwise: Signal) -> Signal:
        """Asks for the tap words of each operand; returns the window's first parameter word."""
        operand = self.i.p
        settings = self.settings.p
        fresh = Signal(init=1)
        taps, params = tap_word(self.config), param_word(self.config)
        tap, tap_base, tap_next, tap_vector = (Signal(taps.shape, name=f"tap{n}") for n in ("", "_base", "_next", "_vector"))
        param, param_next = Signal(params.shape), Signal(params.shape)
        m.d.comb += [
            tap.eq(Mux(fresh, settings.t_addr, tap_next)),
            tap_base.eq(Mux(fresh, settings.t_addr, tap_vector)),
            param.eq(Mux(fresh, settings.p_addr, param_next)),
            self.outside.eq(take & depthwise & (tap + self._count() > self.config.taps_depth)),
        ]
        for n, port in enumerate(self.taps):
            word = (tap + n)[: len(port.addr)]
            asked = self._late(m, move, Cat(take & depthwise, word), self._delay(n), f"asked_{n}")
            m.d.comb += [port.en.eq(asked[0] & move), port.addr.eq(asked[1:])]
        with m.If(take):
            m.d.sync += fresh.eq(operand.last_of_instruction)
            m.d.sync += [tap_next.eq(taps.after(tap, self._count())), tap_vector.eq(tap_base), param_next.eq(param)]
            with m.If(operand.last_of_outer):
                onward = Signal(taps.shape)
                m.d.comb += onward.eq(taps.after(tap_base, settings.t_step))
                m.d.sync += [tap_next.eq(onward), tap_vector.eq(onward), param_next.eq(params.after(param, settings.p_step))]
            with m.Elif(operand.last):
                m.d.sync += tap_next.eq(tap_base)
        return param

    def _words(self, p: int, j: int) -> tuple[Value, Value]:
        """Tap ``j`` of pixel ``p``: its word, and whether it is not padding; see ``WindowGenerator``."""
        operand, lanes = self.i.p, self.config.px_p
        apart = p + j * lanes
        if j == 0 or apart == p + j:
            return operand.data[p + j], operand.counted[p + j]
        if j > 1 or apart >= lanes + self.taps_at_once - 1:
            return operand.data[p + j], operand.counted[p + j]
        return (
            Mux(operand.side_by_side, operand.data[p + j], operand.data[apart]),
            Mux(operand.side_by_side, operand.counted[p + j], operand.counted[apart]),
        )

    def _inputs(self, m: Module, take: Signal, p: int, j: int) -> list[Signal]:
        """The bytes of a tap, zero where it does not count."""
        word, counted = self._words(p, j)
        clear = Signal(name=f"clear_{p}_{j}")
        m.d.comb += clear.eq(take & ((self.settings.p.by_count & ~counted) | (self._count() <= j)))
        x = [Signal(signed(8), name=f"x_{p}_{j}_{n}", reset_less=True) for n in range(self.config.ic_p)]
        with m.If(take):
            m.d.sync += [byte.eq(word[8 * n : 8 * n + 8]) for n, byte in enumerate(x)]
        with m.If(clear):
            m.d.sync += [byte.eq(0) for byte in x]
        return x

    def _factors(self, m: Module, j: int, control: data.View) -> list[Signal]:
        """What tap ``j`` of each channel is multiplied by: the tap less ``w_zp``, or one (less one, as ``offset``)."""
        factors = [Signal(signed(9), name=f"factor_{j}_{n}") for n in range(self.config.ic_p)]
        for n, factor in enumerate(factors):
            tap = self.taps[j].data[8 * n : 8 * n + 8] & control.depthwise.replicate(8)
            m.d.comb += factor.eq(control.offset - ~tap.as_signed())
        return factors

    def _sums(
        self, m: Module, kind: Cascades, take: Signal, move: Signal, control: list[data.View]
    ) -> list[list[Signal]]:
        """The sums of every pixel and channel."""
        c = self.config
        taps = range(self.taps_at_once)
        factors = [self._factors(m, j, control[self._delay(j)]) for j in taps]
        x = [[self._inputs(m, take, p, j) for j in taps] for p in range(c.px_p)]
        shape = sum_shape(c)
        sums = [[Signal(shape, name=f"sum_{p}_{n}", reset_less=True) for n in range(c.ic_p)] for p in range(c.px_p)]
        add_up = self._cascades(m, kind, move, x, factors) if c.dsp_packing else self._trees(m, move, control, x, factors)
        for p, n, value, lacks_one in add_up:
            self._accumulate(m, move & control[-2].valid, control[-2], value, sums[p][n], lacks_one=lacks_one)
        return sums

    def _trees(
        self, m: Module, move: Signal, control: list[data.View], x: list[list[list[Signal]]], factors: list[list[Signal]]
    ) -> Iterator[tuple[int, int, Value, bool]]:
        """The sum of a step's products for each pixel and channel; none lacks one."""
        held = [[self._late(m, move, f, 1, f"factor_{j}_{n}") for n, f in enumerate(own)] for j, own in enumerate(factors)]
        for p, pixel in enumerate(x):
            for n in range(self.config.ic_p):
                late = [self._late(m, move, taps[n], 1, f"x_{p}_{j}_{n}") for j, taps in enumerate(pixel)]
                products = [byte * factor[n] for byte, factor in zip(late, held, strict=True)]
                yield p, n, self._step(m, move, control, products, f"{p}_{n}"), False

    def _cascades(
        self, m: Module, kind: Cascades, move: Signal, x: list[list[list[Signal]]], factors: list[list[Signal]]
    ) -> Iterator[tuple[int, int, Value, bool]]:
        """The same along cascades; the low one of two pixels that are packed lacks one."""
        taps = range(self.taps_at_once)
        more = (self.taps_at_once - 1).bit_length()
        shared = [[kind.operand(m, f, f"factor_{j}_{n}", move) for n, f in enumerate(factors[j])] for j in taps]
        late = [
            [[self._late(m, move, byte, self._delay(j), f"x_{p}_{j}_{n}") for n, byte in enumerate(pixel[j])] for j in taps]
            for p, pixel in enumerate(x)
        ]
        for p in range(0, self.config.px_p, 2):
            pair = p + 1 < self.config.px_p
            for n in range(self.config.ic_p):
                name = f"{p}_{n}"
                bytes_ = [Pair(late[p + 1][j][n], late[p][j][n]) if pair else late[p][j][n] for j in taps]
                operands = [(kind.operand(m, byte, f"wide_{name}_{j}", move), shared[j][n]) for j, byte in enumerate(bytes_)]
                total = kind.chain(m, operands, SEED if pair else 0, (GAP if pair else 0) + 17 + more, name, move)
                if pair:
                    high, low = unpack(total)
                    yield p + 1, n, high, False
                    yield p, n, low, True
                else:
                    yield p, n, total, False

    def _delay(self, tap: int) -> int:
        """Cycles by which a tap's DSP works later than the first."""
        return tap if self.config.dsp_packing else 0

    def _late(self, m: Module, move: Signal, value: Value, cycles: int, name: str) -> Value:
        for cycle in range(cycles):
            later = Signal(value.shape(), name=f"{name}_later_{cycle}", reset_less=True)
            with m.If(move):
                m.d.sync += later.eq(value)
            value = later
        return value

    def _step(self, m: Module, move: Signal, control: list[data.View], products: list[Value], name: str) -> Value:
        """The registered products of a step, added if there are several."""
        held = [Signal(product.shape(), name=f"product_{name}_{j}", reset_less=True) for j, product in enumerate(products)]
        with m.If(move & control[1].valid):
            m.d.sync += [to.eq(product) for to, product in zip(held, products, strict=True)]
        if len(held) == 1:
            return held[0]
        total = reduce(add, held)
        step = Signal(total.shape(), name=f"step_{name}", reset_less=True)
        with m.If(move & control[2].valid):
            m.d.sync += step.eq(total)
        return step

    def _accumulate(
        self, m: Module, now: Value, control: data.View, value: Value, total: Signal, *, lacks_one: bool
    ) -> None:
        """``value`` is a step of a pixel's channel. A maximum and its rivals are bytes: few bits tell which is greater."""
        kept = total[:8].as_signed()
        lower = value[:9].as_signed() < kept if lacks_one else value[:8].as_signed() <= kept
        keep = control.max & ~control.first & lower
        before = Mux(control.first | control.max, 0, total)
        with m.If(now & ~keep):
            m.d.sync += total.eq(chosen_sum(extended(value, len(total)), before, int(lacks_one)))

    def _params(self, m: Module, take: Signal, move: Signal, control: list[data.View], base: Signal) -> list[Signal]:
        """Every pixel's parameter word."""
        word = param_word(self.config)
        stages = len(control) - 1
        pixels = range(self.config.px_p)
        more = [
            sum((self._words(p, j)[1] & (self._count() > j) for j in range(self.taps_at_once)), Const(0)) for p in pixels
        ]
        start: Value = base
        counted = [Mux(self.settings.p.by_count, count, 0) for count in more]
        for stage in range(stages):
            later = Signal(word.shape, name=f"param_start_{stage}", reset_less=True)
            counts = [Signal(self.taps_at_once.bit_length(), name=f"more_{p}_{stage}", reset_less=True) for p in pixels]
            with m.If(take if stage == 0 else move):
                m.d.sync += later.eq(start)
                m.d.sync += [to.eq(count) for to, count in zip(counts, counted, strict=True)]
            start, counted = later, list(counts)
        words = [Signal(word.shape, name=f"param_{p}") for p in pixels]
        with m.If(move & control[-2].valid):
            for number, count in zip(words, counted, strict=True):
                m.d.sync += number.eq(word.after(Mux(control[-2].first, start, number), count))
        return words

    def _shadow(self, m: Module, load: Value, turn: Signal, sums: list[list[Signal]], params: list[Signal]) -> None:
        """Finished pixels, shown part by part, lane 0 of pixel 0 first."""
        width = self.config.pool_finish
        parts = []
        for p, (row, param) in enumerate(zip(sums, params, strict=True)):
            shadow = [Signal(total.shape(), name=f"shadow_{p}_{n}", reset_less=True) for n, total in enumerate(row)]
            word = Signal(param.shape(), name=f"shadow_param_{p}", reset_less=True)
            with m.If(load):
                m.d.sync += [to.eq(source) for to, source in zip((*shadow, word), (*row, param), strict=True)]
            parts += [(n, shadow[n * width : (n + 1) * width], word) for n in range(self.config.pool_parts)]
        numbers, values, words = zip(*parts, strict=True)
        m.d.comb += [self.o.p.part.eq(pick(numbers, turn)), self.o.p.param.eq(pick(words, turn))]
        m.d.comb += [self.o.p.sums[n].eq(pick(lane, turn)) for n, lane in enumerate(zip(*values, strict=True))]


_CONTROL = data.StructLayout({
    "valid": 1, "first": 1, "last": 1, "last_of_instruction": 1, "max": 1, "depthwise": 1, "offset": signed(9),
})  # fmt: skip
