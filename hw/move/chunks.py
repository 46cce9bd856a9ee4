"""Makes the chunks that the packer cuts words from: DRAM beats as they come, and beats of fill before them."""

from __future__ import annotations

from typing import Any

from amaranth import C, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.axi.read_engine import read_beat_layout
from isa.config import MachineConfig

LEAD_BITS = 16
LOAD_TAG = data.StructLayout({"lead": unsigned(LEAD_BITS), "flip": unsigned(1), "parameter": unsigned(1)})
"""The tag of a run of LOAD. ``parameter``: the run belongs to LOADP."""


def beat_tag(config: MachineConfig) -> data.StructLayout:
    """The tag of the beats of a run. In place of ``lead`` it has the number of chunks of fill before the beats (``fills``),
    whether there are any (``padded``), and the byte of the first chunk with which the segment begins (``skip``)."""
    lane = exact_log2(config.axi_bytes)
    return data.StructLayout({
        "fills": unsigned(LEAD_BITS + 1 - lane),
        "padded": unsigned(1),
        "skip": unsigned(lane),
        "flip": unsigned(1),
        "parameter": unsigned(1),
    })


def led(tag: Any, addr: Value, config: MachineConfig) -> dict[str, Value]:
    """The fields of ``beat_tag`` for a run that begins at ``addr``; see ``ChunkFeeder``."""
    lane_bits = exact_log2(config.axi_bytes)
    lane = addr[:lane_bits]
    fills = (tag.lead + ~lane)[lane_bits : LEAD_BITS + 1]
    skip = (lane - tag.lead)[:lane_bits]
    return {"fills": fills, "padded": tag.lead > lane, "skip": skip, "flip": tag.flip, "parameter": tag.parameter}


def chunk_layout(config: MachineConfig) -> data.StructLayout:
    """A chunk of a segment, as wide as a beat. Bytes that are not ``real`` are fill.

    The first chunk's ``skip`` says at which byte the segment begins. ``last`` marks the last chunk of the segment; only fill
    follows it.
    """
    return data.StructLayout({
        "data": unsigned(config.axi_data_bits),
        "real": unsigned(config.axi_bytes),
        "skip": unsigned(exact_log2(config.axi_bytes)),
        "last": unsigned(1),
        "error": unsigned(1),
    })


class ChunkFeeder(wiring.Component):
    """Turns the beats of a run into the chunks of a segment. It is combinational and stalls while ``chunks`` is refused. Beats
    of LOADP pass by: they go when ``aside`` is high.

    Beats keep their place: no byte moves. The start of the segment follows from the first byte's lane ``f`` and the ``lead``
    bytes of fill before it: ``skip = (f - lead) mod B`` in beats of ``B`` bytes. ``ceil((lead - f) / B)`` chunks of fill are
    put in, one per cycle. Both numbers are known with the run (``led``) and come with its beats::

        lead = 5, f = 2, B = 4      |- . . .|. . a b|c d e f|      skip = 1
                                      chunk   beat    beat         '-' before the segment, '.' fill
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "beats": In(stream.Signature(read_beat_layout(config, beat_tag(config)))),
            "chunks": Out(stream.Signature(chunk_layout(config))),
            "aside": In(1),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        size = self.config.axi_bytes
        every = C((1 << size) - 1, size)
        beat = self.beats.payload
        chunk = self.chunks.payload
        begin = Signal(init=1)
        """The beat is a run's first, and no fill was put in before it."""
        filling = Signal()
        """There is fill left, ``fills_left`` chunks of it."""
        fills_left = Signal.like(beat.tag.fills)
        fill, passes = (Signal(name=name) for name in ("fill", "passes"))
        left = Mux(filling, fills_left, beat.tag.fills)
        m.d.comb += [
            fill.eq(filling | (begin & beat.tag.padded)),
            chunk.data.eq(beat.data ^ Mux(beat.tag.flip, 0x80 * (((1 << 8 * size) - 1) // 0xFF), 0)),
            chunk.real.eq(Mux(fill, 0, (every << beat.first) & (every >> ~beat.final))),
            chunk.skip.eq(beat.tag.skip),
            chunk.last.eq(beat.last & ~fill),
            chunk.error.eq(beat.error & ~fill),
            self.chunks.valid.eq(self.beats.valid & ~beat.tag.parameter),
            # This is ``~fill``, for the two are never high at once. It has gates of its own, because READY has a long path.
            passes.eq(filling == (begin & beat.tag.padded)),
            self.beats.ready.eq(Mux(beat.tag.parameter, self.aside, self.chunks.ready & passes)),
        ]
        with m.If(self.chunks.valid & self.chunks.ready):
            with m.If(fill):
                m.d.sync += [begin.eq(0), filling.eq(left != 1), fills_left.eq(left - 1)]
            with m.Else():
                m.d.sync += begin.eq(beat.last)
        return m
