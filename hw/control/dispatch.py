"""Walks the program, checks every header and reserved bit, and feeds the units' queues."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.axi.slice import RegisterSlice
from hw.control.units import HEADER_LAYOUT
from isa.capabilities import built_instructions, built_units
from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import BY_NAME, Unit

FETCHED_LAYOUT = data.StructLayout({"word": unsigned(32), "error": unsigned(1)})
"""A program word as it was fetched. ``error``: DRAM refused it."""


def _known_layout(units: int) -> data.StructLayout:
    """A program word, and what it would be as a header. ``to`` has a bit for each unit, set for the one it goes to.
    ``unknown``: its opcode is unknown. ``illegal``: its fields are."""
    return data.StructLayout({"word": 32, "error": 1, "to": units, "unknown": 1, "illegal": 1})


class Dispatch(wiring.Component):
    """Hands each instruction to its unit's queue: first its pc, then its header, then its other words.

    One word per cycle goes into a queue, so an instruction of w words takes w + 1 cycles: the cycle that sends the pc also
    checks the header. Words come through a register slice, and on the way to it they are examined as if they were headers. A
    word that is sent waits in a register in front of the queues. A full queue stalls the dispatcher, and with it all that comes
    later in the program. ``begun`` strobes for the unit whose instruction began a cycle ago.

    The checks and their order are those of ``isa.codec.decode``, so that the first fault in the program is the one reported.
    The order is: opcode (of a unit that was built), length, reserved bits of the header, tokens of START and END and those of
    units that were not built, the end of the program, then the reserved bits of each word. A wrong configuration hash, or a
    program that does not begin with START, is found with the last word of the instruction. A word that DRAM refused is a fault
    of its instruction. The word that shows a fault is taken and enters no queue, so the instruction never reaches its unit.

    ``start`` begins a program of ``program_words`` words at pc 0. ``ended`` rises after END. Nothing is taken after that, after
    a fault, or with ``halt``. ``pc`` is that of the instruction being dispatched, and ``moved`` strobes for every word taken.
    ``fault``, with its ``code``, is that of the instruction at ``pc``, which then stays. ``queues`` are in the order of
    ``built_units``.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self._units = built_units(config)
        self._known = built_instructions(config)
        super().__init__({
            "start": In(1),
            "program_words": In(32),
            "words": In(stream.Signature(FETCHED_LAYOUT)),
            "queues": Out(stream.Signature(unsigned(32))).array(len(self._units)),
            "begun": Out(len(self._units)),
            "halt": In(1),
            "ended": Out(1),
            "moved": Out(1),
            "pc": Out(32),
            "fault": Out(1),
            "code": Out(4),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        remaining = Signal(32)
        first = Signal()
        header = Signal(HEADER_LAYOUT)
        index = Signal(HEADER_LAYOUT["length"].shape)
        left = Signal(HEADER_LAYOUT["length"].shape)
        last = Signal()
        """``index`` is the number of the instruction's last word."""

        m.submodules.words = words = RegisterSlice(_known_layout(len(self._units)))
        m.d.comb += [words.i.valid.eq(self.words.valid), self.words.ready.eq(words.i.ready)]
        self._look(m, words.i.payload)
        now = words.o.payload
        incoming = data.View(HEADER_LAYOUT, now.word)
        header_code = Signal(4)
        body_code = Signal(4)
        self._check_header(m, now, incoming, remaining, header_code)
        reserved = Signal(32)
        """The reserved bits of the word at hand. Those of the header are checked apart."""
        reserved_behind = self._reserved_behind(m, header, index)
        self._check_word(m, now, header, reserved, last, first, body_code)

        send = Signal()
        begin = Signal()
        sent = Signal(32)
        to, kept_to = (Signal(len(self._units), name=name) for name in ("to", "kept_to"))
        free = Signal()
        self._connect_queues(m, to, send, begin, sent, free)

        def fail(code: Signal) -> None:
            m.d.sync += [self.fault.eq(1), self.code.eq(code)]
            m.next = "IDLE"

        m.d.comb += self.moved.eq(words.o.valid & words.o.ready)
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += [self.pc.eq(0), remaining.eq(self.program_words), first.eq(1), self.ended.eq(0)]
                m.next = "HEADER"

            with m.State("HEADER"):
                m.d.sync += [header.eq(incoming), kept_to.eq(now.to), reserved.eq(0), index.eq(0)]
                m.d.sync += [left.eq(incoming.length), last.eq(incoming.length == 1)]
                m.d.comb += [to.eq(now.to), sent.eq(self.pc)]
                with m.If(self.halt):
                    m.next = "IDLE"
                with m.Elif((remaining == 0) | words.o.valid):
                    with m.If(header_code != Fault.NONE):
                        fail(header_code)
                    with m.Else():
                        m.d.comb += [send.eq(1), begin.eq(1)]
                        with m.If(free):
                            m.next = "BODY"

            with m.State("BODY"):
                m.d.comb += [to.eq(kept_to), sent.eq(now.word), words.o.ready.eq(free & ~self.halt)]
                with m.If(self.halt):
                    m.next = "IDLE"
                with m.Elif(words.o.valid):
                    with m.If(body_code != Fault.NONE):
                        fail(body_code)
                    with m.Else():
                        m.d.comb += send.eq(1)
                with m.If(self.moved):
                    m.d.sync += [index.eq(index + 1), left.eq(left - 1), last.eq(left == 2)]
                    m.d.sync += reserved.eq(reserved_behind)
                    with m.If(last & (body_code == Fault.NONE)):
                        m.d.sync += [self.pc.eq(self.pc + header.length), remaining.eq(remaining - header.length), first.eq(0)]
                        m.next = "HEADER"
                        with m.If(header.opcode == BY_NAME["END"].opcode):
                            m.d.sync += self.ended.eq(1)
                            m.next = "IDLE"
        return m

    def _look(self, m: Module, known: data.View) -> None:
        """Shows the word that comes, and what it would be as a header. This is a module of its own, between two memories."""
        m.submodules.look = look = Module()
        fetched = self.words.payload
        header = data.View(HEADER_LAYOUT, fetched.word)
        expected = Signal(HEADER_LAYOUT["length"].shape)
        tokens = Signal()
        m.d.comb += [known.word.eq(fetched.word), known.error.eq(fetched.error)]
        look.d.comb += known.unknown.eq(1)
        with look.Switch(header.opcode):
            for row in self._known:
                with look.Case(row.opcode):
                    look.d.comb += [known.unknown.eq(0), expected.eq(row.length), tokens.eq(row.unit is not None)]
                    if row.unit is not None:
                        look.d.comb += known.to.eq(1 << self._units.index(row.unit))
        tokens_asked = header.wait.any() | header.signal.any()
        unbuilt = [mask[unit] for mask in (header.wait, header.signal) for unit in Unit if unit not in self._units]
        wrong = Cat(header.reserved, *unbuilt).any() | (tokens_asked & ~tokens)
        look.d.comb += known.illegal.eq((header.length != expected) | wrong)

    def _check_header(self, m: Module, now: data.View, header: data.View, remaining: Signal, code: Signal) -> None:
        """Drives ``code`` with the fault of an instruction that begins with this header, with ``remaining`` words to come. The
        length counts only where it is legal, that is, where it is the length of the opcode."""
        bits = len(header.length)
        with m.If(remaining == 0):
            m.d.comb += code.eq(Fault.PROGRAM_END)
        with m.Elif(now.error):
            m.d.comb += code.eq(Fault.FETCH_ERROR)
        with m.Elif(now.unknown):
            m.d.comb += code.eq(Fault.ILLEGAL_OPCODE)
        with m.Elif(now.illegal):
            m.d.comb += code.eq(Fault.ILLEGAL_FIELD)
        with m.Elif(~remaining[bits:].any() & (remaining[:bits] < header.length)):
            m.d.comb += code.eq(Fault.PROGRAM_END)

    def _reserved_behind(self, m: Module, header: data.View, index: Signal) -> Signal:
        """The reserved bits of the word behind word ``index``."""
        reserved = Signal(32, name="reserved_behind")
        with m.Switch(Cat(index, header.opcode)):
            for row in self._known:
                for number in range(1, row.length):
                    if row.reserved_mask(number):
                        with m.Case(row.opcode << len(index) | number - 1):
                            m.d.comb += reserved.eq(row.reserved_mask(number))
        return reserved

    def _check_word(
        self, m: Module, now: data.View, header: data.View, reserved: Signal, last: Signal, first: Signal, code: Signal
    ) -> None:
        """Drives ``code`` with the fault that a word of the instruction shows. This word may be its ``last``."""
        start = BY_NAME["START"]
        wrong = (header.opcode == start.opcode) & (now.word != self.config.hash)
        with m.If(now.error):
            m.d.comb += code.eq(Fault.FETCH_ERROR)
        with m.Elif((now.word & reserved).any()):
            m.d.comb += code.eq(Fault.ILLEGAL_FIELD)
        with m.Elif(last & (wrong | (first & (header.opcode != start.opcode)))):
            m.d.comb += code.eq(Fault.CONFIG_MISMATCH)

    def _connect_queues(self, m: Module, to: Signal, send: Signal, begin: Signal, sent: Signal, free: Signal) -> None:
        """Sends ``to`` a queue, when the register is ``free``. Words that belong to no unit are dropped."""
        waiting = Signal(len(self._units))
        payload = Signal(32)
        m.d.comb += free.eq(~Cat(waiting[number] & ~queue.ready for number, queue in enumerate(self.queues)).any())
        m.d.sync += self.begun.eq(Mux(begin & free, to, 0))
        with m.If(free):
            m.d.sync += [waiting.eq(Mux(send, to, 0)), payload.eq(sent)]
        for number, queue in enumerate(self.queues):
            m.d.comb += [queue.valid.eq(waiting[number]), queue.payload.eq(payload)]
