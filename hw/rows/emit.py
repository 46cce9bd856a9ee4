"""The last pass over a row, which makes its results, word by word."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from hw.interfaces import BufferRead
from hw.misc.delay import Delay
from hw.rows import results
from hw.rows.layouts import PREPARED, RowWrite, fields_layout
from hw.rows.memory import LATENCY as MEMORY
from hw.rows.memory import RowMemory
from hw.rows.results import Results
from hw.rows.row_pass import RowPass
from hw.rows.total import indices
from isa.config import MachineConfig
from isa.rows import T_BITS

RESULT = MEMORY + results.LATENCY
"""The cycles from a slice to its results before the zero-point."""
FINISH = 3
"""The cycles from there to its bytes: sum and bounds."""
LATENCY = RESULT + FINISH + 1
"""The cycles from a slice to the word that it ends."""
R_BITS = 12


def norm_read(config: MachineConfig) -> BufferRead:
    """The read port of NORM: the records of a slice."""
    depth_bits = (config.buffer_depth("NORM") - 1).bit_length()
    return BufferRead(ceil_log2(config.row_parts) + depth_bits, 64 * config.row_lanes)


class Emit(wiring.Component):
    """Takes the numbers of a row (``prepared``) and puts out each ``word`` ``LATENCY`` cycles after its last slice began. It
    takes a slice in every cycle. A word begins only while there is ``room``, and nothing stalls after that.

    ``begin`` starts with the first row of an instruction. ``begun`` strobes with the first slice of a word. ``over`` strobes
    with the last slice of a row, whose place is free then. The table is outside: ``t`` comes a cycle after its ``index``.
    Elements beyond the row's end become ``zp``.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        lanes = config.row_lanes
        super().__init__({
            "begin": In(1),
            "softmax": In(1),
            "fields": In(fields_layout(config)),
            "write": In(RowWrite(config)),
            "prepared": In(stream.Signature(PREPARED)),
            "index": Out(data.ArrayLayout(8, lanes)),
            "t": In(data.ArrayLayout(unsigned(T_BITS), lanes)),
            "norms": Out(norm_read(config)),
            "room": In(1),
            "begun": Out(1),
            "over": Out(1),
            "active": Out(1),
            "whole": Out(1),
            "word": Out(8 * config.ic_p),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self.config
        m.submodules.memory = memory = RowMemory(config)
        m.submodules.row_pass = row_pass = RowPass(config)
        m.submodules.results = found = Results(config.row_lanes)
        wiring.connect(m, wiring.flipped(self.write), memory.write)
        step, row = row_pass.o, self.prepared.payload
        m.d.comb += [
            row_pass.restart.eq(self.begin),
            row_pass.go.eq(self.prepared.valid & ~self.begin & (self.room | ~step.begins)),
            row_pass.words.eq(self.fields.words),
            row_pass.last_lanes.eq(self.fields.last_lanes),
            self.over.eq(step.valid & step.closes),
            self.prepared.ready.eq(self.over),
            self.begun.eq(step.valid & step.begins),
            self.active.eq(step.valid),
            memory.place.eq(step.place),
        ]
        prepared = Delay(m, row, "prepared")(MEMORY)
        for lane, index in enumerate(indices(m, memory.x, prepared.most, "index")):
            m.d.comb += self.index[lane].eq(index)
        m.d.sync += found.t.eq(self.t)
        m.d.comb += [
            found.softmax.eq(self.softmax),
            found.row.eq(prepared),
            found.x.eq(memory.x),
            found.record.as_value().eq(self.norms.data),
            found.zp.eq(self.fields.a_zp),
            found.shift.eq(self.fields.shift),
        ]
        self._ask_norms(m, step)
        self._finish(m, step, list(zip(found.whole, found.up, strict=True)))
        return m

    def _ask_norms(self, m: Module, step: Any) -> None:
        """Asks for the records of a slice, so that they come with the products of its elements."""
        first = Signal.like(self.fields.p_addr)
        asks = MEMORY + results.DIFFERENT - 1
        word = Delay(m, step.place.word, "norm_word")(asks - 1)
        part = Delay(m, step.place.part, "norm_part")(asks)
        m.d.sync += first.eq(self.fields.p_addr + word)
        m.d.comb += [self.norms.en.eq(1), self.norms.addr.eq(Cat(part[: ceil_log2(self.config.row_parts)], first))]

    def _finish(self, m: Module, step: Any, results: list[tuple[Value, Value]]) -> None:
        config, fields = self.config, self.fields
        used = Delay(m, step.used, "used")(RESULT + FINISH - 1)
        part = Delay(m, step.place.part, "part")(RESULT + FINISH)
        size = []
        for lane, (value, up) in enumerate(results):
            total = Signal(signed(R_BITS), name=f"total{lane}", reset_less=True)
            raised, bounded = (Signal(signed(R_BITS), name=f"{name}{lane}", reset_less=True) for name in ("raised", "bounded"))
            m.d.sync += [
                total.eq(value + fields.zp + up),
                raised.eq(Mux(total > fields.lo, total, fields.lo)),
                bounded.eq(Mux(used[lane], Mux(raised < fields.hi, raised, fields.hi), fields.zp)),
            ]
            size.append(bounded[:8])
        width = 8 * config.row_lanes
        for number in range(config.row_parts):
            with m.If(part == number):
                m.d.sync += self.word.word_select(number, width).eq(Cat(size))
        valid, ends = (Delay(m, step[name], name)(RESULT + FINISH) for name in ("valid", "ends"))
        m.d.sync += self.whole.eq(valid & ends)

