"""Finds where words begin and end in the chunks of their segment, and when each may be cut."""

from __future__ import annotations

from typing import Any

from amaranth import C, Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.arithmetic.choice import pick
from hw.arithmetic.small import summed
from hw.arithmetic.sums import chosen_sum
from hw.interfaces import TICKET_BITS
from hw.move.ring import flags_of
from hw.move.rotator import cut_layout
from hw.move.words import word_layout
from isa.config import MachineConfig


def cut_context(config: MachineConfig) -> data.StructLayout:
    """The context that LOAD sends along with the words of a transfer.

    ``window``: pixels overlap and are ``step`` bytes apart. ``apart``: every pixel is a segment of its own; otherwise every row
    is one. ``empty``: there are no chunks, and all is fill.
    """
    return data.StructLayout({
        "ticket": unsigned(TICKET_BITS),
        "fill": unsigned(8),
        "window": unsigned(1),
        "step": unsigned(config.window_bytes.bit_length()),
        "apart": unsigned(1),
        "empty": unsigned(1),
    })


def cut_word_layout(config: MachineConfig) -> data.StructLayout:
    """A word of LOAD. ``steps``: it ends a pixel of a window, and the next pixel begins ``step`` bytes behind the start of this
    one."""
    return data.StructLayout({**word_layout(config, cut_context(config)).members, "steps": unsigned(1)})


def position_bits(config: MachineConfig) -> int:
    """The bits of a position among the chunks of a ring, in bytes from the first byte of chunk 0."""
    return (config.axi_bytes + max(config.window_bytes, config.ic_p) + config.ic_p).bit_length()


STATES = ("begin", "first", "within", "spent", "purge")


