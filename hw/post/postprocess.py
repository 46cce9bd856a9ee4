"""From int32 accumulators to int8 outputs: the pipeline at the end of CONV and POOL."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Signal, signed, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.interfaces import TableWrite
from hw.post import activation, requantise
from hw.post.activation import FINISH, Activate
from hw.post.requantise import RequantiseLane
from isa.config import MachineConfig

LATENCY = requantise.LATENCY + activation.LATENCY
"""Cycles from a vector that is taken to the same vector offered."""


def post_layout(lanes: int) -> data.StructLayout:
    """A vector of sums with all that is to be done with it; ``bypass``: steps 1 to 5 only saturate (MAX)."""
    return data.StructLayout({
        "acc": data.ArrayLayout(signed(32), lanes),
        "params": data.ArrayLayout(unsigned(64), lanes),
        "bypass": unsigned(1),
        **FINISH,
    })


class PostProcess(wiring.Component):
    """Requantisation and activation of ``lanes`` values at a time.

    One vector per cycle, latency ``LATENCY``. A refused output stops all stages in front of it up to the
    first half (requantisation, activation) whose last stage is empty; nothing is lost or reordered.
    """

    def __init__(self, config: MachineConfig, lanes: int) -> None:
        self._config = config
        self._lanes = lanes
        super().__init__({
            "i": In(stream.Signature(post_layout(lanes))),
            "o": Out(stream.Signature(data.ArrayLayout(signed(8), lanes))),
            "table_write": In(TableWrite(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.submodules.activate = activate = Activate(self._config, self._lanes)
        wiring.connect(m, wiring.flipped(self.o), activate.o)
        wiring.connect(m, wiring.flipped(self.table_write), activate.table_write)

        stages = requantise.LATENCY
        valid = Signal(stages)
        move = Signal()
        advance = Signal(stages)
        m.d.comb += [
            move.eq(activate.i.ready | ~valid[-1]),
            advance.eq(Cat(self.i.valid, valid[:-1]) & move.replicate(stages)),
            self.i.ready.eq(move),
            activate.i.valid.eq(valid[-1]),
        ]
        with m.If(move):
            m.d.sync += valid.eq(Cat(self.i.valid, valid))

        side = Cat(self.i.payload[name] for name in FINISH)
        for n in range(stages):
            delayed = Signal(len(side), name=f"side_{n}")
            with m.If(advance[n]):
                m.d.sync += delayed.eq(side)
            side = delayed
        m.d.comb += Cat(activate.i.payload[name] for name in FINISH).eq(side)

        for n in range(self._lanes):
            m.submodules[f"lane_{n}"] = lane = RequantiseLane()
            m.d.comb += [
                lane.advance.eq(advance),
                lane.acc.eq(self.i.payload.acc[n]),
                lane.param.eq(self.i.payload.params[n]),
                lane.bypass.eq(self.i.payload.bypass),
                activate.i.payload.r[n].eq(lane.r),
            ]
        return m
