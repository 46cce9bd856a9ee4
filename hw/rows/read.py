"""Reads the words of rows and cuts them into slices."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.choice import pick
from hw.arithmetic.small import at_least
from hw.buffers.read_port import ReadPort
from hw.interfaces import FeatureMapRead
from hw.rows.layouts import RowWrite, fields_layout, slice_layout
from hw.rows.row_pass import RowPass
from hw.rows.walk import RowWalk
from isa.config import MachineConfig
from isa.depths import ROW_ANSWERS


class ReadRows(wiring.Component):
    """Reads the rows of an instruction. A word takes one cycle, or as many as it has slices. Each slice comes out at ``o`` and
    goes into the row buffer (``write``), one cycle after it is cut off. A row begins only while there is ``room`` for it;
    ``begun`` strobes then. Words wait for their banks and for the slices before them, and slices wait for words.

    ``begin`` starts, and ``runs`` allows new reads. ``outside`` is high from the cycle on in which a word is not in the buffer.
    That word is not asked for.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "begin": In(1),
            "runs": In(1),
            "fields": In(fields_layout(config)),
            "fm_read": Out(FeatureMapRead(config)),
            "room": In(1),
            "begun": Out(1),
            "o": Out(slice_layout(config)),
            "write": Out(RowWrite(config)),
            "outside": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.port = port = ReadPort(self.config, 1, unsigned(0), ROW_ANSWERS, ahead=2, always=True)
        wiring.connect(m, port.fm_read[0], wiring.flipped(self.fm_read))
        self._ask(m, port)
        self._cut(m, port)
        return m

    def _ask(self, m: Module, port: ReadPort) -> None:
        m.submodules.walk = walk = RowWalk(self.config)
        fields = self.fields
        asks = Signal()
        beyond = Signal()
        m.d.comb += [
            walk.load.eq(self.begin),
            walk.first.eq(fields.a_addr),
            *(getattr(walk, name).eq(fields[f"a_{name}"]) for name in ("s0", "s1", "cs")),
            *(getattr(walk, name).eq(fields[name]) for name in ("n0", "n1", "words")),
            beyond.eq(at_least(walk.addr, self.config.fm_words)),
            self.outside.eq(asks & beyond),
            port.i.valid.eq(asks & ~beyond & self.runs),
            port.i.payload.addr[0].eq(walk.addr),
            walk.step.eq(port.i.valid & port.i.ready),
        ]
        with m.If(self.begin):
            m.d.sync += asks.eq(1)
        with m.Elif(walk.step & walk.last):
            m.d.sync += asks.eq(0)

    def _cut(self, m: Module, port: ReadPort) -> None:
        m.submodules.row_pass = row_pass = RowPass(self.config)
        step = row_pass.o
        word = port.o.payload.words[0]
        width = 8 * self.config.row_lanes
        slices = [word[first : first + width] for first in range(0, len(word), width)]
        m.d.comb += [
            row_pass.restart.eq(self.begin),
            row_pass.go.eq(port.o.valid & ~self.begin & (self.room | ~step.opens)),
            row_pass.words.eq(self.fields.words),
            row_pass.last_lanes.eq(self.fields.last_lanes),
            port.o.ready.eq(step.valid & step.ends),
            self.begun.eq(step.valid & step.opens),
            self.write.en.eq(self.o.valid),
            self.write.data.eq(self.o.x.as_value()),
        ]
        m.d.sync += [
            self.o.x.as_value().eq(pick(slices, step.place.part) if len(slices) > 1 else slices[0]),
            *(self.o[name].eq(step[name]) for name in ("valid", "used", "opens", "closes")),
            self.write.place.eq(step.place),
        ]
