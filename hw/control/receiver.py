"""The receiving end of a unit's queue: puts instructions together, checks them, and minds their tokens."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.control.legality import fields_legal
from hw.control.units import HEADER_LAYOUT, TraceSignature, unit_rows
from hw.interfaces import unit_layout
from isa.config import MachineConfig
from isa.instructions import Unit

IN_FLIGHT = 8
"""Instructions that a unit may have accepted and not yet finished."""

_UNITS = len(Unit)
_IN_FLIGHT_LAYOUT = data.StructLayout({"pc": unsigned(32), "signal": unsigned(_UNITS)})


class Receiver(wiring.Component):
    """Takes a unit's words (pc, header, body), offers whole instructions to the unit and moves their tokens.

    Two instructions are held: one is being *collected*, a word per cycle, while the one before it is *offered*.

    ====================  ==============================================================================
    last word of n taken  n is complete; the queue rests
    + 1 cycle             n moves to the offer, if that is empty or accepted in this cycle; its rules are
                          evaluated on the way; collecting goes on with n + 1 in the cycle after
    + 2 cycles            n is offered, if its rules hold and its tokens are there; otherwise it waits
    ====================  ==============================================================================

    An instruction of w words (header included) therefore follows its predecessor after w + 2 cycles at the earliest;
    a unit that works longer than that on each finds the next one offered in the cycle after it accepted the last.

    Tokens are taken in the first cycle in which all of them are available, which is never later than the cycle in
    which the unit accepts. The ``signal`` mask waits, with the pc, among the ``IN_FLIGHT`` instructions that the unit
    has accepted; when those are full nothing is offered. Each ``done`` gives the tokens of the oldest in that cycle.

    ``illegal`` is high while the offered instruction breaks a rule; it takes no tokens and never reaches the unit.
    ``waiting`` is high while it is legal and lacks a token. With ``halt`` nothing is taken or offered.
    """

    def __init__(self, unit: Unit, config: MachineConfig) -> None:
        self.unit = unit
        self.config = config
        super().__init__({
            "words": In(stream.Signature(unsigned(32))),
            "instruction": Out(stream.Signature(unit_layout(unit))),
            "done": In(1),
            "halt": In(1),
            "available": In(_UNITS),
            "take": Out(_UNITS),
            "give": Out(_UNITS),
            "illegal": Out(1),
            "waiting": Out(1),
            "head_pc": Out(32),
            "idle": Out(1),
            "trace": Out(TraceSignature()),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = unit_rows(self.unit)
        layout = unit_layout(self.unit)

        collected = Signal(layout)
        header = Signal(HEADER_LAYOUT)
        index = Signal(range(max(row.length for row in rows) + 1))
        complete = Signal()
        self._collect(m, collected, header, index, complete)

        offered = Signal(layout)
        wait = Signal(_UNITS)
        signal = Signal(_UNITS)
        full = Signal()
        legal = Signal()
        taken = Signal()

        accepted = Signal()
        m.d.comb += accepted.eq(self.instruction.valid & self.instruction.ready)
        with m.If(complete & (~full | accepted)):
            m.d.sync += [
                offered.eq(collected),
                wait.eq(header.wait),
                signal.eq(header.signal),
                full.eq(1),
                legal.eq(self._legal(collected)),
                taken.eq(header.wait == 0),
                complete.eq(0),
            ]
        with m.Elif(accepted):
            m.d.sync += full.eq(0)

        in_flight = m.submodules.in_flight = SyncFIFO(width=_IN_FLIGHT_LAYOUT.size, depth=IN_FLIGHT)
        entry = data.View(_IN_FLIGHT_LAYOUT, in_flight.w_data)
        oldest = data.View(_IN_FLIGHT_LAYOUT, in_flight.r_data)

        have = Signal()
        taking = Signal()
        m.d.comb += [
            have.eq((wait & ~self.available) == 0),
            taking.eq(full & legal & ~taken & have & ~self.halt),
            self.take.eq(Mux(taking, wait, 0)),
            self.instruction.payload.eq(offered),
            self.instruction.valid.eq(full & legal & (taken | have) & in_flight.w_rdy & ~self.halt),
            self.illegal.eq(full & ~legal),
            self.waiting.eq(full & legal & ~taken & ~have),
            self.head_pc.eq(offered.pc),
            entry.pc.eq(offered.pc),
            entry.signal.eq(signal),
            in_flight.w_en.eq(accepted),
            in_flight.r_en.eq(self.done),
            self.give.eq(Mux(self.done, oldest.signal, 0)),
            self.idle.eq((index == 0) & ~complete & ~full & ~in_flight.r_rdy),
            self.trace.start.eq(accepted),
            self.trace.start_pc.eq(offered.pc),
            self.trace.finish.eq(self.done),
            self.trace.finish_pc.eq(oldest.pc),
        ]
        with m.If(taking & ~accepted):
            m.d.sync += taken.eq(1)
        return m

    def _collect(self, m: Module, collected: data.View, header: data.View, index: Signal, complete: Signal) -> None:
        """Word 0 is the pc, word 1 the header, word ``n + 1`` word ``n`` of the instruction."""
        word = self.words.payload
        m.d.comb += self.words.ready.eq(~complete)
        with m.If(complete):
            m.d.sync += index.eq(0)
        with m.Elif(self.words.valid):
            m.d.sync += index.eq(index + 1)
            with m.Switch(index):
                with m.Case(0):
                    m.d.sync += collected.pc.eq(word)
                with m.Case(1):
                    incoming = data.View(HEADER_LAYOUT, word)
                    m.d.sync += [header.eq(incoming), collected.opcode.eq(incoming.opcode)]
                with m.Default():
                    m.d.sync += complete.eq(index == header.length)
            self._place(m, collected, index)

    def _place(self, m: Module, collected: data.View, index: Signal) -> None:
        word = self.words.payload
        for row in unit_rows(self.unit):
            with m.If(collected.opcode == row.opcode):
                fields = collected.op[row.name]
                with m.Switch(index):
                    for number in range(1, row.length):
                        with m.Case(number + 1):
                            for place in row.placed:
                                if place.word == number:
                                    m.d.sync += fields[place.field.name].eq(word[place.lsb : place.lsb + place.field.bits])

    def _legal(self, instruction: data.View) -> object:
        verdicts = [
            (instruction.opcode != row.opcode) | fields_legal(row, instruction.op[row.name], self.config)
            for row in unit_rows(self.unit)
        ]
        return Cat(*verdicts).all()
