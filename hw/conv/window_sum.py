"""What a zero-point of the weights adds to every sum: the zero-point times the sum of the window's inputs.

``sum x (w - z) = sum x w - z sum x``, and ``sum x`` is one number per pixel, whatever the output lane. So the array
multiplies the weights as they are stored, and the correction costs one adder tree and one multiplier for each pixel
lane, and one addition where sums are drained.
"""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from hw.conv.sequence import beat_flags
from hw.conv.tree import add_tree
from isa.config import MachineConfig
from isa.latency import tree_stages
from isa.ram import ram_attributes

LATENCY = 2
"""From a reduction's last beat to its corrections: sum, product."""
_LOW = 26
"""Bits of a sum that one 27 x 18 multiplier takes; the product of the others ends above bit 26."""


class WindowSum(wiring.Component):
    """``corrections[p] = -w_zp * sum x[p][i]`` over all input lanes and beats of a reduction, modulo 2^32.

    ``beat`` belongs to the ``x`` of ``delay`` cycles ago, ``ahead`` is the beat that comes ``READ_AHEAD`` cycles after it.
    The sums are kept with the accumulator entries: ``acc_in`` starts from them, ``acc_out`` stores them, without
    a correction. ``corrections`` are valid ``LATENCY`` cycles after a last beat. Never stalls.
    """

    def __init__(self, config: MachineConfig, delay: int) -> None:
        assert delay >= tree_stages(config.ic_p), f"the sum of {config.ic_p} inputs takes longer than {delay} cycles"
        self.config = config
        self.delay = delay
        c = config
        super().__init__({
            "x": In(data.ArrayLayout(data.ArrayLayout(signed(8), c.ic_p), c.px_p)),
            "beat": In(beat_flags(c)),
            "ahead": In(beat_flags(c)),
            "corrections": Out(data.ArrayLayout(signed(32), c.px_p)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        entries = data.ArrayLayout(signed(32), c.px_p)
        style = ram_attributes(c.acc_ram)
        m.submodules.entries = storage = memory.Memory(shape=entries, depth=c.acc_depth, init=[], attrs=style)
        read = storage.read_port()
        write = storage.write_port()
        entry = Signal(entries, reset_less=True)
        unused = Signal()
        m.d.comb += [
            read.en.eq(self.ahead.valid & self.ahead.beat.first & self.ahead.beat.acc_in),
            read.addr.eq(self.ahead.beat.entry),
        ]
        m.d.sync += [unused.eq(~read.en), entry.eq(read.data)]
        with m.If(unused):
            m.d.sync += entry.eq(0)

        beat = self.beat.beat
        stored = Signal.like(beat.entry)
        factor = Signal(signed(9), reset_less=True)
        m.d.sync += [
            write.en.eq(self.beat.valid & beat.last & beat.acc_out),
            stored.eq(beat.entry),
            factor.eq(-beat.w_zp),
        ]
        m.d.comb += write.addr.eq(stored)
        for p in range(c.px_p):
            inputs = add_tree(m, list(self.x[p]), f"inputs_{p}")
            for n in range(self.delay - tree_stages(c.ic_p)):
                later = Signal(inputs.shape(), name=f"inputs_{p}_later_{n}", reset_less=True)
                m.d.sync += later.eq(inputs)
                inputs = later
            total = Signal(signed(32), name=f"total_{p}", reset_less=True)
            with m.If(self.beat.valid):
                m.d.sync += total.eq(inputs + Mux(beat.first, entry[p], total))
            m.d.comb += write.data[p].eq(total)

            low = Signal(signed(_LOW + 9), name=f"low_{p}", reset_less=True)
            high = Signal(32 - _LOW, name=f"high_{p}", reset_less=True)
            m.d.sync += [low.eq(total[:_LOW] * factor), high.eq(total[_LOW:] * factor)]
            m.d.comb += self.corrections[p].eq(Cat(low[:_LOW], (low[_LOW:32] + high)[: 32 - _LOW]))
        return m
