"""A way to the feature-map buffer, and the lanes that share it, turned from lanes to phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value

from hw.buffers.bank import Place, split_address
from isa.config import MachineConfig


@dataclass(frozen=True)
class Lane:
    """A lane, and where the word lies that it asks for."""

    port: Any
    place: Place
    way: Way
    line: int
    """Which of the lines of its way its words take."""
    back: Value
    """It leaves this cycle to the others on its line."""

    @property
    def asks(self) -> Value:
        return self.port.valid & ~self.back

    @property
    def may_stand_back(self) -> bool:
        return not isinstance(self.back, Const)

    @property
    def decoded(self) -> bool:
        """It says in bits what it wants."""
        return "bank" in self.port.signature.members

    def of_phase(self, phase: int) -> Value:
        """It asks for a word of that phase."""
        if self.decoded:
            return self.port.phase[phase] & ~self.back
        return self.asks & (self.place.phase == phase)

    def waits_for(self, before: Sequence[Lane]) -> Value:
        """One of these lanes, which go before this one, asks for what both cannot have in one cycle."""
        return Cat(other.asks & self._excludes(other) for other in before).any()

    def terms(self, before: Sequence[Lane]) -> list[_Term]:
        """The same of lanes that are decoded; any of these bits."""
        port = self.port
        line: list[Lane] = []
        way: list[Lane] = []
        others: list[Lane] = []
        for other in before:
            kind = others if other.way is not self.way else way if other.line != self.line else line
            kind.append(other)
        return [
            *(_Term(port.valid & other.asks, 2 + other.may_stand_back) for other in line),
            *_meetings(port.phase, [(other.port.phase, other) for other in way]),
            *_meetings(port.bank, [(other.port.bank, other) for other in others]),
        ]

    def _excludes(self, other: Lane) -> Value:
        if self.way is not other.way:
            return Cat(self.place.phase, self.place.group) == Cat(other.place.phase, other.place.group)
        if self.line != other.line:
            return self.place.phase == other.place.phase
        return Const(1)


@dataclass(frozen=True)
class PhaseRequest:
    """What the lanes of a way were granted of one phase, a cycle ago: at most one word."""

    valid: Value
    group: Value
    row: Value
    line: Value
    """By which of the lines it goes."""


class Way:
    """The lanes that share a way: in each cycle it takes one word of each phase, and one word on each of its lines.

    Lanes have a line each, or several have one together. The first of these stands back in the cycle after one in which
    another wanted the line, too: neither side waits longer than a cycle for the other. What was granted is known by phase
    in the cycle after. A way of one line has the row and the group of its only word at every phase.
    """

    def __init__(self, m: Module, config: MachineConfig, name: str, ports: Sequence[Any], lines: Sequence[int]) -> None:
        """``lines``: the line of each port, numbered in the order in which they come first."""
        self.config = config
        self.lanes = []
        self.lines: list[list[Lane]] = [[] for _ in range(max(lines) + 1)]
        self._name = name
        self._m = m
        for port, line in zip(ports, lines, strict=True):
            others = [other for other, its in zip(ports, lines, strict=True) if its == line and other is not port]
            back = Const(0) if self.lines[line] or not others else self._takes_turns(port, others, line)
            lane = Lane(port, split_address(config, port.addr), self, line, back)
            self.lanes.append(lane)
            self.lines[line].append(lane)

    def _takes_turns(self, port: Any, others: Sequence[Any], line: int) -> Signal:
        """Register: the first lane of a line is to stand back."""
        back = Signal(name=f"{self._name}_back{line}")
        self._m.d.sync += back.eq(port.valid & ~back & Cat(other.valid for other in others).any())
        return back

    def phase_requests(self) -> list[PhaseRequest]:
        """Registers: what was granted in the cycle before."""
        phases = range(self.config.fm_phases)
        if len(self.lines) > 1:
            return [self._phase_request(phase) for phase in phases]
        group, row = (on_line(self.lanes, [getattr(lane.place, part) for lane in self.lanes]) for part in ("group", "row"))
        only = self._registered(group, row, "")
        return [PhaseRequest(self._granted(phase), *only, Cat()) for phase in phases]

    def _phase_request(self, phase: int) -> PhaseRequest:
        valid = self._granted(phase)
        hits = self._hits(phase)
        line = Signal(range(len(self.lines)), name=f"{self._name}_first{phase}")
        group, row = (_choose(hits, [getattr(lane.place, part) for lane in self.lanes]) for part in ("group", "row"))
        self._m.d.comb += line.eq(_choose(hits, [lane.line for lane in self.lanes]))
        register = Signal.like(line, name=f"{self._name}_line{phase}", reset_less=True)
        self._m.d.sync += register.eq(line)
        return PhaseRequest(valid, *self._registered(group, row, str(phase)), register)

    def _hits(self, phase: int) -> list[Value]:
        return [lane.of_phase(phase) for lane in self.lanes]

    def _granted(self, phase: int) -> Signal:
        """Some lane was granted a word of that phase."""
        valid = Signal(name=f"{self._name}_valid{phase}")
        grants = [hit & lane.port.ready for hit, lane in zip(self._hits(phase), self.lanes, strict=True)]
        self._m.d.sync += valid.eq(Cat(grants).any())
        return valid

    def _registered(self, group: Value, row: Value, suffix: str) -> tuple[Signal, Signal]:
        registers = (
            Signal(len(group), name=f"{self._name}_group{suffix}", reset_less=True),
            Signal(len(row), name=f"{self._name}_row{suffix}", reset_less=True),
        )
        self._m.d.sync += [register.eq(value) for register, value in zip(registers, (group, row), strict=True)]
        return registers


def arbitrate(m: Module, order: Sequence[Lane]) -> None:
    """Grant every lane unless it stands back, or one before it in the order asks for the same bank, for the same phase by the
    same way, or for anything on the same line.

    What a lane that is decoded waits for is a tree of LUTs of its own, three deep as long as its terms fill no more than 36,
    and in a module of its own, lest synthesis share between lanes what then is a level deeper.
    """
    for place, lane in enumerate(order):
        if lane.decoded:
            m.submodules[f"lane{place}"] = alone = Module()
            alone.d.comb += lane.port.ready.eq(~_any([
                *([_Term(lane.back & lane.port.valid, 2)] if lane.may_stand_back else []), *lane.terms(order[:place])
            ]))
        else:
            m.d.comb += lane.port.ready.eq(~(lane.back | lane.waits_for(order[:place])))


@dataclass(frozen=True)
class _Term:
    """A bit that hangs on so many others."""

    value: Value
    inputs: int


_LUT = 6
"""Inputs of a LUT."""


def _meetings(own: Value, others: Sequence[tuple[Value, Lane]]) -> list[_Term]:
    """For each bit: it is set in ``own`` and in another that does not stand back; in terms of a LUT at most."""
    terms = []
    for n in range(len(own)):
        asked: list[Value] = []
        inputs = 1
        for bits, lane in others:
            more = 1 + lane.may_stand_back
            if inputs + more > _LUT:
                terms.append(_Term(own[n] & Cat(asked).any(), inputs))
                asked, inputs = [], 1
            asked.append(bits[n] & ~lane.back if lane.may_stand_back else bits[n])
            inputs += more
        if asked:
            terms.append(_Term(own[n] & Cat(asked).any(), inputs))
    return terms


def _any(terms: Sequence[_Term]) -> Value:
    """Any of the terms, of which a LUT takes as many as it has inputs for."""
    luts: list[tuple[list[Value], int]] = []
    for term in sorted(terms, key=lambda term: -term.inputs):
        for index, (values, inputs) in enumerate(luts):
            if inputs + term.inputs <= _LUT:
                luts[index] = ([*values, term.value], inputs + term.inputs)
                break
        else:
            luts.append(([term.value], term.inputs))
    level: list[Value] = [Cat(values).any() for values, _ in luts]
    while len(level) > 1:
        level = [Cat(level[n : n + _LUT]).any() for n in range(0, len(level), _LUT)]
    return level[0] if level else Const(0, 1)


def on_line(lanes: Sequence[Lane], options: Sequence[Value]) -> Value:
    """The option of that lane of a line which goes first of those that ask."""
    return _choose([lane.asks for lane in lanes], options)


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
