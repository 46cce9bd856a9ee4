"""Checks the rules of an instruction."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.control.collector import body_layout, fields_of
from hw.control.legality import rules_hold, values_legal
from hw.control.units import HEADER_LAYOUT
from isa.config import MachineConfig
from isa.table import Instruction


class Checker(wiring.Component):
    """``legal``: the instruction is one of ``rows`` and kept all rules in the last cycle in which ``check`` was high.

    Latency 1, one instruction per cycle.
    """

    def __init__(self, rows: Sequence[Instruction], config: MachineConfig) -> None:
        self.rows = rows
        self.config = config
        super().__init__({
            "check": In(1),
            "opcode": In(HEADER_LAYOUT["opcode"].shape),
            "body": In(body_layout(rows)),
            "legal": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        chosen, valued, lawful = (Signal(len(self.rows), name=name) for name in ("chosen", "valued", "lawful"))
        """A bit for each row: the instruction is one, its values are legal, it keeps the rules that compare them."""
        fields = [fields_of(row, self.body) for row in self.rows]
        with m.If(self.check):
            m.d.sync += [
                chosen.eq(Cat(self.opcode == row.opcode for row in self.rows) if len(self.rows) > 1 else 1),
                valued.eq(Cat(values_legal(row, values) for row, values in zip(self.rows, fields, strict=True))),
                lawful.eq(Cat(rules_hold(row, values, self.config) for row, values in zip(self.rows, fields, strict=True))),
            ]
        m.d.comb += self.legal.eq((chosen & valued & lawful).any())
        return m
