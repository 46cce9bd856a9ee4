"""The pipeline at the end of CONV and POOL, from accumulators to outputs."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Signal, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.doubled import halves_of_a_cycle
from hw.interfaces import TableWrite
from hw.post.activation import BYTE, Activate, finish_fields, vectors
from hw.post.lane import FinishingLane
from hw.post.requantise import RequantiseLane
from hw.post.shift import ShiftLane
from isa.config import MachineConfig
from isa.latency import SHIFT, requantise_latency
from isa.requantisation import SUM_BITS

LANES_OF_STAGES = 3
"""The lanes whose stages the same registers enable."""
LANES_OF_HALVES = 8
"""The lanes that learn from the same registers in which half of a cycle they are."""


def post_layout(lanes: int, sum_bits: int = SUM_BITS, result_bits: int = BYTE) -> data.StructLayout:
    """A vector of sums, with all that is to be done with it. With a lane's ``bypass`` steps 1 to 5 only saturate (MAX)."""
    return data.StructLayout({
        "acc": data.ArrayLayout(signed(sum_bits), lanes),
        "params": data.ArrayLayout(unsigned(64), lanes),
        "bypass": unsigned(lanes),
        **finish_fields(result_bits),
    })


def conv_layout(config: MachineConfig, lanes: int) -> data.StructLayout:
    """The same layout with sums and results of CONV."""
    return post_layout(lanes, config.sum_bits, config.result_bits)


class Stages(wiring.Component):
    """Tells which stages of a pipeline take a vector. ``valid`` belongs to the first stage, and ``out`` is behind the last. The
    first stage takes whatever is there, so VALID drives no enables.

    Each group of lanes has a copy in its own module, because synthesis merges equal registers of a module.
    """

    def __init__(self, stages: int) -> None:
        self._stages = stages
        super().__init__({"valid": In(1), "advance": Out(stages), "out": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal(self._stages, attrs={"keep": "true"})
        m.d.sync += held.eq(Cat(self.valid, held[:-1]))
        m.d.comb += [self.advance.eq(Cat(1, held[:-1])), self.out.eq(held[-1])]
        return m


class PostProcess(wiring.Component):
    """Requantises and activates ``lanes`` values at a time.

    It takes one vector per cycle, with a latency of ``post_latency`` (``conv_post_latency`` if it only ``shifts``). It never
    stalls, so the part that feeds it must have room for the results. With ``array_clock`` 2 the multiplier of each lane runs at
    twice the clock.
    """

    def __init__(self, config: MachineConfig, lanes: int, *, shifts: bool = False, of_conv: bool = True) -> None:
        """``shifts``: scales are powers of two. ``of_conv``: sums and results are as long as CONV's."""
        self._config = config
        self._lanes = lanes
        self._shifts = shifts
        self._sum_bits, self._result_bits = (config.sum_bits, config.result_bits) if of_conv else (SUM_BITS, BYTE)
        super().__init__({
            "i": In(vectors(post_layout(lanes, self._sum_bits, self._result_bits))),
            "o": Out(vectors(data.ArrayLayout(signed(self._result_bits), lanes))),
            "table_write": In(TableWrite(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.activate = activate = Activate(self._config, self._lanes, self._result_bits)
        wiring.connect(m, wiring.flipped(self.o), activate.o)
        wiring.connect(m, wiring.flipped(self.table_write), activate.table_write)

        stages = SHIFT if self._shifts else requantise_latency(self._config)
        m.submodules.stages = beside = Stages(stages)
        m.d.comb += [beside.valid.eq(self.i.valid), activate.i.valid.eq(beside.out)]

        finish = finish_fields(self._result_bits)
        side = Cat(self.i.p[name] for name in finish)
        for n in range(stages):
            delayed = Signal(len(side), name=f"side_{n}")
            with m.If(beside.advance[n]):
                m.d.sync += delayed.eq(side)
            side = delayed
        m.d.comb += Cat(activate.i.p[name] for name in finish).eq(side)

        doubled = self._config.array_clock > 1 and not self._shifts
        for n in range(self._lanes):
            m.submodules[f"lane_{n}"] = lane = self._lane()
            if n % LANES_OF_STAGES == 0:
                m.submodules[f"stages_{n}"] = told = Stages(stages)
                m.d.comb += told.valid.eq(self.i.valid)
            m.d.comb += [
                lane.advance.eq(told.advance),
                lane.acc.eq(self.i.p.acc[n]),
                lane.param.eq(self.i.p.params[n]),
                lane.bypass.eq(self.i.p.bypass[n]),
                activate.i.p.r[n].eq(lane.r),
            ]
            if doubled and n % LANES_OF_HALVES == 0:
                halves = halves_of_a_cycle(m, str(n))
            if doubled:
                m.d.comb += lane.second_half.eq(halves.second)
        return m

    def _lane(self) -> FinishingLane:
        return ShiftLane(self._config) if self._shifts else RequantiseLane(self._config, self._sum_bits)
