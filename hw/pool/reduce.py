"""The arithmetic of POOL, which reduces windows of taps to one value for each pixel and channel."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.cascade import registered
from hw.arithmetic.choice import pick, pick_by_halves
from hw.copies import PINS, Spread
from hw.interfaces import BufferRead, operand_layout
from hw.pool.layouts import param_word, pixel_layout, reduction_layout, tap_word
from hw.pool.step import Step, late
from hw.pool.sums import CONTROL, Sums, WindowSums, tap_delay
from isa.config import MachineConfig
from isa.instructions import PoolMode
from isa.latency import pool_by_turns, pool_latency


class WindowReduce(wiring.Component):
    """Makes the maximum, sum or tap-weighted sum over each window, on ``px_p`` pixels of ``ic_p`` channels at a time.

    It takes one step per cycle: a tap, or up to ``pool_taps`` of them; ``hw/pool/sums.py`` says how they become sums. The
    numbers of parameter words go beside the sums (``by_count``: one more for each tap that counts). A finished window moves to
    a register where it waits, and on to a shadow. From there its ``px_p`` pixels (surplus lanes too) leave ``pool_finish``
    lanes at a time while the next window is summed. ``o`` costs no cycle if windows have at least ``px_p x ic_p / pool_finish``
    steps.

    ::

        last step     sums there    waiting     shadow: part 0 of pixel 0    part 1 ...
        cycle 0 ... pool_latency      + 1                 + 2                  + 3

    ``settings`` are those of the instruction at the input and are taken with its last tap. The stages stall together, by a
    register that decides a cycle ahead: when a finished window may find another one waiting (where windows may leave in every
    cycle: when it does). ``outside`` is high when a tap word beyond the buffer is asked for. Every tap of a step has its own
    read port and its own copy of the memory.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
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
        control = [Signal(CONTROL, name=f"control_{n}") for n in range(pool_latency(self.config))]
        depthwise = Signal()
        take = Signal()
        move = Signal(init=1)
        moves, leaving = self._leave(m, move, control)
        m.d.comb += [
            depthwise.eq(settings.mode == PoolMode.DEPTHWISE.value),
            self.i.ready.eq(self.settings.valid & move),
            self.settings.ready.eq(take & operand.last_of_instruction),
        ]
        takes = Spread(m, take, self.i.valid & self.settings.valid & move, elsewhere=PINS)
        step = Step(self.config, operand, settings, takes, moves)
        param = self._walk_words(m, step, depthwise)

        with m.If(move):
            m.d.sync += control[0].valid.eq(take)
            m.d.sync += [to.eq(source) for source, to in pairwise(control)]
        greatest = settings.mode == PoolMode.MAX.value
        # Where DSPs keep the sums, the greatest byte comes to them by another way, beside products that are 0.
        plain = Mux(greatest, ~0, 0) if pool_by_turns(self.config) else 0
        with m.If(take):
            m.d.sync += [
                control[0].first.eq(operand.first),
                control[0].last.eq(operand.last),
                control[0].last_of_instruction.eq(operand.last_of_instruction),
                control[0].max.eq(greatest),
                control[0].depthwise.eq(depthwise),
                control[0].offset.eq(Mux(depthwise, ~settings.w_zp, plain)),
            ]
        sums = WindowSums(m, self.config, step, [port.data for port in self.taps], control).made(platform)
        self._show(m, leaving, sums, self._params(m, step, control, param))
        return m

    def _walk_words(self, m: Module, step: Step, depthwise: Signal) -> Signal:
        """Asks for the tap words of each operand. Returns the window's first parameter word."""
        operand, settings, take, move = step.operand, step.settings, step.take, step.move
        fresh = Signal(init=1)
        taps, params = tap_word(self.config), param_word(self.config)
        tap, tap_base, tap_next, tap_vector = (Signal(taps.shape, name=f"tap{n}") for n in ("", "_base", "_next", "_vector"))
        param, param_next = (Signal(params.shape, name=name) for name in ("param", "param_next"))
        m.d.comb += [
            tap.eq(Mux(fresh, settings.t_addr, tap_next)),
            tap_base.eq(Mux(fresh, settings.t_addr, tap_vector)),
            param.eq(Mux(fresh, settings.p_addr, param_next)),
            self.outside.eq(take & depthwise & (tap + step.count > self.config.taps_depth)),
        ]
        for n, port in enumerate(self.taps):
            word = (tap + n)[: len(port.addr)]
            asked = late(m, step.moves, Cat(take & depthwise, word), tap_delay(self.config, n), f"asked_{n}")
            m.d.comb += [port.en.eq(asked[0] & move), port.addr.eq(asked[1:])]
        with m.If(take):
            m.d.sync += fresh.eq(operand.last_of_instruction)
            m.d.sync += [tap_next.eq(taps.after(tap, step.count)), tap_vector.eq(tap_base), param_next.eq(param)]
            with m.If(operand.last_of_outer):
                onward = Signal(taps.shape)
                m.d.comb += onward.eq(taps.after(tap_base, settings.t_step))
                m.d.sync += [tap_next.eq(onward), tap_vector.eq(onward), param_next.eq(params.after(param, settings.p_step))]
            with m.Elif(operand.last):
                m.d.sync += tap_next.eq(tap_base)
        return param

    def _params(self, m: Module, step: Step, control: list[Any], base: Signal) -> list[Signal]:
        """The parameter word of every pixel."""
        word = param_word(self.config)
        stages = len(control) - 1
        pixels = range(self.config.px_p)
        several = self.config.pool_taps
        more = [sum((step.word(p, j)[1] & (step.count > j) for j in range(several)), Const(0)) for p in pixels]
        start: Value = base
        counted = [Mux(step.settings.by_count, count, 0) for count in more]
        for stage in range(stages):
            later = Signal(word.shape, name=f"param_start_{stage}", reset_less=True)
            counts = [Signal(several.bit_length(), name=f"more_{p}_{stage}", reset_less=True) for p in pixels]
            with m.If(step.take if stage == 0 else step.move):
                m.d.sync += later.eq(start)
                m.d.sync += [to.eq(count) for to, count in zip(counts, counted, strict=True)]
            start, counted = later, list(counts)
        words = [Signal(word.shape, name=f"param_{p}") for p in pixels]
        with m.If(step.move & control[-2].valid):
            for number, count in zip(words, counted, strict=True):
                m.d.sync += number.eq(word.after(Mux(control[-2].first, start, number), count))
        return words

    def _leave(self, m: Module, move: Signal, control: list[Any]) -> tuple[Spread, _Leaving]:
        """Handles finished windows: the one that waits and the one that leaves. Drives ``move``, which is low while the stages
        stall for them."""
        turns = self.config.px_p * self.config.pool_parts
        left = Signal(turns)
        turn = Signal(range(max(2, turns)))
        waits, waiting_last, last = (Signal(name=name) for name in ("waits", "waiting_last", "last"))
        finished, keep, load, step = (Signal(name=name) for name in ("finished", "keep", "load", "step"))
        keeps = Spread(m, keep, control[-1].valid & control[-1].last & move)
        loads = Spread(m, load, waits & (~left[0] | (self.o.ready & ~left[1:].any())))
        m.d.comb += [
            finished.eq(control[-1].valid & control[-1].last),
            self.o.valid.eq(left[0]),
            self.o.p.last.eq(last & ~left[self.config.pool_parts :].any()),
            step.eq(self.o.valid & self.o.ready),
        ]
        waiting = Signal()
        m.d.comb += waiting.eq(keep | (waits & ~load))
        m.d.sync += waits.eq(waiting)
        if turns == 1:
            moves = Spread(m, move, ~(finished & waits) | load, elsewhere=PINS)
        else:
            finishing = Mux(move, control[-2].valid & control[-2].last, finished)
            moves = Spread(m, move, ~(finishing & waiting), "sync", elsewhere=PINS)
        with m.If(keep):
            m.d.sync += waiting_last.eq(control[-1].last_of_instruction)
        with m.If(load):
            m.d.sync += [left.eq(~0), last.eq(waiting_last)]
        with m.Elif(step):
            m.d.sync += left.eq(left[1:])
        return moves, _Leaving(keeps, loads, Spread(m, turn, Mux(load, 0, turn + step), "sync"))

    def _show(self, m: Module, leaving: _Leaving, sums: Sums, params: list[Signal]) -> None:
        """Shows the pixels that leave, part by part, lane 0 of pixel 0 first."""
        width = self.config.pool_finish
        turns = leaving.turns
        turn = turns.of(PINS // 2)
        parts = []
        for p, (row, param) in enumerate(zip(sums, params, strict=True)):
            shadow: list[Signal] = []
            for n, source in enumerate((*row, param)):
                waiting = registered(m, source, f"waiting_{p}_{n}", leaving.keeps.of(len(source)))
                shadow.append(registered(m, waiting, f"shadow_{p}_{n}", leaving.loads.of(len(source))))
            *shown, word = shadow
            parts += [(n, shown[n * width : (n + 1) * width], word) for n in range(self.config.pool_parts)]
        numbers, values, words = zip(*parts, strict=True)
        m.d.comb += [self.o.p.part.eq(pick(numbers, turn)), self.o.p.param.eq(pick(words, turn))]
        for n, lane in enumerate(zip(*values, strict=True)):
            luts = -(-len(lane) // 4)
            m.d.comb += self.o.p.sums[n].eq(pick_by_halves(lane, turns.of(luts * len(lane[0]))))


@dataclass(frozen=True)
class _Leaving:
    """Says when a finished window begins to wait (``keeps``) and when it moves on to leave (``loads``). ``turns`` is the number
    of its part that leaves now."""

    keeps: Spread
    loads: Spread
    turns: Spread
