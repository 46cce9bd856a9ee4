"""Checks the rules of an instruction."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.control.collector import body_layout, fields_of
from hw.control.legality import rules_hold, values_legal
from hw.control.units import HEADER_LAYOUT
from isa.config import MachineConfig
from isa.table import Instruction


class Checker(wiring.Component):
    """Checks an instruction when ``check`` is high. Registers have a bit for each of ``rows``. ``chosen``: the instruction is
    one of that row. ``values``: its values are legal. ``lawful``: it keeps the rules that compare values.

    An instruction is legal if all three are set for a row. Its users combine the three themselves, because much logic depends
    on the result. The latency is 1, with one instruction per cycle; it never stalls.
    """

    def __init__(self, rows: Sequence[Instruction], config: MachineConfig) -> None:
        self.rows = rows
        self.config = config
        super().__init__({
            "check": In(1),
            "opcode": In(HEADER_LAYOUT["opcode"].shape),
            "body": In(body_layout(rows)),
            **dict.fromkeys(("chosen", "values", "lawful"), Out(len(rows))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = [(row, fields_of(row, self.body)) for row in self.rows]
        with m.If(self.check):
            m.d.sync += [
                self.chosen.eq(Cat(self.opcode == row.opcode for row in self.rows) if len(self.rows) > 1 else 1),
                self.values.eq(Cat(values_legal(row, fields) for row, fields in rows)),
                self.lawful.eq(Cat(rules_hold(row, fields, self.config) for row, fields in rows)),
            ]
        return m
