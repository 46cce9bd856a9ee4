"""Joins feature-map words to a stream of bytes and cuts it into the beats of DRAM."""

from __future__ import annotations

from typing import Any

from amaranth import C, Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.arithmetic.small import summed
from hw.axi.write_engine import strobed_layout
from isa.config import MachineConfig


def piece_layout(config: MachineConfig) -> data.StructLayout:
    """The first ``count`` bytes of a word, for the lanes of a beat from ``lane`` on. ``last`` marks the last piece of a run.
    ``flip``: the highest bit of each byte is inverted."""
    return data.StructLayout({
        "data": unsigned(8 * config.ic_p),
        "count": unsigned(config.ic_p.bit_length()),
        "lane": unsigned(exact_log2(config.axi_bytes)),
        "last": unsigned(1),
        "flip": unsigned(1),
    })


class Unpacker(wiring.Component):
    """Collects pieces and hands on whole beats. Strobes mark the bytes of a run in its first and last beat. It stalls while
    ``o`` is refused.

    It takes one piece and hands on one beat per cycle; a beat comes one cycle after the piece that completes it. A piece is
    taken when less than a beat is left over, so it is shifted by less than a beat. The bytes that are held are counted in
    beats, with the lanes before the first byte of a run. Bit ``n`` of ``full`` is set if they fill ``n + 1`` beats or more, and
    bit ``n`` of ``within`` if ``n + 1`` beats hold them all. A run's first piece may enter as the last beat of the run before
    leaves.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "i": In(stream.Signature(piece_layout(config))),
            "o": Out(stream.Signature(strobed_layout(config))),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        size, lanes = self.config.axi_bytes, self.config.ic_p
        span = -(-(size - 1 + lanes) // size) * size
        piece = self.i.payload
        held = Signal(8 * span)
        real = Signal(span)
        beats = span // size
        full = Signal(beats)
        within = Signal(beats, init=-1)
        total = Signal(range(span + 1))
        ending = Signal()
        leave = Signal()
        finish = Signal()
        take = Signal()
        m.d.comb += [
            self.o.valid.eq(full[0] | ending),
            self.o.payload.data.eq(held),
            self.o.payload.strb.eq(real),
            leave.eq(self.o.valid & self.o.ready),
            finish.eq(leave & ending & within[0]),
            self.i.ready.eq(Mux(ending, finish, ~full[0] | (leave & ~(full[1] if beats > 1 else C(0))))),
            total.eq(summed(Cat(piece.count, Const(0, len(total) - len(piece.count))), piece.lane)),
            take.eq(self.i.valid & self.i.ready),
        ]

        placed_real = Signal(span)
        counted = Signal(lanes)
        m.d.comb += [
            counted.eq(Cat(n < piece.count for n in range(lanes))),
            placed_real.eq(counted << piece.lane),
        ]
        # Only bytes of the first beat may stay as a piece is taken: those in front of it. The last beat has none behind it.
        # Bytes are flipped where a LUT has an input left for it.
        for n, moved in enumerate(_placed(piece.data, piece.lane, span)):
            placed = Cat(moved[:7], moved[7] ^ piece.flip)
            byte = held.word_select(n, 8)
            behind = held.word_select(n + size, 8) if n + size < span else byte
            new = Mux(piece.lane > n, Mux(leave, behind, byte), placed) if n < size else placed
            with m.If(take):
                m.d.sync += byte.eq(new)
            with m.Elif(leave):
                m.d.sync += byte.eq(behind)
        m.d.sync += [
            real.eq(Mux(finish, 0, Mux(leave, real >> size, real)) | Mux(take, placed_real, 0)),
        ]
        with m.If(take):
            m.d.sync += [
                full.eq(Cat(total >= (n + 1) * size for n in range(beats))),
                within.eq(Cat(total <= (n + 1) * size for n in range(beats))),
            ]
        with m.Elif(leave):
            m.d.sync += [full.eq(full >> 1), within.eq(Cat(within[1:], 1))]
        with m.If(take):
            m.d.sync += ending.eq(piece.last)
        with m.Elif(finish):
            m.d.sync += ending.eq(0)
        return m


def _placed(word: Value, lane: Value, span: int) -> list[Value]:
    """The bytes of the beats that the word may reach from ``lane`` on. Each is the word's byte, where it has one there, and any
    other elsewhere, so that nothing is chosen where only one byte may come."""
    row: list[Value | None] = [word.word_select(n, 8) if n < len(word) // 8 else None for n in range(span)]
    for bit, moves in enumerate(lane):
        earlier = [None] * (1 << bit) + row[: span - (1 << bit)]
        row = [
            stays if moved is None else moved if stays is None else Mux(moves, moved, stays)
            for stays, moved in zip(row, earlier, strict=True)
        ]
    return [C(0, 8) if byte is None else byte for byte in row]
