"""A way to the feature-map buffer, and the lanes that share it, turned from lanes to phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value

from hw.buffers.bank import Place, split_address
from isa.config import MachineConfig

_LUT = 6
"""Inputs of a LUT."""


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

    def of_phase(self, phase: int) -> Value:
        """It asks for a word of that phase."""
        return self.asks & (self.place.phase == phase)

    def bars(self, other: Lane) -> list[Value]:
        """It asks for what it and ``other``, if that asks, cannot both have in one cycle: when all of these factors are set,
        each of which is a LUT at most."""
        asks = [self.port.valid] if isinstance(self.back, Const) else [self.port.valid, ~self.back]
        if self.way is not other.way:
            same = [*zip(Cat(self.place.phase, self.place.group), Cat(other.place.phase, other.place.group), strict=True)]
        elif self.line != other.line:
            same = [*zip(self.place.phase, other.place.phase, strict=True)]
        else:
            same = []
        first = (_LUT - len(asks)) // 2
        groups = [same[:first], *(same[n : n + _LUT // 2] for n in range(first, len(same), _LUT // 2))]
        equal = [Cat(mine for mine, _ in group) == Cat(its for _, its in group) for group in groups]
        return [Cat(asks).all() & equal[0], *equal[1:]]


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

    If it ``fills``, there is one group more, of words that are ``fill`` in every byte: it is the group of each phase that no
    lane asks for, and by the first of these comes what a lane reads that asks for nothing. Of a way of one line it is the group
    when no lane asks.
    """

    def __init__(
        self, m: Module, config: MachineConfig, name: str, ports: Sequence[Any], lines: Sequence[int], *, fills: bool = False
    ) -> None:
        """``lines``: the line of each port, numbered in the order in which they come first."""
        if fills and len(ports) > config.fm_phases:
            raise ValueError(f"{name} has {len(ports)} lanes: expected {config.fm_phases} at most, to leave a phase for fill")
        self.config = config
        self.fillings = [ports[0].fill.replicate(config.ic_p)] if fills else []
        """The groups behind those of banks."""
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
        only = self._registered(self._group_or_fill(Cat(lane.asks for lane in self.lanes).any(), group), row, "")
        return [PhaseRequest(self._granted(phase), *only, Cat()) for phase in phases]

    def _phase_request(self, phase: int) -> PhaseRequest:
        valid = self._granted(phase)
        hits = self._hits(phase)
        line = Signal(range(len(self.lines)), name=f"{self._name}_first{phase}")
        group, row = (_choose(hits, [getattr(lane.place, part) for lane in self.lanes]) for part in ("group", "row"))
        self._m.d.comb += line.eq(_choose(hits, [lane.line for lane in self.lanes]))
        register = Signal.like(line, name=f"{self._name}_line{phase}", reset_less=True)
        self._m.d.sync += register.eq(line)
        return PhaseRequest(valid, *self._registered(self._group_or_fill(Cat(hits).any(), group), row, str(phase)), register)

    def _group_or_fill(self, asked: Value, group: Value) -> Value:
        return Mux(asked, group, self.config.fm_banks // self.config.fm_phases) if self.fillings else group

    def phase_read(self, line: Sequence[Lane]) -> Value:
        """By which phase the word of a line comes."""
        wanted = on_line(line, [lane.place.phase for lane in line])
        if not self.fillings or len(self.lines) == 1:
            return wanted
        free = [~Cat(self._hits(phase)).any() for phase in range(self.config.fm_phases)]
        return Mux(Cat(lane.asks for lane in line).any(), wanted, _choose(free, list(range(self.config.fm_phases))))

    def _hits(self, phase: int) -> list[Value]:
        return [lane.of_phase(phase) for lane in self.lanes]

    def _granted(self, phase: int) -> Signal:
        """Some lane was granted a word of that phase: a LUT or two behind the grants, in a module of its own."""
        valid = Signal(name=f"{self._name}_valid{phase}")
        hits = Signal(len(self.lanes), name=f"{self._name}_hits{phase}")
        self._m.d.comb += hits.eq(Cat(self._hits(phase)))
        self._m.submodules[f"{self._name}_granted{phase}"] = late = Module()
        late.d.sync += valid.eq((hits & Cat(lane.port.ready for lane in self.lanes)).any())
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
    same way, or for anything on the same line. A lane that asks for nothing is granted it.

    Each lane has a tree of LUTs, three deep: factors, products of them, their sum, as long as there are no more than 24 to 30
    factors; in a module of its own, lest synthesis share between lanes what then is a level deeper.
    """
    for place, lane in enumerate(order):
        m.submodules[f"lane{place}"] = alone = Module()
        back = [] if isinstance(lane.back, Const) else [lane.back]
        waits = Cat(back, _sums([other.bars(lane) for other in order[:place]])).any()
        alone.d.comb += lane.port.ready.eq(~(lane.port.valid & waits))


def _sums(products: Sequence[Sequence[Value]]) -> list[Value]:
    """The products, of which a LUT takes as many as it has inputs for their factors."""
    luts: list[tuple[list[Value], int]] = []
    for factors in sorted(products, key=len, reverse=True):
        value, inputs = Cat(factors).all(), len(factors)
        if luts and luts[-1][1] + inputs <= _LUT:
            luts[-1] = ([*luts[-1][0], value], luts[-1][1] + inputs)
        else:
            luts.append(([value], inputs))
    return [Cat(values).any() for values, _ in luts]


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
