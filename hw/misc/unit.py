"""The MISC unit: element-wise work, resize and reorg."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import FM_ADDRESS_BITS, FeatureMapRead, FeatureMapWrite, TableWrite, UnitSignature
from hw.misc.arithmetic import SETTINGS, Arithmetic, settings_of
from hw.misc.operand import OperandFetch
from hw.misc.walk import Walk
from hw.post.activation import Activate
from hw.window.queue import Queue
from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import Unit

OUTPUT = data.StructLayout({"addr": unsigned(FM_ADDRESS_BITS), "last": unsigned(1)})
IN_FLIGHT = 32
"""Words between the loops and the write port, so many that the pipeline never waits for their addresses."""


class MiscUnit(wiring.Component):
    """Runs MISC instructions: one word per cycle while both operands' banks and the output's are free.

    ::

        instruction -> Walk -+-> OperandFetch A -+-> Arithmetic -> Activate -+-> Queue -> feature map
                             +-> OperandFetch B -+                           |
                             +-> output address queue -----------------------+

    Instructions follow each other without a gap; their numbers wait in ``settings`` until their first operands
    arrive. From an accepted instruction to its first write take 17 cycles when no bank is busy; ``done`` comes one
    cycle after the last write. Writes happen in the order of the loops and after the reads of the same iteration,
    so work in place is safe.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            **UnitSignature(Unit.MISC).members,
            "fm_read": Out(FeatureMapRead(config)).array(2),
            "fm_write": Out(FeatureMapWrite(config)).array(1),
            "table_write": In(TableWrite(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.walk = walk = Walk()
        m.submodules.settings = settings = Queue(SETTINGS, depth=4)
        m.submodules.operand_a = a = OperandFetch(self.config)
        m.submodules.operand_b = b = OperandFetch(self.config)
        m.submodules.outputs = outputs = Queue(OUTPUT, depth=IN_FLIGHT)
        m.submodules.arithmetic = arithmetic = Arithmetic(self.config)
        m.submodules.activate = activate = Activate(self.config, self.config.ic_p)
        wiring.connect(m, a.fm_read, wiring.flipped(self.fm_read[0]))
        wiring.connect(m, b.fm_read, wiring.flipped(self.fm_read[1]))
        wiring.connect(m, wiring.flipped(self.table_write), activate.table_write)

        self._accept(m, walk, settings)
        self._request(m, walk, a, b, outputs)
        self._compute(m, settings, a, b, arithmetic, activate)
        self._write(m, activate, outputs)
        m.d.comb += self.wait_bank.eq(Cat(lane.valid & ~lane.ready for lane in (*self.fm_read, *self.fm_write)).any())
        return m

    def _accept(self, m: Module, walk: Walk, settings: Queue) -> None:
        """An instruction enters the loops and the settings queue together."""
        op = self.instruction.payload.op.MISC
        open_ = ~self.halt & ~self.fault.valid
        m.d.comb += [
            self.instruction.ready.eq(walk.i.ready & settings.i.ready & open_),
            walk.i.valid.eq(self.instruction.valid & settings.i.ready & open_),
            walk.i.payload.eq(self.instruction.payload),
            settings.i.valid.eq(self.instruction.valid & walk.i.ready & open_),
            *(settings.i.payload[name].eq(value) for name, value in settings_of(op).items()),
        ]
        running = Signal(range(2 * IN_FLIGHT))
        m.d.sync += running.eq(running + (self.instruction.valid & self.instruction.ready) - self.done)
        m.d.comb += self.busy.eq(running != 0)

    def _request(self, m: Module, walk: Walk, a: OperandFetch, b: OperandFetch, outputs: Queue) -> None:
        """An iteration's three addresses are checked and leave together."""
        iteration = walk.o.payload
        words = self.config.fm_words
        outside = Signal()
        leave = Signal()
        m.d.comb += [
            outside.eq((iteration.a >= words) | (iteration.reads_b & (iteration.b >= words)) | (iteration.o >= words)),
            walk.o.ready.eq(a.i.ready & b.i.ready & outputs.i.ready & ~outside & ~self.halt & ~self.fault.valid),
            leave.eq(walk.o.valid & walk.o.ready),
            a.i.valid.eq(leave),
            a.i.payload.addr.eq(iteration.a),
            a.i.payload.last.eq(iteration.last),
            b.i.valid.eq(leave & iteration.reads_b),
            b.i.payload.addr.eq(iteration.b),
            outputs.i.valid.eq(leave),
            outputs.i.payload.addr.eq(iteration.o),
            outputs.i.payload.last.eq(iteration.last),
        ]
        with m.If(walk.o.valid & outside & ~self.fault.valid):
            m.d.sync += [
                self.fault.valid.eq(1),
                self.fault.fault.code.eq(Fault.FM_ADDRESS),
                self.fault.fault.pc.eq(iteration.pc),
            ]

    def _compute(
        self, m: Module, settings: Queue, a: OperandFetch, b: OperandFetch, arithmetic: Arithmetic, activate: Activate
    ) -> None:
        """Operands enter the pipeline as soon as all that the mode reads are there."""
        now = settings.o.payload
        enter = Signal()
        result = arithmetic.o.payload
        m.d.comb += [
            arithmetic.i.valid.eq(a.o.valid & (b.o.valid | ~now.reads_b)),
            arithmetic.i.payload.a.eq(a.o.payload.word),
            arithmetic.i.payload.b.eq(b.o.payload.word),
            arithmetic.i.payload.settings.eq(now),
            enter.eq(arithmetic.i.valid & arithmetic.i.ready),
            a.o.ready.eq(enter),
            b.o.ready.eq(enter & now.reads_b),
            settings.o.ready.eq(enter & a.o.payload.last),
            activate.i.valid.eq(arithmetic.o.valid),
            arithmetic.o.ready.eq(activate.i.ready),
            activate.i.payload.r.eq(result.r),
            *(activate.i.payload[name].eq(result.settings[name]) for name in ("zp", "lo", "hi", "act", "table")),
        ]

    def _write(self, m: Module, activate: Activate, outputs: Queue) -> None:
        """Results meet their addresses; a short queue keeps the bank's answer out of the pipeline's enable."""
        write = self.fm_write[0]
        layout = data.StructLayout({"word": unsigned(8 * self.config.ic_p), "to": OUTPUT})
        m.submodules.leaving = leaving = Queue(layout)
        written = Signal()
        m.d.comb += [
            leaving.i.valid.eq(activate.o.valid),
            leaving.i.payload.word.eq(activate.o.payload.as_value()),
            leaving.i.payload.to.eq(outputs.o.payload),
            activate.o.ready.eq(leaving.i.ready),
            outputs.o.ready.eq(leaving.i.ready & activate.o.valid),
            write.valid.eq(leaving.o.valid),
            write.addr.eq(leaving.o.payload.to.addr),
            write.data.eq(leaving.o.payload.word),
            write.mask.eq(~0),
            leaving.o.ready.eq(write.ready),
            written.eq(write.valid & write.ready),
            self.active.eq(written),
        ]
        m.d.sync += self.done.eq(written & leaving.o.payload.to.last)
