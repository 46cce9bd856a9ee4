"""The end of POOL: finished pixels are requantised, activated and written."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import FM_ADDRESS_BITS, BufferRead, FeatureMapWrite, TableWrite
from hw.pool.layouts import pixel_layout
from hw.post.activation import FINISH
from hw.post.postprocess import LATENCY, PostProcess
from hw.window.queue import Queue
from isa.config import MachineConfig

DEPTH = LATENCY + 4
"""Pixels on the way to the buffer: what fills the pipeline, the stages around it and the queue."""


class PixelFinish(wiring.Component):
    """One pixel (``ic_p`` lanes) per cycle; ``LATENCY + 2`` cycles from ``i`` to the request to write.

    Refused writes never stop the pipeline: a queue holds everything that is on the way, and ``i`` is taken only
    while there is room, so back-pressure comes from one register. ``done`` strobes one cycle after the last
    write of an instruction is granted. ``param_outside`` (with ``param_pc``) is high when a parameter
    word beyond the buffer is asked for, ``write_outside`` (with ``write_pc``) when an output word is outside
    the feature maps; such a pixel is dropped.
    """

    def __init__(self, config: MachineConfig) -> None:
        self._config = config
        super().__init__({
            "i": In(stream.Signature(pixel_layout(config))),
            "params": Out(BufferRead((config.pool_param_depth - 1).bit_length(), 64 * config.ic_p)),
            "table_write": In(TableWrite(config)),
            "fm_write": Out(FeatureMapWrite(config)),
            "done": Out(1),
            "param_outside": Out(1),
            "param_pc": Out(32),
            "write_outside": Out(1),
            "write_pc": Out(32),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        c = self._config
        m.submodules.post = post = PostProcess(c, c.ic_p)
        m.submodules.results = results = Queue(data.ArrayLayout(8, c.ic_p), DEPTH)
        m.submodules.places = places = Queue(_PLACE, DEPTH)
        wiring.connect(m, wiring.flipped(self.table_write), post.table_write)

        room = Signal(range(DEPTH + 1), init=DEPTH)
        take = Signal()
        leave = Signal()
        m.d.comb += [self.i.ready.eq(room != 0), take.eq(self.i.valid & self.i.ready)]
        m.d.sync += room.eq(room - take + leave)

        pixel = self.i.payload
        asks = Signal()
        m.d.comb += [
            asks.eq(take & ~pixel.ending.bypass),
            self.params.en.eq(asks),
            self.params.addr.eq(pixel.param),
            self.param_outside.eq(asks & (pixel.param >= c.pool_param_depth)),
            self.param_pc.eq(pixel.ending.pc),
        ]

        # Placing takes two cycles, for sum and bound; the parameter word arrives after one.
        looked_up = Signal(2)
        held = Signal(pixel_layout(c))
        place = Signal(_PLACE)
        m.d.sync += looked_up.eq(Cat(take, looked_up))
        with m.If(take):
            m.d.sync += held.eq(pixel)
        with m.If(looked_up[0]):
            m.d.sync += [
                place.address.eq(held.address + held.ending.o_base),
                place.last.eq(held.last),
                place.pc.eq(held.ending.pc),
            ]
        m.d.comb += [
            post.i.valid.eq(looked_up[0]),
            post.i.payload.acc.eq(held.sums),
            post.i.payload.params.eq(self.params.data),
            post.i.payload.bypass.eq(held.ending.bypass),
            places.i.valid.eq(looked_up[1]),
            places.i.payload.eq(place),
            places.i.payload.inside.eq(place.address < c.fm_words),
            results.i.valid.eq(post.o.valid),
            results.i.payload.eq(post.o.payload),
            post.o.ready.eq(results.i.ready),
        ]
        m.d.comb += [post.i.payload[name].eq(held.ending[name]) for name in FINISH]

        to = places.o.payload
        m.d.comb += [
            self.fm_write.valid.eq(results.o.valid & to.inside),
            self.fm_write.addr.eq(to.address),
            self.fm_write.data.eq(results.o.payload),
            self.fm_write.mask.eq((1 << c.ic_p) - 1),
            self.write_outside.eq(results.o.valid & ~to.inside),
            self.write_pc.eq(to.pc),
            leave.eq(results.o.valid & (self.fm_write.ready | ~to.inside)),
            results.o.ready.eq(leave),
            places.o.ready.eq(leave),
        ]
        m.d.sync += self.done.eq(leave & to.last)
        return m


_PLACE = data.StructLayout({
    "address": unsigned(FM_ADDRESS_BITS),
    "inside": unsigned(1),
    "last": unsigned(1),
    "pc": unsigned(32),
})
