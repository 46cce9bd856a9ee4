"""Dependency tokens: a counter for every ordered pair of units."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Cat, Const, Module, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from isa.faults import TOKEN_MAX
from isa.instructions import Unit

_UNITS = len(Unit)


class Tokens(wiring.Component):
    """A counter for each (producer, consumer) among ``units``, a unit with itself included; masks are of all units.

    ``give[p]`` is the mask of the units to which unit ``p`` gives a token in this cycle, ``take[c]`` the mask of the
    units from which unit ``c`` takes one; ``available[c]`` is the mask of the units that have a token for ``c``,
    ``full[p]`` the mask of the units for which ``p`` has ``TOKEN_MAX`` on the way already.
    Latency: a token given in one cycle is available in the next. Never stalls. Giving and taking in one cycle leaves
    the counter as it is. A consumer takes only what is available, a producer gives only where there is room.

    Room never runs out for good in a sequential program. The oldest unfinished instruction of the machine, say of unit
    ``p``, has its tokens, hence is done some day. All that was given by ``p`` so far comes before it in the program, and
    so does every taker of those tokens that program order has before it: these are finished. What is left in the
    counter is therefore at most what is on the way at this point of the program order, and that is below ``TOKEN_MAX``,
    for the program would not be sequential otherwise: the instruction gives its tokens, and the next one is the oldest.
    """

    def __init__(self, units: Sequence[Unit] = tuple(Unit)) -> None:
        self.units = units
        masks = data.ArrayLayout(unsigned(_UNITS), _UNITS)
        super().__init__({
            "give": In(masks),
            "take": In(masks),
            "available": Out(masks),
            "full": Out(masks),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for producer in self.units:
            for consumer in self.units:
                count = Signal(range(TOKEN_MAX + 1), name=f"count_{producer.name}_{consumer.name}".lower())
                give = self.give[producer][consumer]
                take = self.take[consumer][producer]
                with m.If(give ^ take):
                    m.d.sync += [
                        count.eq(count + Cat(Const(1, 1), take.replicate(len(count) - 1))),
                        self.available[consumer][producer].eq(give | (count != 1)),
                        self.full[producer][consumer].eq(give & (count == TOKEN_MAX - 1)),
                    ]
        return m
