"""The receiving end of a unit's queue. It collects instructions, checks them, and handles their tokens."""

from __future__ import annotations

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.control.checker import Checker
from hw.control.collector import Collector, fields_of
from hw.control.giver import TokenGiver
from hw.control.units import TraceSignature
from hw.interfaces import TICKET_BITS, unit_layout
from isa.capabilities import built_units, unit_rows
from isa.config import MachineConfig
from isa.depths import IN_FLIGHT
from isa.instructions import Unit

_UNITS = len(Unit)
assert IN_FLIGHT < 1 << TICKET_BITS, "the offered instruction and those in flight have tickets of their own"


class Receiver(wiring.Component):
    """Takes a unit's words (pc, header, body), offers whole instructions to the unit and moves their tokens.

    It holds one instruction, in one of four states:

    =======  ==================================================================================================
    COLLECT  its words are taken, one a cycle (``Collector``), until it is whole
    CHECK    its rules are evaluated, in one cycle (``Checker``)
    WAIT     it waits for its tokens; it takes them, and is offered, in the first cycle in which all are there
    OFFER    it has its tokens, or needs none, and is offered until the unit accepts it
    =======  ==================================================================================================

    After the unit accepts it, from WAIT or from OFFER, the next one is collected, beginning with the next cycle. So an
    instruction of w words (header included) is accepted w + 3 cycles after its predecessor at the earliest. Only a unit that
    works for fewer cycles on one notices that. An instruction that breaks a rule stays in WAIT or OFFER: it is ``illegal``,
    takes no tokens and never reaches the unit. When ``IN_FLIGHT`` instructions are with the unit nothing is offered.

    In the unit an instruction is known by its *ticket*, a number that counts up from offer to offer. A memory with one read
    port here keeps the pcs of all tickets in use. ``pc`` is that of the instruction that finishes in this cycle, or that of
    ``look`` when none does.

    ``waiting`` is high while the instruction is legal and lacks a token. ``stuck`` is also high while a finished instruction
    finds no room for its tokens (``TokenGiver``). ``stuck_ticket`` is the ticket of the older of the two. With ``halt`` nothing
    is taken or offered.
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
        rows = unit_rows(self.unit, self.config)
        m.submodules.collector = collector = Collector(rows)
        m.submodules.checker = checker = Checker(rows, self.config)
        m.submodules.giver = giver = TokenGiver()
        connect(m, flipped(self.words), collector.words)
        header = collector.header
        wait, signal = (mask & sum(1 << unit for unit in built_units(self.config)) for mask in (header.wait, header.signal))
        """The masks of built units. The bits of other units are 0 (``Dispatch``), but synthesis does not know that."""
        legal, have, takes, accepted = (Signal(name=name) for name in ("legal", "have", "takes", "accepted"))
        """``legal``: the instruction keeps the rules. ``have``: all its tokens are there. ``takes``: they are taken.
        ``accepted``: the unit accepts it."""

        with m.FSM() as state:
            with m.State("COLLECT"), m.If(collector.whole):
                m.next = "CHECK"
            with m.State("CHECK"):
                m.next = "WAIT"
                with m.If(wait == 0):
                    m.next = "OFFER"
            with m.State("WAIT"), m.If(takes):
                m.next = "OFFER"
                with m.If(accepted):
                    m.next = "COLLECT"
            with m.State("OFFER"), m.If(accepted):
                m.next = "COLLECT"
        offers = state.ongoing("OFFER")
        held = Signal()
        """An instruction has been checked and not yet accepted."""
        m.d.comb += [
            collector.open.eq(state.ongoing("COLLECT")),
            checker.check.eq(state.ongoing("CHECK")),
            checker.opcode.eq(header.opcode),
            checker.body.eq(collector.body),
            giver.accepted.eq(accepted),
            giver.signal.eq(signal),
            giver.done.eq(self.done),
            giver.full.eq(self.full),
            *(getattr(self, name).eq(getattr(giver, name)) for name in ("give", "at_work", "oldest_ticket")),
            accepted.eq(self.instruction.valid & self.instruction.ready),
            held.eq(offers | state.ongoing("WAIT")),
            self.illegal.eq(held & ~legal),
            self.waiting.eq(held & legal & ~offers & ~have),
            self.stuck.eq(self.waiting | giver.blocked),
            self.stuck_ticket.eq(Mux(giver.owes, giver.oldest_ticket, self.head_ticket)),
        ]
        m.d.sync += self.head_ticket.eq(self.head_ticket + accepted)
        # This has a module of its own, because the unit's queues, tokens and counts depend on it.
        m.submodules.offer = offer = Module()
        offer.d.comb += [
            legal.eq((checker.chosen & checker.values & checker.lawful).any()),
            have.eq((wait & ~self.available) == 0),
            takes.eq(held & legal & ~offers & have & ~self.halt),
            self.take.eq(Mux(takes, wait, 0)),
            self.instruction.valid.eq(held & legal & (offers | have) & giver.room & ~self.halt),
        ]
        self._show(m, collector)
        self._name(m, collector, state.ongoing("CHECK"), accepted, giver.gives)
        return m

    def _show(self, m: Module, collector: Collector) -> None:
        """Shows the instruction as the unit sees it. The fields of one row lie in the place of another's. Those of the longest
        row are there, unless the instruction is of another row."""
        payload = self.instruction.payload
        m.d.comb += [payload.ticket.eq(self.head_ticket), payload.opcode.eq(collector.header.opcode)]
        longest, *others = sorted(unit_rows(self.unit, self.config), key=lambda row: -row.length)
        fields = fields_of(longest, collector.body)
        m.d.comb += [payload.op[longest.name][name].eq(value) for name, value in fields.items()]
        for row in others:
            with m.If(collector.header.opcode == row.opcode):
                fields = fields_of(row, collector.body)
                m.d.comb += [payload.op[row.name][name].eq(value) for name, value in fields.items()]

    def _name(self, m: Module, collector: Collector, checked: Signal, accepted: Signal, finished: Signal) -> None:
        """Keeps the pcs of all tickets in use."""
        m.submodules.pcs = pcs = memory.Memory(shape=unsigned(32), depth=1 << TICKET_BITS, init=[])
        write = pcs.write_port()
        read = pcs.read_port(domain="comb")
        m.d.comb += [
            write.en.eq(checked),
            write.addr.eq(self.head_ticket),
            write.data.eq(collector.pc),
            read.addr.eq(Mux(finished, self.oldest_ticket, self.look)),
            self.pc.eq(read.data),
            self.trace.start.eq(accepted),
            self.trace.start_pc.eq(collector.pc),
            self.trace.finish.eq(finished),
            self.trace.finish_pc.eq(read.data),
        ]
