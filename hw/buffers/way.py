"""Ways to the feature-map buffer. A way is the path that the words of some lanes share. This file also says which lanes may use
it in a cycle.

There are two kinds. A *parallel* way carries one word of each phase in a cycle, and each of its lanes chooses the word of a
phase for itself. A *serial* way carries one word in a cycle, whatever its phase, and all its lanes see that word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value

from hw.buffers.bank import Place, split_address
from hw.copies import Spread
from isa.config import MachineConfig


@dataclass(frozen=True)
class Lane:
    """A lane of a way, and the place of the word that it asks for."""

    port: Any
    place: Place
    way: Way
    pauses: Value
    """The lane leaves this cycle to the other lanes of its serial way, or to the one that it stands behind."""
    slot: int
    """The number of the lane's word among those of the way. A lane has the word of the one that it stands behind."""

    @property
    def asks(self) -> Value:
        return self.port.valid & ~self.pauses

    def asks_for(self, phase: int) -> Value:
        return self.asks & (self.place.phase == phase)

    def excludes(self, other: Lane) -> Value:
        """High if this lane asks for something that ``other`` cannot have in the same cycle."""
        if self.way is not other.way:
            return self.asks & (self.place.phase == other.place.phase) & (self.place.group == other.place.group)
        return self.asks if self.way.serial else self.asks & (self.place.phase == other.place.phase)


@dataclass(frozen=True)
class PhaseRequest:
    """The word of one phase that a way was granted in the cycle before."""

    valid: Value
    group: Value
    row: Value
    slot: Spread | None = None
    """The slot of the lane that was granted the word, on a parallel way."""


class Way:
    """The lanes that share a way, in order of priority.

    On a serial way the first lane pauses in the cycle after one in which it and another lane asked. So the first lane cannot
    starve the others, and no lane waits for the first more than one cycle.
    """

    def __init__(
        self, m: Module, config: MachineConfig, name: str, ports: Sequence[Any], *, serial: bool = False,
        behind: int | None = None,
    ) -> None:  # fmt: skip
        """``behind`` is the lane that the last one of a parallel way stands behind, so that both need one word."""
        self.config = config
        self.serial = serial
        self._name = name
        self._m = m
        pauses: Value = Const(0)
        if serial and len(ports) > 1:
            first, *others = ports
            pauses = Signal(name=f"{name}_pauses")
            m.d.sync += pauses.eq(first.valid & ~pauses & Cat(other.valid for other in others).any())
        paused = [pauses, *(Const(0) for _ in ports[1:])]
        slots = list(range(len(ports)))
        if behind is not None:
            paused[-1], slots[-1] = ports[behind].valid, behind
        self.lanes = [
            Lane(port, split_address(config, port.addr), self, pause, slot)
            for port, pause, slot in zip(ports, paused, slots, strict=True)
        ]

    def lanes_of_slots(self) -> list[list[Lane]]:
        """The lanes of each word, in order of priority."""
        numbers = range(1 + max(lane.slot for lane in self.lanes))
        return [[lane for lane in self.lanes if lane.slot == number] for number in numbers]

    def phase_requests(self) -> list[PhaseRequest]:
        """The words that were granted in the cycle before, for each phase, in registers."""
        phases = range(self.config.fm_phases)
        if not self.serial:
            return [self._phase_request(phase) for phase in phases]
        group, row = (self.first_asking([getattr(lane.place, part) for lane in self.lanes]) for part in ("group", "row"))
        only = self._registered(group, "group"), self._registered(row, "row")
        return [PhaseRequest(self._granted(phase), *only) for phase in phases]

    def _phase_request(self, phase: int) -> PhaseRequest:
        asking = [lane.asks_for(phase) for lane in self.lanes]
        slots = [lane.slot for lane in self.lanes]
        number = Signal(range(max(slots) + 1), name=f"{self._name}_first{phase}")
        slot = Signal.like(number, name=f"{self._name}_lane{phase}", reset_less=True)
        self._m.d.comb += number.eq(first_of(asking, slots))
        group, row = (first_of(asking, [getattr(lane.place, part) for lane in self.lanes]) for part in ("group", "row"))
        return PhaseRequest(
            self._granted(phase), self._registered(group, f"group{phase}"), self._registered(row, f"row{phase}"),
            Spread(self._m, slot, number, "sync"),
        )  # fmt: skip

    def first_asking(self, options: Sequence[Value]) -> Value:
        """The option of the first lane that asks."""
        return first_of([lane.asks for lane in self.lanes], options)

    def _granted(self, phase: int) -> Signal:
        """A register that says whether some lane was granted a word of that phase. Grants come late, so this has a module of
        its own, which synthesis keeps shallow."""
        valid, asking = Signal(name=f"{self._name}_valid{phase}"), Signal(len(self.lanes), name=f"{self._name}_asking{phase}")
        self._m.d.comb += asking.eq(Cat(lane.asks_for(phase) for lane in self.lanes))
        self._m.submodules[f"{self._name}_granted{phase}"] = late = Module()
        late.d.sync += valid.eq((asking & Cat(lane.port.ready for lane in self.lanes)).any())
        return valid

    def _registered(self, value: Value, name: str) -> Signal:
        return delayed(self._m, value, 1, f"{self._name}_{name}")


def arbitrate(m: Module, order: Sequence[Lane]) -> None:
    """Grants every lane unless it pauses, or a lane before it in ``order`` excludes it. A lane that asks for nothing is
    granted.

    Each lane has a module of its own. Synthesis maps it for depth alone and shares nothing between lanes (see
    docs/decisions/late-signals.md).
    """
    for number, lane in enumerate(order):
        m.submodules[f"lane{number}"] = alone = Module()
        waits = Cat(lane.pauses, *(other.excludes(lane) for other in order[:number])).any()
        alone.d.comb += lane.port.ready.eq(~(lane.port.valid & waits))


def first_of(hits: Sequence[Value], options: Sequence[Any]) -> Value:
    """The option of the first hit, or the last option when there is none."""
    result = Value.cast(options[-1])
    for hit, option in zip(reversed(hits[:-1]), reversed(options[:-1]), strict=True):
        result = Mux(hit, option, result)
    return result


def delayed(m: Module, value: Value, cycles: int, name: str) -> Signal:
    """The value as it was ``cycles`` ago."""
    for cycle in range(cycles):
        register = Signal(len(value), name=f"{name}_{cycle + 1}", reset_less=True)
        m.d.sync += register.eq(value)
        value = register
    assert isinstance(value, Signal)
    return value
