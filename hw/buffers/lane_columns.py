"""The write port of a weight memory whose words are also written by lanes."""

from __future__ import annotations

from functools import cache
from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import BufferWrite, LaneWrite


class LaneColumns(wiring.Component):
    """Merges both kinds of writes into the byte that each byte of a word takes, one cycle later. Byte ``i * outputs + o`` is
    that of input lane ``i`` and output lane ``o``. It never stalls; ``write`` and ``lanes`` never ask in the same cycle.

    A byte costs its registers alone. The byte that it may take is chosen once for all columns whose bytes have the same output
    lanes. ``clears`` and ``spares`` are synchronous resets, so these registers have no other.
    """

    def __init__(self, depth_bits: int, columns: int, beat_bits: int, lanes: tuple[int, int]) -> None:
        self.columns = columns
        self.beat_bytes = beat_bits // 8
        self.inputs, self.outputs = lanes
        size = self.inputs * self.outputs
        super().__init__({
            "write": In(BufferWrite(depth_bits, columns, beat_bits, pairs=True)),
            "lanes": In(LaneWrite(depth_bits, *lanes)),
            "en": Out(size),
            "addr": Out(depth_bits),
            "data": Out(data.ArrayLayout(8, size)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        write, lanes = self.write, self.lanes

        @cache
        def chosen(odd: int, place: int, output: int) -> Signal:
            """The byte that the place of an even or odd column takes."""
            byte = Signal(8, name=f"chosen{odd}_{place}_{output}")
            beat = write.odd if odd else write.data
            m.d.comb += byte.eq(Mux(lanes.en, lanes.data.word_select(output, 8), beat.word_select(place, 8)))
            return byte

        m.d.sync += self.addr.eq(Mux(lanes.en, lanes.addr, write.addr))
        for column in range(self.columns):
            takes = Signal(name=f"takes{column}")
            second = write.both & (write.column == column - 1) if column % 2 else 0
            m.d.comb += takes.eq(write.en & ((write.column == column) | second))
            for place in range(self.beat_bytes):
                number = column * self.beat_bytes + place
                if number < self.inputs * self.outputs:
                    i, o = divmod(number, self.outputs)
                    en = takes | lanes.inputs[i]
                    clears = lanes.clears.word_select(i, 8)
                    self._take(m, number, en, lanes.spares[o], chosen(column % 2, place, o), clears)
        return m

    def _take(self, m: Module, number: int, en: Value, spares: Value, byte: Value, clears: Value) -> None:
        takes = Signal(name=f"en{number}", reset_less=True)
        taken = Signal(8, name=f"taken{number}", reset_less=True)
        with m.If(spares):
            m.d.sync += takes.eq(0)
        with m.Else():
            m.d.sync += takes.eq(en)
        for bit in range(8):
            with m.If(clears[bit]):
                m.d.sync += taken[bit].eq(0)
            with m.Else():
                m.d.sync += taken[bit].eq(byte[bit])
        m.d.comb += [self.en[number].eq(takes), self.data[number].eq(taken)]
