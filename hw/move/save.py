"""The SAVE unit: feature maps to DRAM."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.arithmetic.choice import pick
from hw.axi.signature import AxiWrite
from hw.axi.write_engine import NO_TAG, WriteEngine
from hw.fault_latch import latch_fault
from hw.interfaces import TICKET_BITS, FeatureMapRead, UnitSignature, unit_layout
from hw.move.load import region_bases, region_limits
from hw.move.product import RowBytes
from hw.move.reader import WordReader, read_context
from hw.move.runs import RunGenerator
from hw.move.unpacker import Unpacker
from hw.move.words import WordWalk
from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import Unit

AHEAD = 4
"""The instructions begun whose DRAM responses have not all come."""


class SaveUnit(wiring.Component):
    """Reads words and writes bytes. Each row or each pixel is a run.

    ::

        instruction -+-> row bytes -> runs ----------> write engine -> AW, W; B -> done
                     +-> words -> reader -> unpacker ----^
                                    fm_read

    The first read is asked for 4 cycles after the instruction. Its beat is on the bus 6 cycles after the grant, and ``done``
    follows the last response on the bus by two cycles. The unit moves at most one beat and one word per cycle. It stalls while
    a bank refuses a read and while the bus takes no beat. The addresses of one instruction are on their way while the words of
    the one before are read.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            **UnitSignature(Unit.SAVE, config).members,
            "bases": In(region_bases(config)),
            "limits": region_limits(),
            "axi": Out(AxiWrite(config)),
            "fm_read": Out(FeatureMapRead(config)),
            "idle": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self.config
        m.submodules.row_bytes = row_bytes = RowBytes()
        m.submodules.runs = runs = RunGenerator(config, NO_TAG)
        m.submodules.walk = walk = WordWalk(config, read_context(config))
        m.submodules.reader = reader = WordReader(config)
        m.submodules.unpacker = unpacker = Unpacker(config)
        m.submodules.engine = engine = WriteEngine(config)
        m.submodules.tickets = tickets = SyncFIFOBuffered(width=TICKET_BITS, depth=AHEAD)
        connect(m, runs.o, engine.runs)
        connect(m, walk.o, reader.words)
        connect(m, reader.pieces, unpacker.i)
        connect(m, unpacker.o, engine.beats)
        connect(m, engine.axi, flipped(self.axi))
        connect(m, reader.fm_read, flipped(self.fm_read))
        over = self.halt | self.fault.valid
        stop = Signal()
        """``over``, a cycle later, because the bus and the banks depend on it."""
        m.d.sync += stop.eq(over)
        m.d.comb += [
            engine.halt.eq(stop),
            reader.halt.eq(stop),
            self.idle.eq(engine.idle),
        ]

        taken = Signal(unit_layout(Unit.SAVE, config))
        walk_due = Signal()
        runs_due = Signal()
        save = taken.op.SAVE
        accept = Signal()
        m.d.comb += [
            self.instruction.ready.eq(~walk_due & ~runs_due & tickets.w_rdy & ~stop),
            accept.eq(self.instruction.valid & self.instruction.ready),
            tickets.w_en.eq(accept),
            tickets.w_data.eq(self.instruction.payload.ticket),
            row_bytes.start.eq(accept),
            row_bytes.pixels.eq(self.instruction.payload.op.SAVE.pixels),
            row_bytes.run.eq(self.instruction.payload.op.SAVE.run),
        ]
        with m.If(accept):
            m.d.sync += [taken.eq(self.instruction.payload), walk_due.eq(1), runs_due.eq(1)]
        with m.Else():
            with m.If(walk.i.ready):
                m.d.sync += walk_due.eq(0)
            with m.If(runs.i.valid & runs.i.ready):
                m.d.sync += runs_due.eq(0)

        apart = Signal()
        base = pick(list(self.bases), save.region)
        transfer, walked = runs.i.payload, walk.i.payload
        m.d.comb += [
            apart.eq(save.step != save.run),
            runs.i.valid.eq(runs_due & (apart | row_bytes.ready)),
            transfer.base.eq(base),
            transfer.limit.eq(pick(list(self.limits), save.region)),
            transfer.ticket.eq(taken.ticket),
            transfer.offset.eq(save.offset),
            transfer.row_stride.eq(save.row_stride),
            transfer.rows.eq(save.rows),
            transfer.one_row.eq(save.rows == 1),
            transfer.pieces.eq(save.pixels),
            transfer.single.eq(~apart | (save.pixels == 1)),
            transfer.step.eq(save.step),
            transfer.bytes.eq(Mux(apart, save.run, row_bytes.product)),
            walk.i.valid.eq(walk_due),
            walked.addr.eq(save.s_addr),
            walked.row_step.eq(save.s_ys),
            walked.pixel_step.eq(save.s_xs),
            walked.vector_step.eq(save.s_cs),
            walked.rows.eq(save.rows),
            walked.pixels.eq(save.pixels),
            walked.run.eq(save.run),
            walked.context.ticket.eq(taken.ticket),
            walked.context.flip.eq(save.flip),
            walked.context.apart.eq(apart),
            walked.context.lane.eq(base + save.offset),
            walked.context.pixel_step.eq(save.step),
            walked.context.row_step.eq(save.row_stride),
        ]

        begun = Signal(range(AHEAD + 3))
        m.d.comb += tickets.r_en.eq(engine.done)
        accepted = Signal()
        m.d.sync += [
            accepted.eq(accept),
            begun.eq(begun + accepted - engine.done),
            self.done.eq(engine.done & ~engine.error & ~over),
        ]
        latch_fault(m, self.fault, [
            (engine.error, Fault.WRITE_ERROR, tickets.r_data),
            (reader.outside, Fault.FM_ADDRESS, reader.words.payload.context.ticket),
            (runs.limited & runs.beyond, Fault.REGION_LIMIT, runs.ticket),  # the deepest of them
        ], halt=self.halt)
        m.d.comb += [
            self.busy.eq(accepted | (begun != 0)),
            self.active.eq(self.fm_read.valid & self.fm_read.ready),
            self.wait_bank.eq(self.fm_read.valid & ~self.fm_read.ready),
            self.wait_dram.eq(self.busy & ~self.fm_read.valid),
        ]
        return m
