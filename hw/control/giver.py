"""Gives the tokens of finished instructions."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arithmetic.small import stepped
from hw.interfaces import TICKET_BITS
from hw.window.queue import Queue
from isa.depths import IN_FLIGHT
from isa.instructions import Unit

_UNITS = len(Unit)


class TokenGiver(wiring.Component):
    """Keeps the ``signal`` masks of up to ``IN_FLIGHT`` instructions that the unit has ``accepted``, while there is ``room``.

    Each ``done`` gives the tokens of the oldest instruction, in that cycle or in the first in which there is room for all of
    them. ``full`` has the units that can take no more. ``gives`` is high in that cycle, also for an instruction that has no
    tokens to give. ``blocked`` is high while a finished instruction finds no room for its tokens. ``at_work``: the unit has
    accepted an instruction that is not finished, and ``oldest_ticket`` is that of the oldest.
    """

    def __init__(self) -> None:
        super().__init__({
            "accepted": In(1),
            "signal": In(_UNITS),
            "room": Out(1),
            "done": In(1),
            "full": In(_UNITS),
            "give": Out(_UNITS),
            "gives": Out(1),
            "owes": Out(1),
            "blocked": Out(1),
            "at_work": Out(1),
            "oldest_ticket": Out(TICKET_BITS),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.in_flight = in_flight = Queue(unsigned(_UNITS), IN_FLIGHT)
        unpaid = Signal(range(IN_FLIGHT + 1))
        """The number of finished instructions whose tokens are still to be given."""
        lacking = in_flight.o.payload & self.full
        no_room = Signal(2)
        """Two bits: one of the first units that get tokens from the oldest instruction has no room, and one of the other units
        has none."""
        m.d.comb += [
            in_flight.i.payload.eq(self.signal),
            in_flight.i.valid.eq(self.accepted),
            in_flight.o.ready.eq(self.gives),
            self.room.eq(in_flight.i.ready),
            self.at_work.eq(in_flight.o.valid),
            self.owes.eq(unpaid != 0),
            self.blocked.eq(self.owes & no_room.any()),
        ]
        # Whether there is room is known before ``done``. Each half of it is a LUT deep.
        m.submodules.halves = halves = Module()
        halves.d.comb += no_room.eq(Cat(part.any() for part in (lacking[: _UNITS // 2], lacking[_UNITS // 2 :])))
        # ``done`` comes late, and the counters of tokens depend on ``give``.
        m.submodules.payment = payment = Module()
        payment.d.comb += [
            self.gives.eq((self.done | self.owes) & ~no_room.any()),
            self.give.eq(Mux(self.gives, in_flight.o.payload, 0)),
        ]
        m.d.sync += [
            unpaid.eq(stepped(unpaid, self.done, self.gives, IN_FLIGHT)),
            self.oldest_ticket.eq(self.oldest_ticket + self.gives),
        ]
        return m
