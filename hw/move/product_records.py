"""The records of requantisation for weights that come from a map."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.move.parameters import write_port
from isa.config import MachineConfig
from isa.instructions import Buffer

SUM_BITS = 25
"""The bits of a sum of weights less their zero-points: at most 65 535 + 63 of them, each of at most 255."""
HALF_BITS = 32
"""The bits of each half of a record, its bias and its scale."""


class RecordWriter(wiring.Component):
    """Writes a record for each ``value`` into PARAM: the bias ``-x_zp * value``, and the ``scale``.

    Values come with ``valid``, lane by lane from output lane 0 of word ``p_addr`` on, with at least one cycle between two of
    them. A half of the record is put into a beat in each cycle. A beat is written when it is full, or with the last lane of a
    word: 3 cycles after the value for its bias, 4 for its scale. It never stalls. ``start`` begins a row of words. ``outside``
    is high, and nothing is written, at words that the buffer does not have.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "start": In(1),
            "p_addr": In(16),
            "x_zp": In(signed(8)),
            "scale": In(HALF_BITS),
            "valid": In(1),
            "value": In(signed(SUM_BITS)),
            "params": Out(write_port(config, Buffer.PARAM)),
            "outside": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes, halves = self.config.oc_p, self.config.axi_data_bits // HALF_BITS
        factor = Signal(signed(9))
        bias = Signal(unsigned(HALF_BITS))
        has_bias = Signal()
        has_scale = Signal()
        m.d.sync += [
            factor.eq(-self.x_zp),
            bias.eq(self.value * factor),
            has_bias.eq(self.valid),
            has_scale.eq(has_bias),
        ]

        word = Signal(17)
        lane = Signal(range(lanes))
        column = Signal.like(self.params.column)
        half = Signal(range(max(2, halves)))
        beat = Signal(self.config.axi_data_bits)
        placed = Signal()
        end_word = Signal()
        end_beat = Signal()
        inside = Signal()
        m.d.comb += [
            placed.eq(has_bias | has_scale),
            end_word.eq(has_scale & (lane == lanes - 1)),
            end_beat.eq(placed & ((half == halves - 1) | end_word)),
            inside.eq(word < self.config.param_depth),
            self.params.data.eq(beat),
        ]
        m.d.sync += [
            self.params.en.eq(end_beat & inside),
            self.params.addr.eq(word),
            self.params.column.eq(column),
            self.outside.eq(placed & ~inside),
        ]
        with m.If(placed):
            m.d.sync += [
                beat.word_select(half, HALF_BITS).eq(Mux(has_bias, bias, self.scale)),
                half.eq(Mux(end_beat, 0, half + 1)),
                column.eq(Mux(end_word, 0, column + end_beat)),
                word.eq(word + end_word),
            ]
        with m.If(has_scale):
            m.d.sync += lane.eq(Mux(end_word, 0, lane + 1))
        with m.If(self.start):
            m.d.sync += [
                word.eq(self.p_addr),
                lane.eq(0),
                column.eq(0),
                half.eq(0),
            ]
        return m
