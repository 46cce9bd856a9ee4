"""Rotates the bytes of a word to its first lane, and puts fill where the word has none."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.arithmetic.choice import pick
from hw.copies import PINS, Spread
from hw.move.ring import COLUMN_BITS, reads_of
from isa.config import MachineConfig


def packed_layout(config: MachineConfig) -> data.StructLayout:
    """A finished word. ``done``: its transfer is finished with it (an item may be a ``done`` and no ``write``)."""
    return data.StructLayout({
        "addr": unsigned(config.fm_address_bits),
        "data": unsigned(8 * config.ic_p),
        "write": unsigned(1),
        "done": unsigned(1),
    })


def cut_layout(config: MachineConfig) -> data.StructLayout:
    """The data of a word when it is cut. ``shift`` is the column of its first byte, ``used`` has the lanes for its bytes, and
    ``fill`` goes to the others. ``write``: there is a word. ``done``: its transfer is finished with it, or without a word."""
    return data.StructLayout({
        "addr": unsigned(config.fm_address_bits),
        "shift": unsigned(exact_log2(config.axi_bytes)),
        "used": unsigned(config.ic_p),
        "fill": unsigned(8),
        "write": unsigned(1),
        "done": unsigned(1),
    })


class Rotator(wiring.Component):
    """Makes one word per cycle, two cycles after ``cut``. ``bytes``, the registers of the ring, come a cycle after ``cut``.

    ``advance``: both registers move. It is high unless ``o`` stalls. ``advance_bytes`` is the same signal for the registers of
    ``bytes``, one bit for each read of the ring.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "cut": In(cut_layout(config)),
            "bytes": In(data.ArrayLayout(COLUMN_BITS * config.axi_bytes, reads_of(config))),
            "advance": Out(1),
            "advance_bytes": Out(reads_of(config)),
            "o": Out(stream.Signature(packed_layout(config))),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        size, lanes = self.config.axi_bytes, self.config.ic_p
        cut = Signal.like(self.cut, name="cut_before")
        out = self.o.payload
        advances = Spread(m, self.advance, ~self.o.valid | self.o.ready, elsewhere=PINS)
        advances.enable(cut, self.cut)
        m.d.comb += self.advance_bytes.eq(Cat(advances.of(len(part)) for part in self.bytes))
        shift = Signal(cut.shift.shape())
        shifts = Spread(m, shift, Mux(self.advance, self.cut.shift, shift), "sync")
        rotated = [
            _rotated(part, shifts.of(PINS), min(size, lanes - read * size)) for read, part in enumerate(self.bytes)
        ]
        with m.If(self.advance):
            m.d.sync += [
                self.o.valid.eq(cut.write | cut.done),
                *(out[name].eq(cut[name]) for name in ("write", "done", "addr")),
            ]
        for n in range(lanes):
            byte = rotated[n // size].word_select(n % size, COLUMN_BITS)
            advances.enable(out.data.word_select(n, 8), Mux(byte[8] & cut.used[n], byte[:8], cut.fill))
        return m


def _rotated(columns: Value, shift: Value, lanes: int) -> Value:
    """The first ``lanes`` bytes of a ring of columns from column ``shift`` on. There are two rows of 4:1 multiplexers; the
    first moves by multiples of four."""
    twice = Cat(columns, columns)
    size = len(columns) // COLUMN_BITS
    coarse = pick([twice[4 * n * COLUMN_BITS :][: (lanes + 3) * COLUMN_BITS] for n in range(-(-size // 4))], shift[2:])
    return pick([coarse[n * COLUMN_BITS :][: lanes * COLUMN_BITS] for n in range(min(4, size))], shift[:2])
