"""The chip side of a move, which finds the feature-map words, and how many bytes of each are used."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from isa.config import MachineConfig


def walk_layout(config: MachineConfig, context: ShapeLike) -> data.StructLayout:
    """A walk over ``rows x pixels`` pixels of ``run`` bytes each. ``context`` goes along with each of their words."""
    address = unsigned(min(20, config.fm_address_bits))
    return data.StructLayout({
        "addr": address,
        "row_step": address,
        "pixel_step": unsigned(8),
        "vector_step": address,
        "rows": unsigned(12),
        "pixels": unsigned(12),
        "run": unsigned(16),
        "context": context,
    })


def word_layout(config: MachineConfig, context: ShapeLike) -> data.StructLayout:
    """A word, and the number of its bytes in use, which is ``more`` and one. The flags mark the ``begin`` and ``end`` of the
    transfer, and the last word of a row (``end_row``) and of a pixel (``end_pixel``)."""
    return data.StructLayout({
        "addr": unsigned(config.fm_address_bits),
        "more": unsigned(bits_for(config.ic_p - 1)),
        "begin": unsigned(1),
        "end_pixel": unsigned(1),
        "end_row": unsigned(1),
        "end": unsigned(1),
        "outside": unsigned(1),
        "context": context,
    })


class WordWalk(wiring.Component):
    """Makes one word per cycle. The first comes two cycles after its transfer, and no cycle is lost between transfers. It
    stalls while ``o`` is refused.

    Counters step in one cycle, and what they say about the word is registered in the next. ``outside``: the address is at or
    above ``fm_words``. Pixels of ``run`` bytes take ``ceil(run / ic_p)`` words.
    """

    def __init__(self, config: MachineConfig, context: ShapeLike) -> None:
        self.config = config
        self.context = context
        super().__init__({
            "i": In(stream.Signature(walk_layout(config, context))),
            "o": Out(stream.Signature(word_layout(config, context))),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes = self.config.ic_p
        current = Signal(walk_layout(self.config, self.context))
        valid = Signal()
        begin = Signal()
        word = Signal(self.config.fm_address_bits)
        pixel = Signal(self.config.fm_address_bits)
        row = Signal(self.config.fm_address_bits)
        bytes_left = Signal(16)
        pixels_left = Signal(12)
        rows_left = Signal(12)
        # These flags of the word are computed when the counters step.
        end_pixel, end_pixels, end_rows = (Signal(name=name) for name in ("end_pixel", "end_pixels", "end_rows"))
        short, single = (Signal(name=name) for name in ("short", "single"))
        """``short``: a pixel of the transfer takes one word. ``single``: a row has one pixel."""
        end_row = Signal()
        end = Signal()
        advance = Signal()
        m.d.comb += [
            end_row.eq(end_pixel & end_pixels),
            end.eq(end_row & end_rows),
            advance.eq(~self.o.valid | self.o.ready),
            self.i.ready.eq(~valid | (advance & end)),
        ]
        with m.If(advance):
            m.d.sync += [
                self.o.valid.eq(valid),
                self.o.payload.addr.eq(word),
                self.o.payload.more.eq(Mux(end_pixel, bytes_left - 1, lanes - 1)),
                self.o.payload.begin.eq(begin),
                self.o.payload.end_pixel.eq(end_pixel),
                self.o.payload.end_row.eq(end_row),
                self.o.payload.end.eq(end),
                self.o.payload.outside.eq(word >= self.config.fm_words),
                self.o.payload.context.eq(current.context),
            ]

        new = self.i.payload
        following = Signal(self.config.fm_address_bits)
        with m.If(end_row):
            m.d.comb += following.eq(row + current.row_step)
        with m.Elif(end_pixel):
            m.d.comb += following.eq(pixel + current.pixel_step)
        with m.Else():
            m.d.comb += following.eq(word + current.vector_step)
        with m.If(self.i.ready):
            m.d.sync += [
                valid.eq(self.i.valid),
                current.eq(new),
                begin.eq(1),
                word.eq(new.addr),
                pixel.eq(new.addr),
                row.eq(new.addr),
                bytes_left.eq(new.run),
                pixels_left.eq(new.pixels),
                rows_left.eq(new.rows),
                *(signal.eq(new.run <= lanes) for signal in (short, end_pixel)),
                *(signal.eq(new.pixels == 1) for signal in (single, end_pixels)),
                end_rows.eq(new.rows == 1),
            ]
        with m.Elif(advance):
            m.d.sync += [begin.eq(0), word.eq(following)]
            with m.If(end_pixel):
                m.d.sync += [
                    pixel.eq(following),
                    bytes_left.eq(current.run),
                    end_pixel.eq(short),
                    pixels_left.eq(Mux(end_pixels, current.pixels, pixels_left - 1)),
                    end_pixels.eq(Mux(end_pixels, single, pixels_left == 2)),
                ]
            with m.Else():
                m.d.sync += [bytes_left.eq(bytes_left - lanes), end_pixel.eq(bytes_left <= 2 * lanes)]
            with m.If(end_row):
                m.d.sync += [row.eq(following), rows_left.eq(rows_left - 1), end_rows.eq(rows_left == 2)]
        return m
