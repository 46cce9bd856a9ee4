"""The DRAM side of a move, which finds the bytes that are contiguous."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Mux, Signal, unsigned
from amaranth.hdl import ShapeLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.axi.burst import RUN_BYTES_BITS, run_layout
from hw.interfaces import TICKET_BITS
from isa.config import MachineConfig

OFFSET_BITS = 32
"""The bits of an offset. Offsets of rows count modulo 2^32 from the base of the region."""


def transfer_layout(config: MachineConfig, tag: ShapeLike) -> data.StructLayout:
    """A transfer of ``rows`` rows (or ``one_row``) of ``pieces`` runs (or a ``single`` run) of ``bytes`` bytes, which are
    ``step`` bytes apart within a row. ``limit`` is that of the region, and ``ticket`` names the instruction in errors."""
    return data.StructLayout({
        "base": unsigned(config.axi_addr_bits),
        "limit": unsigned(OFFSET_BITS),
        "offset": unsigned(OFFSET_BITS),
        "row_stride": unsigned(OFFSET_BITS),
        "rows": unsigned(12),
        "one_row": unsigned(1),
        "pieces": unsigned(12),
        "single": unsigned(1),
        "step": unsigned(16),
        "bytes": unsigned(RUN_BYTES_BITS),
        "ticket": unsigned(TICKET_BITS),
        "tag": tag,
    })


class RunGenerator(wiring.Component):
    """Makes one run per cycle, row by row. The first comes one cycle after its transfer. It stalls while ``o`` is refused.

    It keeps the offset of the run from the base of its region. The run's address, and whether it ends within the limit, follow
    from the offset while the run is on ``o``. Row offsets wrap modulo 2^32, but those of runs within a row do not.

    The instruction ``ticket`` is at fault when ``limited`` and ``beyond`` are both high: the run on ``o`` goes beyond the
    region's limit. (They are separate, because their user has no time for another gate before its own.) The run still leaves.
    Its first burst is two cycles away, and a unit that has stopped by then lets none out.
    """

    def __init__(self, config: MachineConfig, tag: ShapeLike) -> None:
        self.config = config
        self.tag = tag
        super().__init__({
            "i": In(stream.Signature(transfer_layout(config, tag))),
            "o": Out(stream.Signature(run_layout(config, tag))),
            "limited": Out(1),
            "beyond": Out(1),
            "ticket": Out(TICKET_BITS),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        transfer = Signal(transfer_layout(self.config, self.tag))
        valid = Signal()
        row = Signal(OFFSET_BITS)
        next_row = Signal(OFFSET_BITS)
        offset = Signal(OFFSET_BITS + 1)
        rows_left = Signal(12)
        pieces_left = Signal(12)
        end_row = Signal()
        """The run is the last of its row."""
        end_rows = Signal()
        """The row is the last."""
        end = Signal()
        m.d.comb += [
            end.eq(end_row & end_rows),
            self.i.ready.eq(~valid | (self.o.ready & end)),
            self.o.valid.eq(valid),
            self.o.payload.addr.eq(transfer.base + offset),
            next_row.eq(row + transfer.row_stride),
            self.o.payload.bytes.eq(transfer.bytes),
            self.o.payload.last.eq(end),
            self.o.payload.tag.eq(transfer.tag),
            self.limited.eq(valid & ~transfer.limit.all()),
            self.beyond.eq(offset + transfer.bytes > transfer.limit),
            self.ticket.eq(transfer.ticket),
        ]
        new = self.i.payload
        two_left = Signal()
        m.d.comb += two_left.eq(rows_left == 2)
        # Whether a run leaves is known late and only chooses. This has a module of its own, which synthesis keeps shallow.
        m.submodules.late = late = Module()
        left = Mux(~valid | (end_row & end_rows), new.one_row, Mux(end_row, two_left, end_rows))
        late.d.sync += end_rows.eq(Mux(self.o.ready, left, Mux(valid, end_rows, new.one_row)))
        with m.If(self.i.ready):
            m.d.sync += [
                valid.eq(self.i.valid),
                transfer.eq(new),
                row.eq(new.offset),
                offset.eq(new.offset),
                rows_left.eq(new.rows),
                pieces_left.eq(new.pieces),
                end_row.eq(new.single),
            ]
        with m.Elif(self.o.ready):
            with m.If(end_row):
                m.d.sync += [
                    row.eq(next_row),
                    offset.eq(next_row),
                    rows_left.eq(rows_left - 1),
                    pieces_left.eq(transfer.pieces),
                    end_row.eq(transfer.single),
                ]
            with m.Else():
                m.d.sync += [offset.eq(offset + transfer.step), pieces_left.eq(pieces_left - 1), end_row.eq(pieces_left == 2)]
        return m
