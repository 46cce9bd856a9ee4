"""The DRAM side of a move: which bytes are contiguous."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal, signed, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.axi.burst import RUN_BYTES_BITS, run_layout
from hw.interfaces import TICKET_BITS
from isa.config import MachineConfig

OFFSET_BITS = 32
"""Offsets of rows count modulo 2^32 from the base of the region."""


def transfer_layout(config: MachineConfig, tag: ShapeLike) -> data.StructLayout:
    """``rows`` rows of ``pieces`` runs of ``bytes`` bytes, ``step`` bytes apart within a row; ``limit`` is that of the region,
    ``ticket`` names the instruction in errors."""
    return data.StructLayout({
        "base": unsigned(config.axi_addr_bits),
        "limit": unsigned(OFFSET_BITS),
        "offset": unsigned(OFFSET_BITS),
        "row_stride": unsigned(OFFSET_BITS),
        "rows": unsigned(12),
        "pieces": unsigned(12),
        "step": unsigned(16),
        "bytes": unsigned(RUN_BYTES_BITS),
        "ticket": unsigned(TICKET_BITS),
        "tag": tag,
    })


class RunGenerator(wiring.Component):
    """One run per cycle, row by row, the first one cycle after its transfer; stalls with ``o``.

    The offset of the next row is ready a row ahead, so that a cycle never holds more than one addition.

    ``outside`` is high, for the instruction ``ticket``, while the run on ``o`` goes beyond the region's limit. The run is
    not kept from leaving: its first burst is two cycles away, and a unit that stops in the next cycle lets none out.
    """

    def __init__(self, config: MachineConfig, tag: ShapeLike) -> None:
        self.config = config
        self.tag = tag
        super().__init__({
            "i": In(stream.Signature(transfer_layout(config, tag))),
            "o": Out(stream.Signature(run_layout(config, tag))),
            "outside": Out(1),
            "ticket": Out(TICKET_BITS),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        transfer = Signal(transfer_layout(self.config, self.tag))
        valid = Signal()
        addr = Signal(self.config.axi_addr_bits)
        next_row = Signal(OFFSET_BITS)
        room = Signal(signed(OFFSET_BITS + 3))
        """Bytes from the first of the run to the limit; a row is shorter than 2^29 bytes."""
        rows_left = Signal(12)
        pieces_left = Signal(12)
        end_row = Signal()
        end = Signal()
        m.d.comb += [
            end_row.eq(pieces_left == 1),
            end.eq(end_row & (rows_left == 1)),
            self.i.ready.eq(~valid | (self.o.ready & end)),
            self.o.valid.eq(valid),
            self.o.payload.addr.eq(addr),
            self.o.payload.bytes.eq(transfer.bytes),
            self.o.payload.last.eq(end),
            self.o.payload.tag.eq(transfer.tag),
            self.outside.eq(valid & ~transfer.limit.all() & (transfer.bytes > room)),
            self.ticket.eq(transfer.ticket),
        ]
        new = self.i.payload
        with m.If(self.i.ready):
            m.d.sync += [
                valid.eq(self.i.valid),
                transfer.eq(new),
                addr.eq(new.base + new.offset),
                room.eq(new.limit - new.offset),
                next_row.eq(new.offset + new.row_stride),
                rows_left.eq(new.rows),
                pieces_left.eq(new.pieces),
            ]
        with m.Elif(self.o.ready):
            with m.If(end_row):
                m.d.sync += [
                    addr.eq(transfer.base + next_row),
                    room.eq(transfer.limit - next_row),
                    next_row.eq(next_row + transfer.row_stride),
                    rows_left.eq(rows_left - 1),
                    pieces_left.eq(transfer.pieces),
                ]
            with m.Else():
                m.d.sync += [
                    addr.eq(addr + transfer.step),
                    room.eq(room - transfer.step),
                    pieces_left.eq(pieces_left - 1),
                ]
        return m
