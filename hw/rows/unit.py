"""The ROW unit: softmax and normalisation of rows."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.arithmetic.small import at_least, stepped
from hw.fault_latch import latch_fault
from hw.interfaces import FeatureMapRead, FeatureMapWrite, UnitSignature, unit_layout
from hw.rows.emit import Emit, norm_read
from hw.rows.exponentials import Exponentials, exponential_write
from hw.rows.layouts import PREPARED, TAKEN, TOTALLED
from hw.rows.read import ReadRows
from hw.rows.reciprocal import Reciprocal
from hw.rows.root import Root
from hw.rows.take import Reduce
from hw.rows.total import Totals
from hw.rows.walk import RowWalk
from hw.window.queue import Queue, RamQueue
from isa.config import MachineConfig
from isa.depths import row_room
from isa.faults import Fault
from isa.instructions import RowMode, Unit
from isa.stages import ROWS_HELD


class RowUnit(wiring.Component):
    """Runs ROW instructions, in three passes over each row, which overlap those of its neighbours::

        ReadRows -+-> Reduce -> taken -+-> Totals -+-> Reciprocal -> prepared -> Emit -> results -> feature map
                  |                    +-> Root ---+                             |
                  +-> row buffer: a copy for Totals, a copy for Emit ------------+

    A slice of ``row_lanes`` elements passes in every cycle. A row of SOFTMAX takes as many cycles as it has slices, but at
    least 24. A row of NORMALISE or RMS takes at least 82, the time of ``Root``; ``Reciprocal`` works on the row before
    meanwhile. The row buffer holds ``ROWS_HELD`` rows, so that no pass waits for the end of another. Instructions do not
    overlap. The next one is accepted in the cycle after ``done``, which comes one cycle after the last write. Its first word
    comes two passes and some 70 cycles later.

    Reads and writes wait for their banks. Behind the row buffer nothing stalls, because a word begins only when there is room
    for its result. A row is read whole before its first word is written. ``active``: a slice of results begins.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        self.room = row_room(config)
        super().__init__({
            **UnitSignature(Unit.ROW, config).members,
            "fm_read": Out(FeatureMapRead(config)).array(1),
            "fm_write": Out(FeatureMapWrite(config)).array(1),
            "exponentials": In(exponential_write(config)),
            "norms": Out(norm_read(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self.config
        now = Signal(unit_layout(Unit.ROW, config))
        fields = now.op.ROW
        m.submodules.read = read = ReadRows(config)
        m.submodules.reduce = reduce = Reduce(config)
        m.submodules.taken = taken = Queue(TAKEN, ROWS_HELD)
        m.submodules.totals = totals = Totals(config)
        m.submodules.totalled = totalled = Queue(TOTALLED, ROWS_HELD)
        m.submodules.root = root = Root()
        m.submodules.reciprocal = reciprocal = Reciprocal()
        m.submodules.prepared = prepared = Queue(PREPARED, ROWS_HELD)
        m.submodules.emit = emit = Emit(config)
        begin, working, stop, last_written, softmax = (
            Signal(name=name) for name in ("begin", "working", "stop", "last_written", "softmax")
        )
        m.d.comb += [
            stop.eq(self.halt | self.fault.valid),
            self.active.eq(emit.active),
            read.runs.eq(working & ~stop),
            emit.softmax.eq(softmax),
            reduce.zp.eq(fields.a_zp),
        ]
        m.d.sync += softmax.eq(fields.mode == RowMode.SOFTMAX.value)
        for part in (read, totals, emit):
            m.d.comb += [part.begin.eq(begin), part.fields.eq(fields)]
        connect(m, read.fm_read, flipped(self.fm_read[0]))
        connect(m, emit.norms, flipped(self.norms))
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.instruction.ready.eq(~stop)
                m.d.sync += now.eq(self.instruction.payload)
                with m.If(self.instruction.valid & ~stop):
                    m.next = "BEGIN"
            with m.State("BEGIN"):
                m.d.comb += [begin.eq(1), self.busy.eq(1)]
                m.next = "WORK"
            with m.State("WORK"):
                m.d.comb += [working.eq(1), self.busy.eq(1)]
                with m.If(last_written):
                    m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += [self.done.eq(1), self.busy.eq(1)]
                m.next = "IDLE"

        self._pass_rows(m, read, reduce, taken, totals, prepared, emit)
        self._prepare(m, fields, softmax, taken, totals, totalled, root, reciprocal, prepared)
        self._look_up(m, totals, emit)
        beyond = self._write(m, fields, begin, emit, last_written)
        end = Signal(len(fields.p_addr) + 1)
        past = Signal()
        m.d.sync += [end.eq(fields.p_addr + fields.words), past.eq(working & ~softmax & (end > config.buffer_depth("NORM")))]
        causes = [(past, Fault.BUFFER_ADDRESS), (read.outside & working, Fault.FM_ADDRESS), (beyond, Fault.FM_ADDRESS)]
        latch_fault(m, self.fault, [(cause, code, now.ticket) for cause, code in causes])
        lanes = (*self.fm_read, *self.fm_write)
        m.d.sync += self.wait_bank.eq(Cat(lane.valid & ~lane.ready for lane in lanes).any())
        return m

    def _pass_rows(
        self, m: Module, read: ReadRows, reduce: Reduce, taken: Queue, totals: Totals, prepared: Queue, emit: Emit
    ) -> None:  # fmt: skip
        """Hands rows from pass to pass. A row has its place in the row buffer from its first slice until ``Emit`` has read its
        last."""
        held = Signal(range(ROWS_HELD + 1))
        m.d.sync += held.eq(stepped(held, read.begun, emit.over, ROWS_HELD))
        m.d.comb += [
            read.room.eq(held != ROWS_HELD),
            reduce.i.eq(read.o),
            taken.i.valid.eq(reduce.done),
            taken.i.payload.eq(reduce.row),
            emit.prepared.valid.eq(prepared.o.valid),
            emit.prepared.payload.eq(prepared.o.payload),
            prepared.o.ready.eq(emit.prepared.ready),
        ]
        for part in (totals, emit):
            m.d.comb += [getattr(part.write, name).eq(getattr(read.write, name)) for name in ("en", "place", "data")]

    def _prepare(
        self, m: Module, fields: Any, softmax: Signal, taken: Queue, totals: Totals, totalled: Queue, root: Root,
        reciprocal: Reciprocal, prepared: Queue,
    ) -> None:  # fmt: skip
        """Makes the row's numbers in the way that its mode asks for. There is room for as many as there are rows in the
        buffer."""
        length = Signal.like(root.length)
        row = taken.o.payload
        m.d.sync += length.eq((fields.words - 1) * self.config.ic_p + fields.last_lanes)
        m.d.comb += [
            totals.most.valid.eq(taken.o.valid & softmax),
            totals.most.payload.eq(row.most),
            totalled.i.valid.eq(totals.valid),
            totalled.i.payload.eq(totals.o),
            root.i.valid.eq(taken.o.valid & ~softmax),
            root.i.payload.total.eq(Mux(fields.mode == RowMode.RMS.value, 0, row.total)),
            root.i.payload.squares.eq(row.squares),
            root.length.eq(length),
            root.k.eq(Cat(fields.k_lo, fields.k_hi)),
            taken.o.ready.eq(Mux(softmax, totals.most.ready, root.i.ready)),
            reciprocal.softmax.eq(softmax),
            reciprocal.length.eq(length),
        ]
        connect(m, totalled.o, reciprocal.totals)
        connect(m, root.o, reciprocal.roots)
        connect(m, reciprocal.o, prepared.i)

    def _look_up(self, m: Module, totals: Totals, emit: Emit) -> None:
        m.submodules.exponentials = tables = Exponentials(self.config)
        m.d.comb += [
            *(getattr(tables.write, name).eq(getattr(self.exponentials, name)) for name in self.exponentials.signature.members),
            tables.e_index.eq(totals.index),
            totals.e.eq(tables.e),
            tables.t_index.eq(emit.index),
            emit.t.eq(tables.t),
        ]

    def _write(self, m: Module, fields: Any, begin: Signal, emit: Emit, last_written: Signal) -> Signal:
        """Writes words to their addresses. Returns whether an address is not in the buffer; its word is not written."""
        m.submodules.results = results = RamQueue(self.config, 8 * self.config.ic_p, self.room)
        m.submodules.walk = walk = RowWalk(self.config)
        write = self.fm_write[0]
        room = Signal(range(self.room + 1), init=self.room)
        outside, beyond, written = (Signal(name=name) for name in ("outside", "beyond", "written"))
        m.d.sync += room.eq(stepped(room, written, emit.begun, self.room))
        m.d.comb += [
            emit.room.eq(room != 0),
            results.i.valid.eq(emit.whole),
            results.i.payload.eq(emit.word),
            walk.load.eq(begin),
            walk.first.eq(fields.o_addr),
            *(getattr(walk, name).eq(fields[f"o_{name}"]) for name in ("s0", "s1", "cs")),
            *(getattr(walk, name).eq(fields[name]) for name in ("n0", "n1", "words")),
            outside.eq(at_least(walk.addr, self.config.fm_words)),
            beyond.eq(results.o.valid & outside),
            write.valid.eq(results.o.valid & ~outside),
            write.addr.eq(walk.addr),
            write.data.eq(results.o.payload),
            write.mask.eq(~0),
            written.eq(write.valid & write.ready),
            results.o.ready.eq(written),
            walk.step.eq(written),
            last_written.eq(written & walk.last),
        ]
        return beyond
