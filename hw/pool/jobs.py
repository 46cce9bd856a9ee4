"""POOL's windows in the order in which they are computed: where their pixels go and which words they use."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import unit_layout
from hw.pool.layouts import WORD_BITS, job_layout
from hw.post.activation import FINISH
from hw.window.raster import RasterWalk
from isa.config import MachineConfig
from isa.instructions import PoolMode, Unit

_FIELDS: dict[str, Any] = {
    "mode": 2, "by_count": 1, "t_addr": 16, "t_step": 16, "p_addr": 16, "p_step": 16, "o_cs": 20, **FINISH,
}  # fmt: skip
_SETTINGS = data.StructLayout({"pc": unsigned(32), **_FIELDS})


class WindowJobs(wiring.Component):
    """For each channel vector, for each pixel group of the output: one job.

    One job per cycle, also across instructions; latency that of ``RasterWalk`` and one more. Stalls with ``o.ready``.
    """

    def __init__(self, config: MachineConfig) -> None:
        self._config = config
        super().__init__({
            "i": In(stream.Signature(unit_layout(Unit.POOL))),
            "o": Out(stream.Signature(job_layout(config))),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        lanes = self._config.px_p
        m.submodules.walk = walk = RasterWalk(lanes, (lanes,), _SETTINGS)
        op = self.i.payload.op.POOL
        raster = walk.i.payload
        m.d.comb += [
            walk.i.valid.eq(self.i.valid),
            self.i.ready.eq(walk.i.ready),
            raster.width.eq(op.o_w),
            raster.height.eq(op.o_h),
            raster.repeats.eq(op.vectors),
            raster.row.eq(op.o_addr),
            raster.row_step.eq(op.o_ys),
            raster.column_step.eq(op.o_xs),
            raster.carried.pc.eq(self.i.payload.pc),
        ]
        m.d.comb += [raster.carried[name].eq(op[name]) for name in _FIELDS]

        group = walk.o.payload
        settings = group.carried
        job = Signal(job_layout(self._config))
        next_vector = Signal()
        free = Signal()
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            walk.o.ready.eq(free),
            self.o.payload.eq(job),
        ]
        with m.If(free):
            m.d.sync += self.o.valid.eq(walk.o.valid)
        with m.If(free & walk.o.valid):
            m.d.sync += [
                job.mode.eq(settings.mode),
                job.by_count.eq(settings.by_count),
                job.used.eq(Cat(pixel.valid for pixel in group.pixels)),
                job.last.eq(group.last),
                job.ending.pc.eq(settings.pc),
                job.ending.bypass.eq(settings.mode == PoolMode.MAX.value),
                next_vector.eq(group.last_of_repeat),
            ]
            m.d.sync += [job.ending[name].eq(settings[name]) for name in FINISH]
            m.d.sync += [job.address[p].eq(pixel.row + pixel.column) for p, pixel in enumerate(group.pixels)]
            for base, start, step in (
                (job.tap, settings.t_addr, settings.t_step),
                (job.param, settings.p_addr, settings.p_step),
                (job.ending.o_base, 0, settings.o_cs),
            ):
                onward = Signal(WORD_BITS)
                m.d.comb += onward.eq(base + Mux(next_vector, step, 0))
                m.d.sync += base.eq(Mux(group.first, start, onward))
        return m