class SegmentMachine(wiring.Component):
    """Cuts one word per cycle, in the states ``first``, ``within`` and ``spent``, as soon as the word's chunks are there. It
    stalls ``words`` until then.

    ``base`` is the first byte still wanted, ``start`` the first byte of the next word and ``reach`` its last byte. ``base`` and
    ``start`` differ within an overlapping pixel, which stays until it is passed::

        chunk      0               1               2
        bytes      . . . . . b . . | . . s s s s s s | s s . .      b: base, s: the word from start to reach

    ======  ====================================================================================================
    begin   waits for a word and for the first chunk of its segment, where ``base`` begins
    first   the same, both are there: the positions are right
    within  chunks of the segment are used; a chunk is dropped when ``base`` has passed it
    spent   the segment has no chunk any more, or never had one: all further bytes of its words are fill
    purge   the last word was cut; the other chunks of its segment are dropped, one per cycle
    ======  ====================================================================================================

    A state is a bit (``STATES``), because the arrival of a word is known last. The next state is computed for a word that is
    cut and for none, and one multiplexer chooses. A word's ``reach`` is computed a cycle before it is used, from ``next_more``.

    ``cut`` describes the word that is cut, without latency. Nothing is cut while ``advance`` is low. ``error`` strobes, with
    ``error_ticket``, when a chunk that DRAM reported as bad is dropped. ``starved``: a word waits for chunks.
    """

    def __init__(self, config: MachineConfig, depth: int) -> None:
        """``depth`` is that of the ring."""
        self.config = config
        flags = flags_of(config)
        self.position = unsigned(position_bits(config))
        super().__init__({
            "words": In(stream.Signature(cut_word_layout(config))),
            "next_more": In(word_layout(config, 0)["more"].shape),
            "present": In(depth),
            "arrived": In(1),
            "head": In(flags),
            "skips": In(data.ArrayLayout(flags["skip"].shape, 2)),
            "last_here": In(1),
            "advance": In(1),
            "drop": Out(1),
            "start": Out(self.position),
            "cut": Out(cut_layout(config)),
            "starved": Out(1),
            "error": Out(1),
            "error_ticket": Out(TICKET_BITS),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        size = self.config.axi_bytes
        word, context = self.words.payload, self.words.payload.context
        here = {name: Signal(self.position, name=name) for name in ("base", "reach")} | {"start": self.start}
        state = Signal(data.StructLayout(dict.fromkeys(STATES, 1)), init={"begin": 1})
        purge_end = Signal()
        purge_ticket = Signal(TICKET_BITS)
        fed = Signal()
        takes = Signal()
        """A word is cut."""
        end_segment = Signal()
        enough = pick(list(self.present), here["reach"][exact_log2(size) :])
        m.d.comb += [
            fed.eq(state.spent | ((state.first | state.within) & (here["base"] < size) & (self.last_here | enough))),
            takes.eq(self.words.valid & fed & self.advance),
            self.words.ready.eq(fed & self.advance),
            self.starved.eq(self.words.valid & ~fed & ~state.purge),
            end_segment.eq(word.end_row | (context.apart & word.end_pixel)),
        ]
        taken = self._outcome(m, "taken", self._passed(m, here), end_segment, self._next_skip(state), self.next_more)
        idle_restarts = state.purge | state.begin | state.first
        waiting = self._outcome(m, "waiting", here, idle_restarts, Mux(state.purge, self.skips[1], self.skips[0]), word.more)
        self._after_a_word(m, taken, state, end_segment, self._wraps(here))
        self._without_a_word(m, waiting, state, here["base"] >= size)

        chosen = data.View(taken.shape(), Mux(takes, taken.as_value(), waiting.as_value()))
        m.d.sync += [state.eq(chosen.state), *(value.eq(chosen[name]) for name, value in here.items())]
        with m.If(takes):
            m.d.sync += [purge_end.eq(word.end), purge_ticket.eq(context.ticket)]
        lanes = range(1, self.config.ic_p)
        m.d.comb += [
            self.drop.eq(chosen.drop),
            self.error.eq(chosen.drop & self.head.error),
            self.error_ticket.eq(Mux(state.purge, purge_ticket, context.ticket)),
            self.cut.write.eq(takes),
            self.cut.done.eq(chosen.finished & Mux(state.purge, purge_end, word.end)),
            self.cut.addr.eq(word.addr),
            self.cut.shift.eq(self.start),
            self.cut.used.eq(Cat(~state.spent, *(~state.spent & (n <= word.more) for n in lanes))),
            self.cut.fill.eq(context.fill),
        ]
        return m

    def _next_skip(self, state: Any) -> Value:
        """The byte with which the next segment begins, if this word ends its own. It is in chunk 0, if that is not of this
        segment."""
        return Mux(state.spent, self.skips[0], self.skips[1])

    def _outcome(
        self, m: Module, name: str, kept: dict[str, Signal], restarts: Value, skip: Value, more: Value
    ) -> Any:
        """The next values of the registers: positions are ``kept`` (a chunk less, if one is dropped), or a segment
        ``restarts``."""
        flags = dict.fromkeys(("drop", "finished"), unsigned(1))
        layout = data.StructLayout({
            **dict.fromkeys(("base", "start", "reach"), self.position), **flags,
            "state": data.StructLayout(dict.fromkeys(STATES, 1)),
        })  # fmt: skip
        outcome = Signal(layout, name=name)
        first_reach = Signal(self.position, name=f"{name}_first_reach")
        # A choice comes before this carry and two come behind it. So it has a module of its own, which synthesis keeps shallow.
        m.submodules[f"{name}_reach"] = alone = Module()
        alone.d.comb += first_reach.eq(skip + more)
        begun = {"base": skip, "start": skip, "reach": first_reach}
        for part, value in kept.items():
            moved = Mux(outcome.drop, _a_chunk_less(value, exact_log2(self.config.axi_bytes)), value)
            m.d.comb += outcome[part].eq(Mux(restarts, begun[part], moved))
        return outcome

    def _passed(self, m: Module, here: dict[str, Signal]) -> dict[str, Signal]:
        """The positions behind a word of the same segment. They may be wrong where a segment is spent."""
        word, context = self.words.payload, self.words.payload.context
        base, reach = here["base"], here["reach"]
        passed = {name: Signal(self.position, name=f"{name}_passed") for name in here}
        next_pixel = Signal(self.position)
        stop = Signal(self.position)
        to_next_reach = Signal(self.position)
        """The bytes from the base of a pixel to the last byte of the next pixel's first word."""
        with m.If(self.words.valid & word.begin):
            m.d.sync += to_next_reach.eq(context.step + word.more)
        m.d.comb += [next_pixel.eq(base + context.step), stop.eq(reach + 1)]
        with m.If(~context.window):
            m.d.comb += [passed["base"].eq(stop), passed["start"].eq(stop)]
        with m.Elif(word.end_pixel):
            m.d.comb += [passed["base"].eq(next_pixel), passed["start"].eq(next_pixel)]
        with m.Else():
            m.d.comb += [passed["base"].eq(base), passed["start"].eq(stop)]
        far, near = Mux(word.steps, base, reach), Mux(word.steps, to_next_reach, self.next_more)
        m.d.comb += passed["reach"].eq(chosen_sum(far, near, ~word.steps))
        return passed

    def _wraps(self, here: dict[str, Signal]) -> Value:
        """High if ``base`` leaves chunk 0, in which it lies when a word is cut."""
        bits = exact_log2(self.config.axi_bytes)
        base, reach, step = here["base"], here["reach"], self.words.payload.context.step
        steps_out = step[bits:].any() | summed(Cat(base[:bits], C(0)), step[:bits])[-1]
        reaches_end = reach[bits:].any() | reach[:bits].all()
        return Mux(self.words.payload.context.window, self.words.payload.end_pixel & steps_out, reaches_end)

    def _after_a_word(self, m: Module, outcome: Any, state: Any, end_segment: Value, wraps: Value) -> None:
        word = self.words.payload
        used_up = outcome.drop & self.head.last
        chunk_is_there = self.arrived | Mux(state.spent, self.present[0], self.present[1])
        next_is_empty = word.context.empty & ~word.end
        next_is_ready = ~word.end & chunk_is_there & ~next_is_empty
        spent = state.spent | used_up
        m.d.comb += [
            outcome.drop.eq(~state.spent & (end_segment | (self.present[0] & wraps))),
            outcome.finished.eq(end_segment & spent),
            outcome.state.begin.eq(outcome.finished & ~next_is_empty & ~next_is_ready),
            outcome.state.first.eq(outcome.finished & next_is_ready),
            outcome.state.within.eq(~end_segment & ~spent),
            outcome.state.spent.eq(Mux(end_segment, outcome.finished & next_is_empty, spent)),
            outcome.state.purge.eq(end_segment & ~spent),
        ]

    def _without_a_word(self, m: Module, outcome: Any, state: Any, base_passed: Value) -> None:
        used_up = outcome.drop & self.head.last
        begins = state.begin | state.first | outcome.finished
        is_empty = self.words.valid & self.words.payload.context.empty
        chunk_is_there = self.arrived | Mux(state.purge, self.present[1], self.present[0])
        is_ready = self.words.valid & chunk_is_there & ~is_empty
        m.d.comb += [
            outcome.drop.eq(self.present[0] & Mux(state.purge, self.advance, state.within & base_passed)),
            outcome.finished.eq(state.purge & used_up),
            outcome.state.begin.eq(begins & ~is_empty & ~is_ready),
            outcome.state.first.eq(begins & is_ready),
            outcome.state.within.eq(state.within & ~used_up),
            outcome.state.spent.eq((begins & is_empty) | state.spent | (state.within & used_up)),
            outcome.state.purge.eq(state.purge & ~used_up),
        ]


def _a_chunk_less(position: Value, size_bits: int) -> Value:
    """The position counted from chunk 1. It is looked up, because no carry chain is as quick."""
    chunk = position[size_bits:]
    numbers = 1 << len(chunk)
    return Cat(position[:size_bits], pick([C((n - 1) % numbers, len(chunk)) for n in range(numbers)], chunk))
