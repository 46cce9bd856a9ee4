"""Collects the words of an instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth import Module, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.control.units import HEADER_LAYOUT
from isa.table import Instruction


def body_layout(rows: Sequence[Instruction]) -> data.ArrayLayout:
    """The words behind the header, as many as the longest of these instructions has."""
    return data.ArrayLayout(32, max(row.length for row in rows) - 1)


def fields_of(row: Instruction, body: Any) -> dict[str, Value]:
    """The fields of an instruction, cut out of the words behind its header."""
    fields = {}
    for place in row.placed:
        bits = body[place.word - 1][place.lsb : place.lsb + place.field.bits]
        fields[place.field.name] = bits.as_signed() if place.field.signed else bits
    return fields


class Collector(wiring.Component):
    """Takes a word in each cycle in which it is ``open``: the pc, the header, then ``body``.

    ``whole`` is high in the cycle in which the last word is taken. From then on all words stay as they are, until it is open
    again after a cycle in which it was not. There is no latency. It stalls ``words`` while it is not open.
    """

    def __init__(self, rows: Sequence[Instruction]) -> None:
        super().__init__({
            "words": In(stream.Signature(unsigned(32))),
            "open": In(1),
            "whole": Out(1),
            "pc": Out(32),
            "header": Out(HEADER_LAYOUT),
            "body": Out(body_layout(rows)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        index = Signal(HEADER_LAYOUT["length"].shape)
        take = Signal()
        m.d.comb += [
            self.words.ready.eq(self.open),
            take.eq(self.words.valid & self.open),
            self.whole.eq(take & (index == self.header.length) & (index > 1)),
        ]
        with m.If(~self.open):
            m.d.sync += index.eq(0)
        with m.Elif(take):
            m.d.sync += index.eq(index + 1)
            with m.Switch(index):
                for number, target in enumerate([self.pc, self.header.as_value(), *self.body]):
                    with m.Case(number):
                        m.d.sync += target.eq(self.words.payload)
        return m
