"""Cuts words into slices of as many lanes as MISC has."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.choice import pick
from hw.misc.numbers import SETTINGS, slice_layout
from isa.config import MachineConfig


def words_layout(config: MachineConfig) -> data.StructLayout:
    """A word of each operand. ``opens`` and ``closes`` say whether loop 4 is at its first or last iteration."""
    return data.StructLayout({"a": 8 * config.ic_p, "b": 8 * config.ic_p, "opens": 1, "closes": 1})


class Slicer(wiring.Component):
    """Takes ``misc_parts`` cycles for a word, one slice in each, with a latency of 1. A word waits until ``may_begin`` is high,
    and never stops after its first slice.

    ``begun`` is high in the cycle of a first slice. ``settings`` are those of the word at hand. A reduction counts all lanes of
    a word, but only ``last_lanes`` of the last word of loop 4.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "i": In(stream.Signature(words_layout(config))),
            "may_begin": In(1),
            "begun": Out(1),
            "settings": In(SETTINGS),
            "o": Out(slice_layout(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes, parts = self.config.misc_lanes, self.config.misc_parts
        word = self.i.payload
        part = Signal.like(self.o.part, name="part_now")
        at_first, at_last = part == 0, part == parts - 1
        go = Signal()
        m.d.comb += [
            go.eq(self.i.valid & (~at_first | self.may_begin)),
            self.i.ready.eq(at_last & (~at_first | self.may_begin)),
            self.begun.eq(self.i.valid & at_first & self.may_begin),
        ]
        with m.If(go):
            m.d.sync += part.eq(Mux(at_last, 0, part + 1))
        limit = self.settings.last_lanes
        used = [Cat(~word.closes | (limit > lane) for lane in range(first, first + lanes)) for first in self._firsts()]
        ones = [word.b[8 * lane : 8 * lane + 8] for lane in range(self.config.ic_p)]
        m.d.sync += [
            self.o.valid.eq(go),
            self.o.a.as_value().eq(pick(self._slices(word.a), part)),
            self.o.b.as_value().eq(pick(self._slices(word.b), part)),
            self.o.one.eq(pick(ones, self.settings.b_lane)),
            self.o.used.eq(pick(used, part)),
            self.o.part.eq(part),
            self.o.ends.eq(at_last),
            self.o.opens.eq(at_first & word.opens),
            self.o.closes.eq(at_last & word.closes),
        ]
        return m

    def _firsts(self) -> range:
        return range(0, self.config.ic_p, self.config.misc_lanes)

    def _slices(self, word: Value) -> list[Value]:
        return [word[8 * first : 8 * (first + self.config.misc_lanes)] for first in self._firsts()]
