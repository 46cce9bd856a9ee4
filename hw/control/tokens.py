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
    """A counter for each pair (producer, consumer) of ``units``, also for a unit with itself. Masks have a bit for every unit
    of the architecture.

    ``give[p]`` is the mask of the units to which unit ``p`` gives a token in this cycle, ``take[c]`` the mask of the units from
    which unit ``c`` takes one. ``available[c]`` is the mask of the units that have a token for ``c``. ``full[p]`` is the mask
    of the units for which ``p`` already has ``TOKEN_MAX`` on the way.

    A token given in one cycle is available in the next. Nothing stalls. Giving and taking in one cycle leaves the counter as it
    is. A consumer takes only what is available, and a producer gives only where there is room.

    Room never runs out for good in a sequential program. The oldest unfinished instruction of the machine, say of unit ``p``,
    has its tokens, so it is done some day. All that ``p`` has given so far comes before it in the program. So does every taker
    of those tokens that program order puts before it, and these takers are finished. The counter therefore holds at most what
    is on the way at this point of the program order. That is below ``TOKEN_MAX``, or the program would not be sequential. So
    the instruction gives its tokens, and the next one is the oldest.
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
