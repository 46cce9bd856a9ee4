"""LOADW, which writes words of pixels into lanes of weight words."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from hw.arithmetic.choice import pick
from hw.copies import Spread
from hw.interfaces import TICKET_BITS, LaneWrite
from hw.misc.delay import Delay
from hw.move.parameters import write_port
from hw.move.product_records import RecordWriter
from hw.move.product_sums import LANE_SUM_BITS, ProductSums
from hw.move.rotator import packed_layout
from isa.config import MachineConfig
from isa.instructions import Buffer
from isa.latency import product_settle

PRODUCT_LAYOUT = data.StructLayout({
    "ticket": unsigned(TICKET_BITS),
    "turned": unsigned(1),
    "run": unsigned(16),
    "fill": unsigned(8),
    "w_addr": unsigned(16),
    "w_step": unsigned(16),
    "p_addr": unsigned(16),
    "x_zp": signed(8),
    "w_zp": signed(8),
    "scale": unsigned(32),
})
"""The fields of a LOADW that say what becomes of its words."""


def lane_write(config: MachineConfig) -> LaneWrite:
    """The port through which weights are written."""
    return LaneWrite(ceil_log2(config.weight_depth), config.ic_p, config.oc_p)


class ProductWriter(wiring.Component):
    """Writes the words of one LOADW into lanes of weight words, and the records of their sums into PARAM.

    ::

        words -> step ---> weights
                  +-> sums -> records -> params

    With ``turned`` a word takes a cycle, but a pixel of one word takes two, because a record takes as many. Otherwise a word
    takes a cycle for each chunk of its run. Nothing else stalls ``words`` before the last one. Weights are written two cycles
    after their step.

    =======  ===================================================================================================
    IDLE     until ``start``, with the ``settings``
    WORDS    words of pixels
    FILL     pixels of fill, until all lanes of the weight words have something
    SETTLE   until the last sum, or the last record, is there
    RECORDS  not turned: the sum of a channel in every second cycle; then SETTLE again
    =======  ===================================================================================================

    ``done`` strobes with the last write of a record or later. ``outside`` is high, and nothing is written, at words that a
    buffer does not have. It belongs to the instruction ``ticket``. ``active``: weights are written.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "start": In(1),
            "settings": In(PRODUCT_LAYOUT),
            "words": In(stream.Signature(packed_layout(config))),
            "weights": Out(lane_write(config)),
            "params": Out(write_port(config, Buffer.PARAM)),
            "active": Out(1),
            "done": Out(1),
            "outside": Out(1),
            "ticket": Out(TICKET_BITS),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self.config
        m.submodules.sums = sums = ProductSums(config)
        m.submodules.records = records = RecordWriter(config)
        now = Signal(PRODUCT_LAYOUT)
        word = self.words.payload
        lane = Signal(config.ic_p)
        """The lane to which pixels go, as a bit."""
        left = Signal(16)
        """The bytes of the pixel that are left, with those of this step."""
        end_pixel = Signal()
        short = Signal()
        """A pixel takes one step."""
        step = Signal()
        filling = Signal()
        end_lanes = Signal()
        """``lane`` is the last one."""
        rests = Signal()
        """The cycle before ended a pixel."""
        ready_to_step = Signal()
        m.d.comb += [
            end_lanes.eq(Mux(now.turned, lane[config.oc_p - 1], lane[-1])),
            ready_to_step.eq(~(now.turned & end_pixel & rests)),
            self.ticket.eq(now.ticket),
        ]
        m.d.sync += rests.eq(step & end_pixel)
        settle_cycles = product_settle(config)
        settle = Signal(range(settle_cycles + 1))
        summed = Signal()
        """All sums have become records, or will in SETTLE."""
        second = Signal()
        """The cycle before gave a sum."""
        sums_due = Signal()
        shift = Signal()
        """A sum is given."""
        shifts = Spread(m, shift, sums_due & ~second)
        m.d.comb += sums.shift.eq(Cat(shifts.of(LANE_SUM_BITS) for _ in range(config.ic_p)))
        end_chunk = Signal()
        """``lane`` is the last one of a chunk."""
        m.d.comb += end_chunk.eq(lane[config.oc_p - 1])
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.next = "WORDS"
            with m.State("WORDS"):
                m.d.comb += [
                    step.eq(self.words.valid & word.write & ready_to_step),
                    self.words.ready.eq(~word.write | (ready_to_step & (now.turned | end_pixel))),
                ]
                m.d.sync += settle.eq(settle_cycles)
                with m.If(self.words.valid & self.words.ready & word.done):
                    m.next = "FILL"
                    with m.If(Mux(word.write, end_lanes, lane[0])):
                        m.next = "SETTLE"
            with m.State("FILL"):
                m.d.comb += [filling.eq(1), step.eq(ready_to_step)]
                m.d.sync += settle.eq(settle_cycles)
                with m.If(step & end_pixel & end_lanes):
                    m.next = "SETTLE"
            with m.State("SETTLE"):
                m.d.sync += [settle.eq(settle - 1), second.eq(0)]
                m.d.sync += self.done.eq((settle == 1) & summed)
                with m.If(settle == 0):
                    m.next = "RECORDS"
                    with m.If(summed):
                        m.next = "IDLE"
            with m.State("RECORDS"):
                m.d.comb += sums_due.eq(1)
                m.d.sync += [second.eq(~second), settle.eq(settle_cycles)]
                with m.If(shift & end_chunk & end_pixel):
                    m.d.sync += summed.eq(1)
                    m.next = "SETTLE"
        moves = Signal()
        """A step of a pixel, or of the records of its lanes, ends."""
        m.d.comb += moves.eq(step | (shift & end_chunk))
        width = Mux(now.turned, config.ic_p, config.oc_p)
        with m.If(self.start):
            new = self.settings
            new_width = Mux(new.turned, config.ic_p, config.oc_p)
            m.d.sync += [
                now.eq(new),
                lane.eq(1),
                left.eq(new.run),
                *(signal.eq(new.run <= new_width) for signal in (short, end_pixel)),
                summed.eq(new.turned),
            ]
        with m.Else():
            with m.If(moves):
                m.d.sync += [
                    left.eq(Mux(end_pixel, now.run, left - width)),
                    end_pixel.eq(Mux(end_pixel, short, left <= 2 * width)),
                ]
            with m.If((step & end_pixel) | shift):
                m.d.sync += lane.eq(Mux(Mux(step, end_lanes, end_chunk), 1, lane << 1))
        vector = Signal(8 * config.ic_p, reset_less=True)
        """The vector of the step before, or 0 if there was none."""
        idle = Signal()
        m.d.comb += idle.eq(~step)
        with m.If(idle):
            m.d.sync += vector.eq(0)
        with m.Else():
            m.d.sync += vector.eq(Mux(filling, now.fill.replicate(config.ic_p), word.data))
        beyond = self._place(m, now, step, end_pixel, end_lanes)
        self._write(m, now, vector, lane, step & ~beyond, step & end_pixel)
        self._sum(m, now, vector, sums, records, step, end_pixel)
        connect(m, records.params, flipped(self.params))
        m.d.comb += self.active.eq(step)
        weight_outside = Signal()
        m.d.sync += weight_outside.eq(step & beyond)
        m.d.comb += self.outside.eq(weight_outside | records.outside)
        return m

    def _place(self, m: Module, now: Any, step: Value, end_pixel: Value, end_lanes: Value) -> Value:
        """Drives the number of the word that is written. Returns whether the buffer does not have it."""
        base = Signal(17)
        """The word of the pixel's first step."""
        addr = Signal(17)
        next_base = Signal(17)
        beyond = Signal()
        m.d.comb += [
            next_base.eq(Mux(end_lanes, Mux(now.turned, addr, base) + 1, base)),
            beyond.eq(addr >= self.config.weight_depth),
        ]
        with m.If(self.start):
            m.d.sync += [base.eq(self.settings.w_addr), addr.eq(self.settings.w_addr)]
        with m.Elif(step):
            with m.If(end_pixel):
                m.d.sync += [base.eq(next_base), addr.eq(next_base)]
            with m.Else():
                m.d.sync += addr.eq(addr + Mux(now.turned, 1, now.w_step))
        m.d.sync += self.weights.addr.eq(Delay(m, addr, "later_addr")(1))
        return beyond

    def _write(self, m: Module, now: Any, vector: Value, lane: Value, write: Value, end_pixel: Value) -> None:
        config, weights = self.config, self.weights
        chunk_bits = 8 * config.oc_p
        chunks = config.ic_p // config.oc_p
        chunk = Signal(range(max(2, chunks)))
        """The number of the chunk in the vector, if not turned."""
        with m.If(self.start | end_pixel):
            m.d.sync += chunk.eq(0)
        with m.Elif(write):
            m.d.sync += chunk.eq(chunk + 1)
        # These registers have a reset of their own in place of the machine's.
        data = Signal.like(weights.data, reset_less=True)
        clears = Signal.like(weights.clears, reset_less=True)
        turns = Signal()
        straight = Signal(init=1)
        m.d.comb += turns.eq(write & now.turned)
        m.d.sync += straight.eq(~turns)
        writes, turned, lanes, of_vector = (
            Delay(m, value, name)(1)
            for value, name in ((write, "writes"), (turns, "turns"), (lane, "lanes"), (chunk, "of_vector"))
        )
        m.d.sync += [
            weights.en.eq(writes),
            weights.inputs.eq(Mux(writes, Mux(turned, ~0, lanes), 0)),
            weights.spares.eq(Mux(turned, ~lanes, 0)),
            data.eq(Mux(turned, ~0, pick([vector[n * chunk_bits :][:chunk_bits] for n in range(chunks)], of_vector))),
            clears.eq(Mux(straight, 0, ~vector)),
        ]
        m.d.comb += [weights.data.eq(data), weights.clears.eq(clears)]

    def _sum(self, m: Module, now: Any, vector: Value, sums: Any, records: Any, step: Value, end_pixel: Value) -> None:
        """Sums a vector a cycle after its step."""
        begin = Signal()
        """The vector is the first of its pixel, or of all if not turned."""
        counts = Signal()
        m.d.comb += [
            counts.eq(step & (now.turned | end_pixel)),
            sums.clear.eq(self.start),
            sums.vector.eq(vector),
            sums.turned.eq(now.turned),
            sums.w_zp.eq(now.w_zp),
            records.start.eq(self.start),
            records.p_addr.eq(self.settings.p_addr),
            records.x_zp.eq(now.x_zp),
            records.scale.eq(now.scale),
            records.valid.eq(sums.valid),
            records.value.eq(sums.value),
        ]
        m.d.sync += [
            sums.counted.eq(counts),
            sums.first.eq(begin),
            sums.last.eq(now.turned & end_pixel),
        ]
        with m.If(self.start):
            m.d.sync += begin.eq(1)
        with m.Elif(counts):
            m.d.sync += begin.eq(now.turned & end_pixel)
