"""SAVE's side towards the feature maps: takes words and hands out pieces of beats."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hw.buffers.read_port import ReadPort
from hw.interfaces import TICKET_BITS, FeatureMapRead
from hw.move.unpacker import piece_layout
from hw.move.words import word_layout
from isa.config import MachineConfig
from isa.depths import SAVE_WORDS


def read_context(config: MachineConfig) -> data.StructLayout:
    """The context that SAVE sends along with its words: the lanes (modulo the beat) where the first byte, the next pixel and
    the next row begin, and whether every pixel is a run of its own (``apart``)."""
    lane = unsigned(exact_log2(config.axi_bytes))
    return data.StructLayout({
        "ticket": unsigned(TICKET_BITS),
        "flip": unsigned(1),
        "apart": unsigned(1),
        "lane": lane,
        "pixel_step": lane,
        "row_step": lane,
    })


class WordReader(wiring.Component):
    """Reads one word per cycle from the feature maps. A word is asked for a cycle after it comes, and its piece comes
    ``BANK_LATENCY + 1`` cycles after the grant.

    ``pieces`` can be stalled, because no more than ``SAVE_WORDS`` words are asked for ahead. ``words`` stalls then, and while
    the bank is not free. A word outside the buffer is not asked for; ``outside`` strobes once those before it have been read.
    With ``halt`` no other word is taken.
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
        lane_shape = context.lane.shape()
        count = piece_layout(self.config)["count"].shape
        tag = data.StructLayout({"count": count, "lane": lane_shape, "last": unsigned(1), "flip": unsigned(1)})
        m.submodules.port = port = ReadPort(self.config, 1, tag, SAVE_WORDS, always=True)
        connect(m, port.fm_read[0], flipped(self.fm_read))
        may_read = Signal()
        take = Signal()
        m.d.comb += [
            may_read.eq(~word.outside & ~self.halt),
            self.outside.eq(self.words.valid & word.outside & ~port.pending),
            port.i.valid.eq(self.words.valid & may_read),
            port.i.payload.addr[0].eq(word.addr),
            self.words.ready.eq(port.i.ready & may_read),
            take.eq(port.i.valid & port.i.ready),
        ]

        kept = {name: Signal(lane_shape, name=f"{name}_kept") for name in ("lane", "pixel", "row")}
        lane, pixel, row = (Mux(word.begin, context.lane, kept[name]) for name in ("lane", "pixel", "row"))
        next_row = Signal(lane_shape)
        next_pixel = Signal(lane_shape)
        m.d.comb += [next_row.eq(row + context.row_step), next_pixel.eq(pixel + context.pixel_step)]
        with m.If(take):
            m.d.sync += [kept["row"].eq(row), kept["pixel"].eq(pixel), kept["lane"].eq(lane + word.more + 1)]
            with m.If(word.end_row):
                m.d.sync += [signal.eq(next_row) for signal in kept.values()]
            with m.Elif(word.end_pixel):
                m.d.sync += [kept["pixel"].eq(next_pixel), kept["lane"].eq(next_pixel)]

        asked, answer = port.i.payload.tag, port.o.payload
        m.d.comb += [
            asked.count.eq(word.more + 1),
            asked.lane.eq(lane),
            asked.last.eq(word.end_row | (context.apart & word.end_pixel)),
            asked.flip.eq(context.flip),
            self.pieces.valid.eq(port.o.valid),
            port.o.ready.eq(self.pieces.ready),
            self.pieces.payload.data.eq(answer.words[0]),
            *(self.pieces.payload[name].eq(answer.tag[name]) for name in ("count", "lane", "last", "flip")),
        ]
        return m
