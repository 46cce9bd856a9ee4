"""The window: tells step by step which feature-map words a convolution or pooling reads."""

from __future__ import annotations

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.window.addresses import TapAddresses
from hw.window.layouts import step_layout, taps_layout, window_layout
from hw.window.pixels import Widths
from hw.window.raster import RasterWalk
from hw.window.taps import TapLoop
from isa.config import MachineConfig


class WindowGenerator(wiring.Component):
    """Loops over outer iteration, pixel group, ``ky``, ``kx`` and inner vector, one step per cycle.

    No cycle is lost at any loop end nor from instruction to instruction, unless an instruction has fewer than about
    ``px_p + 6`` steps. A chain of address generators does everything with additions and comparisons:

    ================  ======================================================================================
    ``RasterWalk``    the pixels of a group, and of each the row, row number and column of its first tap
    ``TapLoop``       counters of ``ky``, ``kx`` and vector, with the offsets that all lanes share
    ``TapAddresses``  the sums of both; padding or not
    ================  ======================================================================================

    The latency from instruction to first step is 9 and the raster's rounds. It stalls while ``o`` is not ready. Port ``p``
    reads the tap of pixel ``p``.
    """

    def __init__(self, config: MachineConfig, lanes: int, taps: int = 1) -> None:
        """``taps`` is the most that a step takes. ``hw/pool/taps.py`` has the windows that take more than one."""
        self.config = config
        self.lanes = lanes
        self.taps = taps
        super().__init__({
            "i": In(stream.Signature(window_layout(config, taps))),
            "o": Out(stream.Signature(step_layout(config, lanes, taps))),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        settings = taps_layout(self.config, self.taps)
        m.submodules.raster = raster = RasterWalk(Widths.of_input(self.config), self.lanes, (self.lanes,), settings)
        m.submodules.loop = loop = self.loop()
        m.submodules.addresses = addresses = self.addresses()
        connect(m, raster.o, loop.i)
        connect(m, loop.o, addresses.i)
        connect(m, addresses.o, flipped(self.o))
        walk, given = raster.i.p, self.i.p
        m.d.comb += [
            loop.move.eq(addresses.move),
            raster.i.valid.eq(self.i.valid),
            self.i.ready.eq(raster.i.ready),
            walk.width.eq(given.o_w),
            walk.height.eq(given.o_h),
            walk.repeats.eq(given.outer),
            walk.row.eq(given.i_off),
            walk.row_step.eq(given.i_ys),
            walk.ring.eq(given.i_ring),
            walk.y.eq(-given.pad_t),
            walk.y_step.eq(given.s_y),
            walk.column.eq(-given.pad_l),
            walk.column_step.eq(given.s_x),
            *(walk.carried[name].eq(given[name]) for name in settings.members),
        ]
        return m

    def loop(self) -> TapLoop:
        return TapLoop(self.config, self.lanes)

    def addresses(self) -> TapAddresses:
        return TapAddresses(self.config, self.lanes)
