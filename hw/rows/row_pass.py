"""Steps through the slices of rows that lie in the row buffer."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.rows.layouts import place_layout
from isa.config import MachineConfig
from isa.instructions import BY_NAME

_FIELDS = BY_NAME["ROW"].fields


def step_layout(config: MachineConfig) -> data.StructLayout:
    """A slice that is read or written in this cycle.

    ``used`` marks the elements that count. The slice ``begins`` or ``ends`` a word, and it ``opens`` or ``closes`` a row.
    """
    return data.StructLayout({
        "valid": unsigned(1),
        "place": place_layout(config),
        "used": unsigned(config.row_lanes),
        **dict.fromkeys(("begins", "ends", "opens", "closes"), unsigned(1)),
    })


class RowPass(wiring.Component):
    """Goes through the slices of one row after the other. Each cycle with ``go`` moves on by a slice; ``restart`` goes back to
    the first one. There is no latency: ``o`` is the slice of this cycle, valid with ``go``."""

    def __init__(self, config: MachineConfig) -> None:
        self.config = config
        super().__init__({
            "restart": In(1),
            "go": In(1),
            "words": In(_FIELDS["words"].bits),
            "last_lanes": In(_FIELDS["last_lanes"].bits),
            "o": Out(step_layout(config)),
        })

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config, step = self.config, self.o
        here = Signal(place_layout(config))
        left = Signal.like(self.words)
        final = Signal()
        """This word is the row's last. A register knows it a cycle before it is needed."""
        m.d.comb += [
            step.valid.eq(self.go),
            step.place.eq(here),
            step.begins.eq(here.part == 0),
            step.ends.eq(here.part == config.row_parts - 1),
            step.opens.eq(step.begins & (here.word == 0)),
            step.closes.eq(step.ends & final),
        ]
        lanes = config.row_lanes
        for part in range(config.row_parts):
            with m.If(here.part == part):
                numbers = range(part * lanes, (part + 1) * lanes)
                m.d.comb += step.used.eq(Cat(~final | (self.last_lanes > lane) for lane in numbers))
        with m.If(self.restart):
            m.d.sync += [here.eq(0), left.eq(self.words), final.eq(self.words == 1)]
        with m.Elif(self.go):
            m.d.sync += here.part.eq(Mux(step.ends, 0, here.part + 1))
            with m.If(step.ends):
                m.d.sync += [here.word.eq(Mux(final, 0, here.word + 1)), left.eq(Mux(final, self.words, left - 1))]
                m.d.sync += [final.eq(Mux(final, self.words == 1, left == 2)), here.row.eq(here.row + final)]
        return m
