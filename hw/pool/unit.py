"""The POOL unit: maximum, average and depthwise convolution beside the array."""

from __future__ import annotations

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hw.fault_latch import latch_fault
from hw.interfaces import TICKET_BITS, BufferRead, FeatureMapRead, FeatureMapWrite, UnitSignature
from hw.pool.finish import PixelFinish, depth, post_members
from hw.pool.layouts import FINISH_LAYOUT, param_read, param_word, reduction_layout, tap_word
from hw.pool.reduce import WindowReduce
from hw.pool.taps import PoolWindow
from hw.post.activation import FINISH
from hw.window.fetch import WindowFetch
from hw.window.placement import Placement
from hw.window.queue import RamQueue
from isa.config import MachineConfig
from isa.faults import Fault
from isa.instructions import PoolMode, Unit

_WINDOW_FIELDS = (
    "i_addr", "i_ring", "t_ys", "i_h", "i_w", "k_h", "k_w", "d_y", "d_x", "pad_value", "i_off", "i_ys", "pad_t", "pad_l",
    "s_y", "s_x", "o_h", "o_w",
)  # fmt: skip
_PLACE_FIELDS = ("o_addr", "o_xs", "o_ys", "o_cs", "o_h", "o_w")
_IN_FLIGHT = 4
"""The accepted instructions whose last pixel has not yet left the reduction. So far may short ones overlap."""


