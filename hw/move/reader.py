"""SAVE's side towards the feature maps: words in, pieces of beats out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.interfaces import READ_LATENCY, FeatureMapRead
from hw.move.unpacker import piece_layout
from hw.move.words import word_layout
from isa.config import MachineConfig

ROOM = 8
"""Words that may be on the way or waiting: a read that is granted cannot be refused."""


def read_context(config: MachineConfig) -> data.StructLayout:
    """What SAVE sends along with its words: the lanes (modulo the beat) where the first byte, the next pixel and the
    next row begin, and whether every pixel is a run of its own (``apart``)."""
    lane = unsigned(exact_log2(config.axi_bytes))
    return data.StructLayout({
        "pc": unsigned(32),
        "flip": unsigned(1),
        "apart": unsigned(1),
        "lane": lane,
        "pixel_step": lane,
        "row_step": lane,
    })


class WordReader(wiring.Component):
    """One word per cycle from the feature maps; a piece ``READ_LATENCY`` + 2 cycles after its word's grant.

    ``pieces`` can be stalled: no more than ``ROOM`` words are asked for ahead. A word outside the buffer is not asked
    for: ``outside`` strobes. With ``halt`` nothing is asked for.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "words": In(stream.Signature(word_layout(config, read_context(config)))),
            "fm_read": Out(FeatureMapRead(config)),
            "pieces": Out(stream.Signature(piece_layout(config))),
            "halt": In(1),
            "outside": Out(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        word = self.words.payload
        context = word.context
        room = Signal(range(ROOM + 1), init=ROOM)
        may_read = Signal()
        grant = Signal()
        m.d.comb += [
            may_read.eq((room != 0) & ~word.outside & ~self.halt),
            self.outside.eq(self.words.valid & word.outside),
            self.fm_read.valid.eq(self.words.valid & may_read),
            self.fm_read.addr.eq(word.addr),
            self.words.ready.eq(self.fm_read.ready & may_read),
            grant.eq(self.fm_read.valid & self.fm_read.ready),
        ]

        lane_shape = context.lane.shape()
        kept = {name: Signal(lane_shape, name=f"{name}_kept") for name in ("lane", "pixel", "row")}
        lane, pixel, row = (Mux(word.begin, context.lane, kept[name]) for name in ("lane", "pixel", "row"))
        next_row = Signal(lane_shape)
        next_pixel = Signal(lane_shape)
        m.d.comb += [next_row.eq(row + context.row_step), next_pixel.eq(pixel + context.pixel_step)]
        with m.If(grant):
            m.d.sync += [kept["row"].eq(row), kept["pixel"].eq(pixel), kept["lane"].eq(lane + word.count)]
            with m.If(word.end_row):
                m.d.sync += [signal.eq(next_row) for signal in kept.values()]
            with m.Elif(word.end_pixel):
                m.d.sync += [kept["pixel"].eq(next_pixel), kept["lane"].eq(next_pixel)]

        layout = data.StructLayout({
            "valid": unsigned(1),
            "count": word.count.shape(),
            "lane": lane_shape,
            "last": unsigned(1),
            "flip": unsigned(1),
        })
        stages = [Signal(layout, name=f"granted{n}") for n in range(READ_LATENCY)]
        m.d.sync += [
            stages[0].valid.eq(grant),
            stages[0].count.eq(word.count),
            stages[0].lane.eq(lane),
            stages[0].last.eq(word.end_row | (context.apart & word.end_pixel)),
            stages[0].flip.eq(context.flip),
        ]
        m.d.sync += [later.eq(earlier) for earlier, later in pairwise(stages)]

        arrived = stages[-1]
        m.submodules.fifo = fifo = SyncFIFOBuffered(width=piece_layout(self.config).size, depth=ROOM)
        into = data.View(piece_layout(self.config), fifo.w_data)
        flips = Mux(arrived.flip, sum(0x80 << 8 * n for n in range(self.config.ic_p)), 0)
        take = Signal()
        m.d.comb += [
            fifo.w_en.eq(arrived.valid),
            into.data.eq(self.fm_read.data ^ flips),
            into.count.eq(arrived.count),
            into.lane.eq(arrived.lane),
            into.last.eq(arrived.last),
            self.pieces.valid.eq(fifo.r_rdy),
            self.pieces.payload.eq(fifo.r_data),
            fifo.r_en.eq(self.pieces.ready),
            take.eq(self.pieces.valid & self.pieces.ready),
        ]
        m.d.sync += room.eq(room - grant + take)
        return m
