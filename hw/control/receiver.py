"""The receiving end of a unit's queue: puts instructions together, checks them, and minds their tokens."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.small import stepped
from hw.control.legality import rules_hold, values_legal
from hw.control.units import HEADER_LAYOUT, TraceSignature, unit_rows
from hw.interfaces import TICKET_BITS, unit_layout
from hw.window.queue import Queue
from isa.config import MachineConfig
from isa.depths import IN_FLIGHT
from isa.instructions import Unit
from isa.table import Placed

_UNITS = len(Unit)
assert IN_FLIGHT < 1 << TICKET_BITS, "the offered instruction and those in flight have tickets of their own"


class Receiver(wiring.Component):
    """Takes a unit's words (pc, header, body), offers whole instructions to the unit and moves their tokens.

    One instruction is held: its words are *collected*, one a cycle, and stay where they are while it is *offered*.

    ====================  ==============================================================================
    last word of n taken  n is complete; the queue rests
    + 1 cycle             its rules are evaluated
    + 2 cycles            n is offered, if its rules hold and its tokens are there; otherwise it waits
    n is accepted         n + 1 is collected, beginning with the next cycle
    ====================  ==============================================================================

    An instruction of w words (header included) is therefore accepted w + 3 cycles after its predecessor at the earliest, which
    only a unit notices that works for fewer on one.

    Tokens are taken in the first cycle in which all of them are available, which is never later than the cycle in
    which the unit accepts. The ``signal`` mask waits among the ``IN_FLIGHT`` instructions that the unit
    has accepted; when those are full nothing is offered. Each ``done`` gives the tokens of the oldest in that cycle, or
    in the first in which there is room for all of them (``full`` has the units that can take no more).

    In the unit an instruction is known by its *ticket*, a number that counts up from offer to offer. The pcs of all tickets
    that are about are kept here, in a memory with one read port: ``pc`` is that of the instruction that finishes in this
    cycle, and that of ``look`` when there is none.

    ``illegal`` is high while the offered instruction breaks a rule; it takes no tokens and never reaches the unit.
    ``waiting`` is high while it is legal and lacks a token, ``stuck`` also while a finished instruction finds no room for
    its tokens; ``stuck_ticket`` is then the older of the two. ``at_work``: the unit has accepted an instruction that is not
    finished, the oldest is ``oldest_ticket``. With ``halt`` nothing is taken or offered.
    """

    def __init__(self, unit: Unit, config: MachineConfig) -> None:
        self.unit = unit
        self.config = config
        super().__init__({
            "words": In(stream.Signature(unsigned(32))),
            "instruction": Out(stream.Signature(unit_layout(unit, config))),
            "done": In(1),
            "halt": In(1),
            "available": In(_UNITS),
            "full": In(_UNITS),
            "take": Out(_UNITS),
            "give": Out(_UNITS),
            "illegal": Out(1),
            "waiting": Out(1),
            "stuck": Out(1),
            "stuck_ticket": Out(TICKET_BITS),
            "head_ticket": Out(TICKET_BITS),
            "at_work": Out(1),
            "oldest_ticket": Out(TICKET_BITS),
            "look": In(TICKET_BITS),
            "pc": Out(32),
            "trace": Out(TraceSignature()),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = unit_rows(self.unit)

        pc = Signal(32)
        header = Signal(HEADER_LAYOUT)
        body = [Signal(32, name=f"word_{number}") for number in range(1, max(row.length for row in rows))]
        index = Signal(HEADER_LAYOUT["length"].shape)
        complete = Signal()
        wait, signal = header.wait, header.signal
        offered = Signal()
        legal = Signal()
        taken = Signal()

        accepted = Signal()
        m.d.comb += accepted.eq(self.instruction.valid & self.instruction.ready)
        self._collect(m, pc, header, body, index, complete | offered)
        fields = {row.name: {place.field.name: _field(place, body) for place in row.placed} for row in rows}
        # Comparisons are in a module of their own, which synthesis keeps short behind their carries.
        m.submodules.rules = rules = Module()
        holding, valued, lawful, chosen = (Signal(len(rows), name=name) for name in ("holding", "valued", "lawful", "chosen"))
        """A bit for each row: its rules hold for the words at hand; of what is offered, whether its values are legal, whether
        it keeps the rules, and whether it is one."""
        rules.d.comb += holding.eq(Cat(rules_hold(row, fields[row.name], self.config) for row in rows))
        ticket = Signal(TICKET_BITS)
        m.d.sync += [
            complete.eq(self.words.valid & self.words.ready & (index == header.length) & (index > 1)),
            ticket.eq(ticket + accepted),
        ]
        with m.If(complete):
            m.d.sync += [
                offered.eq(1),
                taken.eq(wait == 0),
                lawful.eq(holding),
                valued.eq(Cat(values_legal(row, fields[row.name]) for row in rows)),
                chosen.eq(Cat(header.opcode == row.opcode for row in rows) if len(rows) > 1 else 1),
            ]
        with m.Elif(accepted):
            m.d.sync += offered.eq(0)
        payload = self.instruction.payload
        m.d.comb += [payload.ticket.eq(ticket), payload.opcode.eq(header.opcode)]
        # Fields of one row lie in the place of another's: what is longest is there unless it is another's turn.
        longest, *others = sorted(rows, key=lambda row: -row.length)
        m.d.comb += [payload.op[longest.name][name].eq(value) for name, value in fields[longest.name].items()]
        for row in others:
            with m.If(header.opcode == row.opcode):
                m.d.comb += [payload.op[row.name][name].eq(value) for name, value in fields[row.name].items()]

        in_flight = m.submodules.in_flight = Queue(unsigned(_UNITS), IN_FLIGHT)
        m.submodules.pcs = pcs = memory.Memory(shape=unsigned(32), depth=1 << TICKET_BITS, init=[])
        write = pcs.write_port()
        read = pcs.read_port(domain="comb")

        have = Signal()
        taking = Signal()
        unpaid = Signal(range(IN_FLIGHT + 1))
        """Finished instructions whose tokens are still to be given."""
        owed = Signal()
        """There are any."""
        lacking = in_flight.o.payload & self.full
        pay = Signal()
        blocked = Signal(2)
        """Of the units that get tokens from the oldest, whether one among the first, or among the others, has no room."""
        m.d.comb += [
            self.illegal.eq(offered & ~legal),
            self.waiting.eq(offered & legal & ~taken & ~have),
            self.head_ticket.eq(ticket),
            self.at_work.eq(in_flight.o.valid),
            in_flight.i.payload.eq(signal),
            in_flight.i.valid.eq(accepted),
            owed.eq(unpaid != 0),
            in_flight.o.ready.eq(pay),
            self.give.eq(Mux(pay, in_flight.o.payload, 0)),
            self.stuck.eq(self.waiting | (owed & (blocked != 0))),
            self.stuck_ticket.eq(Mux(owed, self.oldest_ticket, ticket)),
            write.en.eq(complete),
            write.addr.eq(ticket),
            write.data.eq(pc),
            read.addr.eq(Mux(pay, self.oldest_ticket, self.look)),
            self.pc.eq(read.data),
            self.trace.start.eq(accepted),
            self.trace.start_pc.eq(pc),
            self.trace.finish.eq(pay),
            self.trace.finish_pc.eq(read.data),
        ]
        # In modules of their own: the unit's queues, tokens and counts hang on them.
        m.submodules.offer = offer = Module()
        offer.d.comb += [
            legal.eq((lawful & valued & chosen).any()),
            have.eq((wait & ~self.available) == 0),
            taking.eq(offered & legal & ~taken & have & ~self.halt),
            self.take.eq(Mux(taking, wait, 0)),
            self.instruction.valid.eq(offered & legal & (taken | have) & in_flight.i.ready & ~self.halt),
        ]
        # Whether there is room is known before ``done``, by halves a LUT deep.
        m.submodules.payment = payment = Module()
        m.submodules.room = halves = Module()
        halves.d.comb += blocked.eq(Cat(part.any() for part in (lacking[: _UNITS // 2], lacking[_UNITS // 2 :])))
        payment.d.comb += pay.eq((self.done | owed) & (blocked == 0))
        m.d.sync += [unpaid.eq(stepped(unpaid, self.done, pay, IN_FLIGHT)), self.oldest_ticket.eq(self.oldest_ticket + pay)]
        with m.If(taking & ~accepted):
            m.d.sync += taken.eq(1)
        return m

    def _collect(self, m: Module, pc: Signal, header: Any, body: list[Signal], index: Signal, held: Value) -> None:
        """Word 0 is the pc, word 1 the header, word ``n + 1`` word ``n`` of the instruction, which is ``held`` afterwards."""
        m.d.comb += self.words.ready.eq(~held)
        with m.If(held):
            m.d.sync += index.eq(0)
        with m.Elif(self.words.valid):
            m.d.sync += index.eq(index + 1)
            with m.Switch(index):
                for number, target in enumerate([pc, header.as_value(), *body]):
                    with m.Case(number):
                        m.d.sync += target.eq(self.words.payload)


def _field(place: Placed, body: list[Signal]) -> Value:
    """The field's value, cut out of the words behind the header."""
    bits = body[place.word - 1][place.lsb : place.lsb + place.field.bits]
    return bits.as_signed() if place.field.signed else bits
