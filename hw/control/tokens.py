"""Dependency tokens: a counter for every ordered pair of units."""

from __future__ import annotations

from amaranth import Cat, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from isa.faults import TOKEN_MAX
from isa.instructions import Unit

_UNITS = len(Unit)


class Tokens(wiring.Component):
    """25 counters, one for each (producer, consumer), a unit with itself included.

    ``give[p]`` is the mask of the units to which unit ``p`` gives a token in this cycle, ``take[c]`` the mask of the
    units from which unit ``c`` takes one; ``available[c]`` is the mask of the units that have a token for ``c``.
    Latency: a token given in one cycle is available in the next. Never stalls. Giving and taking in one cycle leaves
    the counter as it is. A consumer takes only what is available.

    A token given to a counter that holds ``TOKEN_MAX``, and from which none is taken in that cycle, is lost and sets
    ``overflow[p]`` in that cycle.
    """

    def __init__(self) -> None:
        masks = data.ArrayLayout(unsigned(_UNITS), _UNITS)
        super().__init__({
            "give": In(masks),
            "take": In(masks),
            "available": Out(masks),
            "overflow": Out(_UNITS),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for producer in range(_UNITS):
            lost = []
            for consumer in range(_UNITS):
                count = Signal(range(TOKEN_MAX + 1), name=f"count_{Unit(producer).name}_{Unit(consumer).name}".lower())
                give = self.give[producer][consumer]
                take = self.take[consumer][producer]
                m.d.comb += self.available[consumer][producer].eq(count != 0)
                full = Signal(name=f"full_{Unit(producer).name}_{Unit(consumer).name}".lower())
                m.d.comb += full.eq(count == TOKEN_MAX)
                with m.If(give & ~take & ~full):
                    m.d.sync += count.eq(count + 1)
                with m.Elif(take & ~give):
                    m.d.sync += count.eq(count - 1)
                lost.append(give & ~take & full)
            m.d.comb += self.overflow[producer].eq(Cat(*lost).any())
        return m
