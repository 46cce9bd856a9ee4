"""Cuts chunks of bytes into feature-map words."""

from __future__ import annotations

from typing import Any

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.interfaces import TICKET_BITS
from hw.move.chunks import chunk_layout
from hw.move.ring import ChunkRing
from hw.move.rotator import Rotator, packed_layout
from hw.move.segments import SegmentMachine, cut_word_layout, position_bits
from hw.move.words import word_layout
from isa.config import MachineConfig


class Packer(wiring.Component):
    """Makes one word per cycle, cut at any byte. It comes three cycles after its last chunk, and two after it is asked for on
    ``words``. All parts stall while ``o`` is refused.

    ::

        words ----> segments --- start, drop ---> ring <--- chunks
                       |                           |
                       +--- cut ---> rotator <-- bytes
                                        |
                                        +---> o

    A word is cut when its last chunk is there, or the last chunk of its segment, behind which all is fill. At the end of a
    segment the rest of its chunks is dropped, one per cycle. So a chunk is taken in every cycle if words are at least as wide
    as chunks, whatever the lengths and the alignment.

    ``SegmentMachine`` describes ``error``, ``error_ticket`` and ``starved``.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "chunks": In(stream.Signature(chunk_layout(config))),
            "words": In(stream.Signature(cut_word_layout(config))),
            "next_more": In(word_layout(config, 0)["more"].shape),
            "o": Out(stream.Signature(packed_layout(config))),
            "starved": Out(1),
            "error": Out(1),
            "error_ticket": Out(TICKET_BITS),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.ring = ring = ChunkRing(self.config, position_bits(self.config))
        m.submodules.segments = segments = SegmentMachine(self.config, ring.depth)
        m.submodules.rotator = rotator = Rotator(self.config)
        connect(m, flipped(self.chunks), ring.chunks)
        connect(m, flipped(self.words), segments.words)
        connect(m, rotator.o, flipped(self.o))
        for name in ("present", "arrived", "skips", "head", "last_here"):
            m.d.comb += getattr(segments, name).eq(getattr(ring, name))
        m.d.comb += [
            segments.next_more.eq(self.next_more),
            segments.advance.eq(rotator.advance),
            ring.advance.eq(rotator.advance_bytes),
            ring.drop.eq(segments.drop),
            ring.start.eq(segments.start),
            rotator.cut.eq(segments.cut),
            rotator.bytes.eq(ring.bytes),
            *(getattr(self, name).eq(getattr(segments, name)) for name in ("starved", "error", "error_ticket")),
        ]
        return m
