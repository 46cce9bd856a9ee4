"""The end of POOL, which requantises, activates and writes reduced pixels."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.small import stepped
from hw.copies import Spread
from hw.interfaces import FeatureMapWrite, TableWrite
from hw.pool.layouts import FINISH_LAYOUT, param_read, pixel_layout
from hw.post.activation import FINISH
from hw.post.gather import Gather
from hw.post.postprocess import PostProcess
from hw.post.shared import GuestSignature
from hw.window.placement import place_layout
from hw.window.queue import Queue
from isa.config import MachineConfig
from isa.latency import post_latency

BYPASS_PINS = 64
"""The pins of a finishing lane that ``bypass`` drives: bits of its bias, and of the scale that bypassing replaces."""


def depth(config: MachineConfig) -> int:
    """The pixels on the way to the buffer: those in the pipeline, in the stages around it, and the returning credit."""
    return post_latency(config) + 4


def post_members(config: MachineConfig) -> dict[str, Any]:
    """The further members of POOL's end: the tables of its own lanes, or the way to CONV's lanes."""
    if config.shares_finish:
        return {"lanes": Out(GuestSignature(config.pool_finish))}
    return {"table_write": In(TableWrite(config))}


class PixelFinish(wiring.Component):
    """Finishes a part of a pixel (``pool_finish`` lanes) per cycle, ``post_latency + 3`` cycles from the last part to the
    request to write.

    A result meets its place in a register, because the banks' arbitration depends on it. Refused writes never stall the
    pipeline: a queue holds everything that is on the way. ``i`` stalls while there is no room for a pixel, so back-pressure
    comes from one register. ``settings`` are taken with the last part of an instruction's last pixel. ``place`` tells where
    each pixel goes, or that it is a surplus one.

    With ``shared_finish`` the pipeline is CONV's, at the other end of ``lanes``. Then a part also waits while that pipeline is
    taken.

    ``done`` strobes one cycle after the last write of an instruction. ``param_outside`` is high when the instruction of
    ``settings`` asks for a parameter word beyond the buffer. ``write_outside`` is high when the output word of ``place`` is
    outside the feature maps; its pixel is dropped.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "i": In(stream.Signature(pixel_layout(config))),
            "settings": In(stream.Signature(FINISH_LAYOUT)),
            "place": In(stream.Signature(place_layout(config, 1, 1, 1))),
            "params": Out(param_read(config)),
            **post_members(config),
            "fm_write": Out(FeatureMapWrite(config)),
            "done": Out(1),
            "param_outside": Out(1),
            "write_outside": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        m.submodules.gather = gather = Gather(c.pool_finish, c.pool_parts)
        m.submodules.results = results = Queue(data.ArrayLayout(8, c.ic_p), depth(c))
        vector, finished, free = self._lanes(m)
        take = Signal()

        pixel = self.i.p
        settings = self.settings.p
        room = Signal(range(depth(c) + 1), init=depth(c))
        some = Signal(init=1)
        """``room`` is not 0."""
        begins = Signal()
        leave = Signal()
        asks = Signal()
        m.d.comb += [
            self.i.ready.eq(self.settings.valid & free & (some | (pixel.part != 0))),
            take.eq(self.i.valid & self.i.ready),
            begins.eq(take & (pixel.part == 0)),
            self.settings.ready.eq(take & pixel.last & (pixel.part == c.pool_parts - 1)),
            asks.eq(take & ~settings.bypass),
            self.params.en.eq(asks),
            self.params.addr.eq(Cat(pixel.part, pixel.param)),
            self.param_outside.eq(asks & (pixel.param >= c.pool_param_depth)),
        ]
        m.d.sync += [
            room.eq(stepped(room, leave, begins, depth(c))),
            some.eq(Mux(begins, leave | (room != 1), leave | some)),
        ]

        bypass = Signal()
        bypasses = Spread(m, bypass, settings.bypass, "sync")
        looked_up = Signal()
        """The next three registers were loaded in the cycle before."""
        sums = Signal.like(pixel.sums)
        ending = Signal.like(settings)
        m.d.sync += [looked_up.eq(take), sums.eq(pixel.sums), ending.eq(settings)]
        m.d.comb += [
            vector.valid.eq(looked_up),
            *(acc.eq(total) for acc, total in zip(vector.p.acc, sums, strict=True)),
            vector.p.params.eq(self.params.data),
            vector.p.bypass.eq(Cat(bypasses.of(BYPASS_PINS) for _ in vector.p.acc)),
            gather.i.valid.eq(finished.valid),
            gather.i.p.eq(finished.p),
            results.i.valid.eq(gather.o.valid),
            results.i.p.eq(gather.o.p),
        ]
        m.d.comb += [vector.p[name].eq(ending[name]) for name in FINISH]

        place = self.place.p
        last = Signal()
        m.d.comb += [
            self.write_outside.eq(results.o.valid & self.place.valid & place.outside),
            self.fm_write.mask.eq((1 << c.ic_p) - 1),
            leave.eq(results.o.valid & self.place.valid & (~self.fm_write.valid | self.fm_write.ready)),
            results.o.ready.eq(leave),
            self.place.ready.eq(leave),
        ]
        with m.If(leave):
            m.d.sync += [
                self.fm_write.valid.eq(place.lanes[0].valid & ~place.outside),
                self.fm_write.addr.eq(place.lanes[0].addr),
                self.fm_write.data.eq(results.o.p),
                last.eq(place.last),
            ]
        with m.Elif(self.fm_write.ready):
            m.d.sync += self.fm_write.valid.eq(0)
        held = Signal()
        """There is a pixel in the register, perhaps a surplus one."""
        m.d.sync += held.eq(leave | (self.fm_write.valid & ~self.fm_write.ready))
        m.d.sync += self.done.eq(held & last & (~self.fm_write.valid | self.fm_write.ready))
        return m

    def _lanes(self, m: Module) -> tuple[Any, Any, Value]:
        """The input of the pipeline, its output, and whether a part that is taken now may be shown in the next cycle."""
        if self.config.shares_finish:
            m.d.comb += self.lanes.waits.eq(self.i.valid & self.settings.valid)
            return self.lanes.vector, self.lanes.finished, self.lanes.room
        m.submodules.post = post = PostProcess(self.config, self.config.pool_finish, of_conv=False)
        wiring.connect(m, wiring.flipped(self.table_write), post.table_write)
        return post.i, post.o, Const(1)
