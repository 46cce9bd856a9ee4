"""A way to the feature-map buffer, and the lanes that share it, turned from lanes to phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value

from hw.buffers.bank import Place, split_address
from isa.config import MachineConfig


@dataclass(frozen=True)
class Lane:
    """A lane, and where the word lies that it asks for."""

    port: Any
    place: Place

    def meets(self, other: Lane) -> Value:
        """The other lane asks for a word of the same bank."""
        mine = Cat(self.place.phase, self.place.group)
        return other.port.valid & (mine == Cat(other.place.phase, other.place.group))

    def shares_phase(self, other: Lane) -> Value:
        return other.port.valid & (self.place.phase == other.place.phase)


@dataclass(frozen=True)
class PhaseRequest:
    """What the lanes of a way were granted of one phase, a cycle ago: at most one word."""

    valid: Value
    group: Value
    row: Value
    lane: Value
    """Which of the lanes."""


class Way:
    """The lanes that share a way: in each cycle it takes one word of each phase.

    What was granted is known by phase in the cycle after. A way of one lane has the row and the group of that lane at every
    phase.
    """

    def __init__(self, m: Module, config: MachineConfig, name: str, ports: Sequence[Any]) -> None:
        self.config = config
        self.lanes = [Lane(port, split_address(config, port.addr)) for port in ports]
        self._name = name
        self._m = m

    def phase_requests(self) -> list[PhaseRequest]:
        """Registers: what was granted in the cycle before."""
        found = []
        only = self._registered(self.lanes[0].place, "") if len(self.lanes) == 1 else None
        for phase in range(self.config.fm_phases):
            hits = [lane.port.valid & (lane.place.phase == phase) for lane in self.lanes]
            grants = [hit & lane.port.ready for hit, lane in zip(hits, self.lanes, strict=True)]
            valid = Signal(name=f"{self._name}_valid{phase}")
            self._m.d.sync += valid.eq(Cat(grants).any())
            if only is not None:
                found.append(PhaseRequest(valid, *only, Cat()))
                continue
            number = Signal(range(len(self.lanes)), name=f"{self._name}_first{phase}")
            places = [lane.place for lane in self.lanes]
            group, row = (_choose(hits, [getattr(place, part) for place in places]) for part in ("group", "row"))
            place = Place(Cat(), group, row)
            self._m.d.comb += number.eq(_choose(hits, list(range(len(self.lanes)))))
            lane_register = Signal.like(number, name=f"{self._name}_lane{phase}", reset_less=True)
            self._m.d.sync += lane_register.eq(number)
            found.append(PhaseRequest(valid, *self._registered(place, str(phase)), lane_register))
        return found

    def _registered(self, place: Place, suffix: str) -> tuple[Signal, Signal]:
        group = Signal(len(place.group), name=f"{self._name}_group{suffix}", reset_less=True)
        row = Signal(len(place.row), name=f"{self._name}_row{suffix}", reset_less=True)
        self._m.d.sync += [group.eq(place.group), row.eq(place.row)]
        return group, row


def arbitrate(m: Module, order: Sequence[tuple[Way, Lane]]) -> None:
    """Grant every lane unless one before it in the order asks for the same bank, or for the same phase by the same way."""
    for place, (way, lane) in enumerate(order):
        blocked = [lane.shares_phase(other) if way is another else lane.meets(other) for another, other in order[:place]]
        m.d.comb += lane.port.ready.eq(~Cat(blocked).any())


def _choose(hits: Sequence[Value], options: Sequence[Any]) -> Value:
    """The option of the first hit; the last one's when there is none."""
    result = Value.cast(options[-1])
    for hit, option in zip(reversed(hits[:-1]), reversed(options[:-1]), strict=True):
        result = Mux(hit, option, result)
    return result


def delayed(m: Module, value: Value, cycles: int, name: str) -> Value:
    """The value that many cycles ago."""
    for cycle in range(cycles):
        register = Signal(len(value), name=f"{name}_{cycle + 1}", reset_less=True)
        m.d.sync += register.eq(value)
        value = register
    return value
