"""The MISC unit: element-wise work, reductions over lanes, resize and reorg."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.small import at_least
from hw.fault_latch import latch_fault
from hw.interfaces import TICKET_BITS, FeatureMapRead, FeatureMapWrite, TableWrite, UnitSignature
from hw.misc.arithmetic import Arithmetic
from hw.misc.delay import Delay
from hw.misc.finish import Finish
from hw.misc.numbers import SETTINGS
from hw.misc.operand import OperandFetch
from hw.misc.slices import Slicer
from hw.misc.walk import Walk
from hw.window.queue import Queue, RamQueue
from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import Unit
from isa.latency import misc_latency, misc_room

IN_FLIGHT = 32
"""The most words between the loops and the write port, so many that the pipeline never waits for their addresses."""


class MiscUnit(wiring.Component):
    """Runs MISC instructions. A word takes ``misc_parts`` cycles while both operands' banks and the output's are free, and
    waits while they are not.

    ::

        instruction -> Walk -+-> OperandFetch A -+-> Slicer -> Arithmetic -> Finish -> words -+-> feature map
                             +-> OperandFetch B -+                                  |
                             +-> output address queue ------------------------------+

    An instruction is accepted in the cycle after the first in which it is offered, if the last iteration of the one before has
    left by then. So its first iteration comes two cycles after that one. From the slicer on nothing stalls: a word begins only
    when there is room for its result behind the pipeline, which is known two cycles after a write. The settings of an
    instruction wait in ``Walk``. They become those of the whole pipeline as soon as the last slice before has left it. So the
    first slice of the instruction comes ``latency + 1`` cycles after that slice at the earliest.

    ``done`` comes one cycle after the last write. Writes happen in the order of the loops and after the reads of the same
    iteration, so work in place is safe. ``active``: a slice enters the arithmetic.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self._arithmetic = Arithmetic(config)
        self.latency = misc_latency(config)
        """The cycles from a slice to its results."""
        self.room = misc_room(config)
        super().__init__({
            **UnitSignature(Unit.MISC, config).members,
            "fm_read": Out(FeatureMapRead(config)).array(2),
            "fm_write": Out(FeatureMapWrite(config)).array(1),
            "table_write": In(TableWrite(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.walk = walk = Walk(self.config)
        settings = Signal(SETTINGS)
        m.submodules.operand_a = a = OperandFetch(self.config)
        m.submodules.operand_b = b = OperandFetch(self.config)
        output = data.StructLayout({"addr": unsigned(self.config.fm_address_bits), "outside": unsigned(1), "last": unsigned(1)})
        m.submodules.outputs = outputs = Queue(output, depth=IN_FLIGHT)
        m.submodules.slicer = slicer = Slicer(self.config)
        result = data.StructLayout({"word": unsigned(8 * self.config.ic_p), "to": output})
        m.submodules.results = results = RamQueue(self.config, result, self.room)
        wiring.connect(m, a.fm_read, wiring.flipped(self.fm_read[0]))
        wiring.connect(m, b.fm_read, wiring.flipped(self.fm_read[1]))

        begin = self._accept(m, walk)
        self._request(m, walk, a, b, outputs)
        self._begin(m, begin, walk, settings, a, b, slicer, results)
        self._compute(m, settings, slicer, outputs, results)
        self._write(m, results)
        m.d.sync += self.wait_bank.eq(Cat(lane.valid & ~lane.ready for lane in (*self.fm_read, *self.fm_write)).any())
        return m

    def _accept(self, m: Module, walk: Walk) -> Signal:
        """Takes an instruction into the loops. Only registers decide in which cycle: what has been offered is still offered
        then, unless the machine halts. Returns whether an instruction enters."""
        offered = Signal()
        begin = Signal()
        m.d.sync += offered.eq(self.instruction.valid & ~begin)
        m.d.comb += [
            begin.eq(offered & walk.i.ready & ~self.halt & ~self.fault.valid),
            self.instruction.ready.eq(begin),
            walk.i.valid.eq(begin),
            walk.i.payload.eq(self.instruction.payload),
        ]
        running = Signal(range(2 * IN_FLIGHT))
        m.d.sync += running.eq(running + begin - self.done)
        m.d.comb += self.busy.eq(running != 0)
        return begin

    def _request(self, m: Module, walk: Walk, a: OperandFetch, b: OperandFetch, outputs: Queue) -> None:
        """Sends an iteration's three addresses together, except those that are not in the buffer. Such an output is marked on
        its way, and such an operand is never asked for. The fault is reported a cycle later, and nothing leaves behind it."""
        iteration = walk.o.payload
        words = self.config.fm_words
        leave = Signal()
        stop = Signal()
        wrong = Signal()
        ticket = Signal(TICKET_BITS)
        beyond = {name: at_least(iteration[name], words) for name in ("a", "b", "o")}
        m.d.sync += [
            stop.eq(self.halt | self.fault.valid | wrong),
            wrong.eq(leave & (beyond["a"] | (iteration.reads_b & beyond["b"]) | beyond["o"])),
            ticket.eq(iteration.ticket),
        ]
        m.d.comb += [
            walk.o.ready.eq(a.i.ready & b.i.ready & outputs.i.ready & ~stop & ~wrong),
            leave.eq(walk.o.valid & walk.o.ready),
            a.i.valid.eq(leave & ~beyond["a"]),
            a.i.payload.addr.eq(iteration.a),
            outputs.i.payload.outside.eq(beyond["o"]),
            a.i.payload.turn.eq(iteration.turn),
            b.i.valid.eq(leave & iteration.reads_b & ~beyond["b"]),
            b.i.payload.addr.eq(iteration.b),
            outputs.i.valid.eq(leave & iteration.writes),
            outputs.i.payload.addr.eq(iteration.o),
            outputs.i.payload.last.eq(iteration.turn.last),
        ]
        latch_fault(m, self.fault, [(wrong, Fault.FM_ADDRESS, ticket)])

    def _begin(
        self, m: Module, begin: Signal, walk: Walk, settings: Any, a: OperandFetch, b: OperandFetch, slicer: Slicer,
        results: RamQueue,
    ) -> None:  # fmt: skip
        """Cuts a word into slices as soon as all that the mode reads is there, and there is room for its result."""
        word = slicer.i.payload
        current = self._settle(m, begin, walk, settings, slicer.i.valid & slicer.i.ready & a.o.payload.turn.last)
        room = Signal(range(self.room + 1), init=self.room)
        may_begin = Signal(init=1)
        enter = Signal()
        takes = Signal()
        gives = Signal()
        left = [Signal.like(room, name=f"room_{name}") for name in ("kept", "less")]
        m.d.comb += [
            slicer.i.valid.eq(current & a.o.valid & (b.o.valid | ~settings.reads_b)),
            word.a.eq(a.o.payload.word),
            word.b.eq(b.o.payload.word),
            word.opens.eq(a.o.payload.turn.opens),
            word.closes.eq(a.o.payload.turn.closes),
            slicer.settings.eq(settings),
            enter.eq(slicer.i.valid & slicer.i.ready),
            a.o.ready.eq(enter),
            b.o.ready.eq(enter & settings.reads_b),
            slicer.may_begin.eq(may_begin),
            takes.eq(slicer.begun & (~settings.reduces | word.closes)),
            left[0].eq(room + gives),
            left[1].eq(room - ~gives),
        ]
        # Whether a word begins is known late in a cycle, so it only chooses.
        m.d.sync += [
            gives.eq(results.o.valid & results.o.ready),
            room.eq(Mux(takes, left[1], left[0])),
            may_begin.eq(Mux(takes, left[1].any(), left[0].any())),
        ]

    def _settle(self, m: Module, begin: Signal, walk: Walk, settings: Any, over: Value) -> Signal:
        """Sets ``settings`` to those of the instruction that is walked when the last slice before it has left the pipeline.
        ``over`` is high in the cycle of that slice. Returns whether they are the settings of the next word."""
        current = Signal()
        drained = Signal(init=1)
        rest = Signal(range(self.latency))
        load = Signal()
        m.d.comb += load.eq(walk.needs & ~current & drained)
        m.d.sync += [walk.needs.eq(begin | (walk.needs & ~load)), current.eq(load | (current & ~over))]
        with m.If(load):
            m.d.sync += settings.eq(walk.settings)
        with m.If(over):
            m.d.sync += [rest.eq(self.latency - 1), drained.eq(0)]
        with m.Elif(~drained):
            m.d.sync += [rest.eq(rest - 1), drained.eq(rest == 1)]
        return current

    def _compute(self, m: Module, settings: Any, slicer: Slicer, outputs: Queue, results: RamQueue) -> None:
        """Joins slices of results into words, which meet their addresses. The result of a reduction fills the whole word."""
        m.submodules.arithmetic = arithmetic = self._arithmetic
        m.submodules.finish = ending = Finish(self.config)
        m.d.comb += [
            arithmetic.i.eq(slicer.o),
            arithmetic.settings.eq(settings),
            ending.r.eq(arithmetic.r),
            ending.settings.eq(settings),
        ]
        for name in self.table_write.signature.members:
            m.d.comb += getattr(ending.table_write, name).eq(getattr(self.table_write, name))

        m.d.comb += self.active.eq(slicer.o.valid)
        completes = slicer.o.valid & Mux(settings.reduces, slicer.o.closes, slicer.o.ends)
        complete = Delay(m, completes, "complete")(self.latency)
        fills = Delay(m, settings.reduces, "fills")(1)
        part = Delay(m, slicer.o.part, "part")(self.latency)
        word = Signal(8 * self.config.ic_p)
        width = 8 * self.config.misc_lanes
        for number in range(self.config.misc_parts):
            with m.If(fills | (part == number)):
                m.d.sync += word.word_select(number, width).eq(ending.y.as_value())
        whole = Signal()
        m.d.sync += whole.eq(complete)
        m.d.comb += [
            results.i.valid.eq(whole),
            results.i.payload.word.eq(word),
            results.i.payload.to.eq(outputs.o.payload),
            outputs.o.ready.eq(whole),
        ]

    def _write(self, m: Module, results: RamQueue) -> None:
        """Writes results. They and their addresses are in registers, because the bank's arbitration depends on them. A result
        whose word is not in the buffer is the last one, and is not written."""
        to = results.o.payload.to
        write = self.fm_write[0]
        written = Signal()
        m.d.comb += [
            write.valid.eq(results.o.valid & ~to.outside),
            write.addr.eq(to.addr),
            write.data.eq(results.o.payload.word),
            write.mask.eq(~0),
            results.o.ready.eq(write.ready),
            written.eq(write.valid & write.ready),
        ]
        m.d.sync += self.done.eq(written & to.last)