class PoolUnit(wiring.Component):
    """Executes POOL: up to ``pool_taps`` taps on ``px_p`` pixels and ``ic_p`` channels per cycle. Results leave meanwhile.

    An accepted instruction goes to four parts at once. Each of them walks through it at its own pace:

    ========= ======================================= ==============================================
    window    ``PoolWindow``, ``WindowFetch``         which words are read; reads them
    reduce    ``WindowReduce``                        taps to sums, tap words
    finish    ``PixelFinish``                         parameter words, requantisation, write
    placement ``Placement``, a pixel at a time        where the results go
    ========= ======================================= ==============================================

    No cycle is lost between windows of at least ``px_p x ic_p / pool_finish`` taps, nor between instructions of more than a few
    taps. The unit stalls where a bank is refused; reads run ahead of refused writes by what the queues hold. ``halt`` keeps it
    from accepting an instruction. After a fault results are unspecified, and the unit may stall for good.
    """

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            **dict(UnitSignature(Unit.POOL, config).members),
            "fm_read": Out(FeatureMapRead(config, pads=True)).array(config.px_p + config.pool_taps - 1),
            "fm_write": Out(FeatureMapWrite(config)),
            "taps": Out(BufferRead((config.taps_depth - 1).bit_length(), 8 * config.ic_p)).array(config.pool_taps),
            "params": Out(param_read(config)),
            **post_members(config),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        m.submodules.window = window = PoolWindow(c)
        m.submodules.fetch = fetch = WindowFetch(c, c.pool_taps)
        m.submodules.reduce = reduce = WindowReduce(c)
        m.submodules.reductions = reductions = RamQueue(c, reduction_layout(c), _IN_FLIGHT)
        m.submodules.finish = finish = PixelFinish(c)
        m.submodules.endings = endings = RamQueue(c, FINISH_LAYOUT, _IN_FLIGHT)
        m.submodules.placement = placement = Placement(c, 1, (1,) * c.px_p)
        wiring.connect(m, window.o, fetch.i)
        wiring.connect(m, fetch.o, reduce.i)
        wiring.connect(m, reductions.o, reduce.settings)
        wiring.connect(m, reduce.o, finish.i)
        wiring.connect(m, endings.o, finish.settings)
        wiring.connect(m, placement.o, finish.place)
        for inner, outer in zip(reduce.taps, self.taps, strict=True):
            wiring.connect(m, inner, wiring.flipped(outer))
        wiring.connect(m, finish.params, wiring.flipped(self.params))
        wiring.connect(m, finish.fm_write, wiring.flipped(self.fm_write))
        for name in post_members(c):
            wiring.connect(m, getattr(finish, name), wiring.flipped(getattr(self, name)))
        for lane, port in zip(fetch.fm_read, self.fm_read, strict=True):
            wiring.connect(m, lane, wiring.flipped(port))

        self._accept(m, window, placement, reductions, endings)
        self._report(m, fetch, reduce, finish)
        return m

    def _accept(
        self, m: Module, window: PoolWindow, placement: Placement, reductions: RamQueue, endings: RamQueue
    ) -> None:
        """Hands the instruction to all four parts in the same cycle."""
        op = self.instruction.p.op.POOL
        ticket = self.instruction.p.ticket
        parts = (window.i, placement.i, reductions.i, endings.i)
        m.d.comb += self.instruction.ready.eq(~self.halt & Cat(part.ready for part in parts).all())
        m.d.comb += [part.valid.eq(self.instruction.valid & self.instruction.ready) for part in parts]
        m.d.comb += [part.p.ticket.eq(ticket) for part in parts]
        m.d.comb += [window.i.p[name].eq(op[name]) for name in _WINDOW_FIELDS]
        m.d.comb += [
            window.i.p.outer.eq(op.vectors),
            window.i.p.outer_period.eq(1),
            window.i.p.outer_step.eq(op.i_cs),
            window.i.p.inner.eq(1),
        ]
        if self.config.pool_taps > 1:
            several = op.mode != PoolMode.MAX.value
            side_by_side = (op.d_x == 1) & ((op.s_x == 1) | (self.config.px_p == 1))
            m.d.comb += [window.i.p.several.eq(several), window.i.p.neighbours.eq(several & side_by_side)]
        m.d.comb += [placement.i.p[name].eq(op[name]) for name in _PLACE_FIELDS]
        m.d.comb += placement.i.p.outer.eq(op.vectors)
        m.d.comb += [reductions.i.p[name].eq(op[name]) for name in ("mode", "by_count", "w_zp")]
        m.d.comb += [reductions.i.p[name].eq(tap_word(self.config).of(op[name])) for name in ("t_addr", "t_step")]
        m.d.comb += [reductions.i.p[name].eq(param_word(self.config).of(op[name])) for name in ("p_addr", "p_step")]
        m.d.comb += [endings.i.p[name].eq(op[name]) for name in FINISH]
        m.d.comb += endings.i.p.bypass.eq(op.mode == PoolMode.MAX.value)

    def _report(self, m: Module, fetch: WindowFetch, reduce: WindowReduce, finish: PixelFinish) -> None:
        """Reports activity and the first fault. The fault of the oldest instruction wins among those of one cycle."""
        in_work = Signal(range(_IN_FLIGHT + depth(self.config) + 3))
        started = Signal()
        m.d.sync += [
            started.eq(self.instruction.valid & self.instruction.ready),
            in_work.eq(in_work + started - finish.done),
        ]
        m.d.comb += [
            self.done.eq(finish.done),
            self.busy.eq(started | (in_work != 0)),
            self.active.eq(reduce.i.valid & reduce.i.ready),
        ]
        m.d.sync += self.wait_bank.eq(fetch.wait_bank | (self.fm_write.valid & ~self.fm_write.ready))
        outside = Signal()
        ticket = Signal(TICKET_BITS, reset_less=True)
        """The ticket of the tap word asked for in the last cycle."""
        m.d.sync += [outside.eq(reduce.outside), ticket.eq(reduce.settings.p.ticket)]
        latch_fault(m, self.fault, [
            (finish.write_outside, Fault.FM_ADDRESS, finish.place.p.ticket),
            (finish.param_outside, Fault.BUFFER_ADDRESS, finish.settings.p.ticket),
            (outside, Fault.BUFFER_ADDRESS, ticket),
            (fetch.fault.valid, Fault.FM_ADDRESS, fetch.fault.fault.ticket),
        ])
