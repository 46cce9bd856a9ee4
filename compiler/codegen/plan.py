"""How a group is executed: passes over its channels, steps, rings, which parameters stay on chip, and where everything lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from compiler.codegen.cut import Cut, cut_of
from compiler.codegen.objective import CYCLES, Cost, Objective
from compiler.codegen.operations import Group
from compiler.codegen.placed import Placed
from compiler.codegen.placement import place
from compiler.codegen.ranges import Ranges, deduce
from compiler.codegen.residence import PARAMETER_BUFFERS, Residence, residences
from compiler.codegen.room import Room
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.instructions import Unit

_INSTRUCTION_CYCLES = 8
"""What an instruction costs beside its beats, where it follows another."""
_LATENCY = 100
"""DRAM's latency and a unit's start and drain."""
_ENDS = 1
"""The first load and the last save of a step come in pieces (see ``group.PIECES``), half of which overlaps."""
_OVERLAP = 32
"""The share of its cycles that a plan loses if it is not pipelined: pipelined ones overlap with the groups before and after
them, which the estimate of a group alone does not show."""
_SHORT_RUN = 4
"""Cycles that a pixel takes at least if it is moved by itself: its bursts wait for room in DRAM's queue."""


class FitError(TilewrightError):
    """A group that no tiling fits on chip."""


@dataclass(frozen=True, eq=False)
class Pass:
    """One walk over the rows, of all channels or of some."""

    group: Group
    ranges: Ranges
    skew: Mapping[str, int]
    """Steps by which each layer (by output), each load and each save (``load x``, ``save x``) runs behind."""
    placed: Mapping[str, Placed]
    residence: Residence
    loads: Sequence[str]
    """Inputs, but for those that an earlier pass left on chip."""


@dataclass(frozen=True, eq=False)
class Plan:
    """One way to execute a group."""

    group: Group
    count: int
    """Passes."""
    steps: int
    """Of each pass."""
    held: Sequence[str]
    """Maps that stay on chip from pass to pass. If there are any, all passes of an image come before the next image."""
    cost: Cost
    reloaded: int
    """Bytes of parameters that were on chip before, of the whole batch."""
    make: Callable[[int], Pass]

    @cached_property
    def passes(self) -> tuple[Pass, ...]:
        """In the order of execution; plans that are only weighed against others never ask."""
        return tuple(self.make(number) for number in range(self.count))

    @property
    def parameter_bytes(self) -> int:
        """Each parameter once."""
        parts = [walk.residence for walk in self.passes]
        return sum(sum(part.kept_bytes.values()) + sum(part.streamed_bytes.values()) for part in parts)

    @property
    def words(self) -> int:
        """One past the last feature-map word used."""
        return max(placed.base + placed.words for walk in self.passes for placed in walk.placed.values())


def plan_group(config: MachineConfig, group: Group, objective: Objective = CYCLES, upwards: bool = True) -> Plan:
    """The best plan; ``upwards``: placed from the bottom of the buffer, else from the top.

    Passes are looked at where one alone reloads parameters or does not fit: else they could save nothing.
    """
    planner = _Planner(config, group, objective, upwards)
    best = planner.plan(None, 1, ())
    cut = cut_of(config, group) if best is None or best.reloaded else None
    if cut is not None:
        for floor, count, held in sorted(planner.floors(cut), key=lambda found: (objective.rank(found[0]), found[1])):
            if best is None or objective(floor) < objective(best.cost):
                plan = planner.plan(cut, count, held)
                if plan is not None and (best is None or objective.rank(plan.cost) < objective.rank(best.cost)):
                    best = plan
    if best is None:
        raise FitError(why_not(config, group))
    return best


@dataclass(frozen=True, eq=False)
class _Way:
    """Over which rows and through which words a pass goes; which parameters stay follows."""

    pipelined: bool
    ranges: Ranges
    skew: Mapping[str, int]
    placed: Mapping[str, Placed]


class _Planner:
    def __init__(self, config: MachineConfig, group: Group, objective: Objective, upwards: bool) -> None:
        self.config, self.group, self.objective, self.upwards = config, group, objective, upwards
        self.batch = group.tensors[group.outputs[0]].batch
        self.heights = {name: group.tensors[name].height for name in (*group.inputs, *(la.output for la in group.layers))}
        self.rows = {name: int(end[0]) for name, end in deduce(group.layers, self.heights, group.outputs, 1).end.items()}
        """That are needed of each map."""
        height = max(self.heights[name] for name in group.outputs)
        self.step_counts = sorted({-(-height // rows) for rows in range(1, height + 1)})
        """Those that change the rows of a step."""
        self._known: dict[tuple[int, bool], tuple[Group, list[Residence]]] = {}
        self._moves: dict[tuple[int, int], tuple[int, int]] = {}

    def plan(self, cut: Cut | None, count: int, held: Sequence[str]) -> Plan | None:
        """The best with so many passes. All walk alike, as suits the widest of them; ``held``: maps that stay on chip."""
        part = lru_cache(maxsize=None)(lambda number: self.group if cut is None else cut.part(number, count))
        shapes = [cut.shape(number, count) if cut else () for number in range(count)]
        way = self._way(part(cut.widest(count) if cut else 0), held)
        if way is None:
            return None
        steps = way.ranges.steps
        loads = [self._loads(number, held) for number in range(count)]
        cost, reloaded = Cost(0, 0), 0
        known: dict[object, tuple[Cost, int]] = {}
        for number, shape in enumerate(shapes):
            alike = shape, held and number == 0
            if alike not in known:
                residence = self._residence(part(number), way, loads[number], held)
                if residence is None:
                    return None
                more = self._rounds(steps, held) - 1
                known[alike] = (
                    self._cost(part(number), steps, way.pipelined, residence, loads[number], held),
                    sum(residence.streamed_bytes.values()) * more * (self.batch if held else 1),
                )
            cost, reloaded = cost + known[alike][0], reloaded + known[alike][1]

        def make(number: int) -> Pass:
            group = part(number)
            residence = self._residence(group, way, loads[number], held)
            assert residence is not None
            placed = {name: replace(p, planes=group.vectors(self.config, name)) for name, p in way.placed.items()}
            return Pass(group, way.ranges, way.skew, placed, residence, loads[number])

        return Plan(self.group, count, steps, held, cost, reloaded, make)

    def floors(self, cut: Cut) -> Iterator[tuple[Cost, int, Sequence[str]]]:
        """For numbers of passes, and maps held or not: what no such plan can undercut."""
        for count in cut.counts():
            for held in (cut.whole, ()) if cut.whole else ((),):
                floor = self._floor(cut, count, held)
                if floor is not None:
                    yield floor, count, held

    def _floor(self, cut: Cut, count: int, held: Sequence[str]) -> Cost | None:
        """None: no step is small enough.

        However few steps the maps leave room for, what the parameter buffers cannot keep is loaded again in each of them.
        """
        room = Room(self.config, cut.maps(cut.widest(count), count), held, self.rows)
        steps = next((steps for steps in self.step_counts if room.may_hold(steps)), None)
        if steps is None:
            return None
        again = 0 if held else count - 1
        maps = self._bytes((*self.group.inputs, *self.group.outputs, *(again * cut.whole)))
        stay = sum(self.config.buffer_depth(b.name) * self.config.buffer_dram_bytes(b.name) for b in PARAMETER_BUFFERS)
        more = max(0, self._parameters - stay * count) * (self._rounds(steps, held) - 1)
        moved = maps * self.batch + self._parameters + more
        return Cost(max(*self._beats.values(), moved // self.config.axi_bytes) + count * _LATENCY, moved)

    def _rounds(self, steps: int, held: Sequence[str]) -> int:
        """How often a pass goes over its parameters."""
        return steps if held else steps * self.batch

    def _loads(self, number: int, held: Sequence[str]) -> Sequence[str]:
        return [name for name in self.group.inputs if number == 0 or name not in held]

    def _way(self, group: Group, held: Sequence[str]) -> _Way | None:
        """The cheapest that fits on chip, found in the order of cost."""
        room = Room(self.config, group, held, self.rows)
        loads = self._loads(1, held)
        ways = [
            (self.objective.rank(self._cost(group, steps, pipelined, residence, loads, held)), steps, pipelined, residence)
            for steps in self.step_counts if room.may_hold(steps)
            for residence in self._residences(group, self._rounds(steps, held)) for pipelined in (True, False)
        ]  # fmt: skip
        ranges: dict[int, Ranges] = {}
        placed: dict[tuple[int, bool], dict[str, Placed] | None] = {}
        for _, steps, pipelined, residence in sorted(ways, key=lambda way: way[0]):
            if steps not in ranges:
                ranges[steps] = deduce(group.layers, self.heights, group.outputs, steps)
            if not _rows_fit(group, ranges[steps], residence):
                continue
            skew = _skew(group, pipelined)
            if (steps, pipelined) not in placed:
                placed[steps, pipelined] = place(self.config, group, ranges[steps], skew, self.upwards, held)
            found = placed[steps, pipelined]
            if found is not None:
                return _Way(pipelined, ranges[steps], skew, found)
        return None

    def _residence(self, group: Group, way: _Way, loads: Sequence[str], held: Sequence[str]) -> Residence | None:
        """The cheapest for a pass that goes this way."""
        steps = way.ranges.steps
        return min(
            (r for r in self._residences(group, self._rounds(steps, held)) if _rows_fit(group, way.ranges, r)),
            key=lambda r: self.objective.rank(self._cost(group, steps, way.pipelined, r, loads, held)), default=None,
        )  # fmt: skip

    def _residences(self, group: Group, rounds: int) -> Sequence[Residence]:
        key = id(group), rounds > 1
        if key not in self._known:
            self._known[key] = group, list(residences(self.config, group, rounds))
        return self._known[key][1]

    def _cost(
        self, group: Group, steps: int, pipelined: bool, residence: Residence, loads: Sequence[str], held: Sequence[str]
    ) -> Cost:
        """Of one pass, for the whole batch."""
        maps, bus = self._maps(group, loads)
        cycles = _estimate(self.config, group, steps, residence, pipelined, bus)
        if not pipelined:
            cycles += cycles // _OVERLAP
        once = sum(residence.kept_bytes.values()) + len(group.tables) * self.config.buffer_dram_bytes("TABLE")
        streamed = sum(residence.streamed_bytes.values()) * steps
        return Cost(cycles * self.batch, (maps + streamed) * self.batch + once * (self.batch if held else 1))

    def _maps(self, group: Group, loads: Sequence[str]) -> tuple[int, int]:
        """Bytes that pass between DRAM and chip, of one image, and cycles that they take."""
        key = id(group), len(loads)
        if key not in self._moves:
            size, bus = 0, 0.0
            for name in (*loads, *group.outputs):
                tensor = group.tensors[name]
                pixels = self.rows[name] * tensor.width
                size += pixels * tensor.channels
                run = max(_SHORT_RUN, -(-tensor.channels // self.config.axi_bytes))
                bus += pixels * (run if name in group.first_channel else tensor.channels / self.config.axi_bytes)
            self._moves[key] = size, int(bus)
        return self._moves[key]

    @cached_property
    def _parameters(self) -> int:
        depth = {b: self.config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
        return sum(block.bytes(self.config) for layer in self.group.layers for block in layer.blocks(depth))

    @cached_property
    def _beats(self) -> dict[Unit, int]:
        beats: dict[Unit, int] = {}
        for layer in self.group.layers:
            beats[layer.unit] = beats.get(layer.unit, 0) + layer.beats * self.batch
        return beats

    def _bytes(self, names: Sequence[str]) -> int:
        """Of these maps, for one image."""
        tensors = self.group.tensors
        return sum(self.rows[name] * tensors[name].width * tensors[name].channels for name in names)


def _rows_fit(group: Group, ranges: Ranges, residence: Residence) -> bool:
    return all(
        ranges.most_made(layer.output) <= layer.rows_at_most(residence.budgets[layer.output]) for layer in group.layers
    )


def _skew(group: Group, pipelined: bool) -> dict[str, int]:
    """Pipelined: each layer runs a step behind its makers, loads a step before, saves a step after."""
    skew: dict[str, int] = {}
    made = {layer.output: layer for layer in group.layers}
    for layer in group.layers:
        before = [skew[name] for name in layer.inputs if name in made]
        skew[layer.output] = (max(before) + 1 if before else 1) if pipelined else 0
    for name in group.inputs:
        users = [skew[layer.output] for layer in group.layers if name in layer.inputs]
        skew[f"load {name}"] = min(users) - 1 if pipelined else 0
    for name in group.outputs:
        skew[f"save {name}"] = skew[name] + (1 if pipelined else 0)
    return skew


def _estimate(
    config: MachineConfig, group: Group, steps: int, residence: Residence, pipelined: bool, maps: int
) -> int:
    """Cycles for one image; ``maps``: those in which the bus moves maps.

    A layer whose parameters stream takes as long as the slower of its beats and its stream: few blocks are under way, so
    one layer's slack does not help another. Pipelined, the slowest unit counts, else all units one after the other; never
    less than everything that moves takes. Besides, what cannot overlap: the first load and the last save.
    """
    units: dict[int, int] = {}
    parameters = first = 0
    for layer in group.layers:
        kept = residence.kept_bytes[layer.output]
        streamed = residence.streamed_bytes[layer.output] * steps
        parameters += kept + streamed
        first += kept
        overhead = steps * len(residence.blocks[layer.output]) * _INSTRUCTION_CYCLES
        units[layer.unit] = units.get(layer.unit, 0) + max(layer.beats + overhead, streamed // config.axi_bytes)
    bus = maps + parameters // config.axi_bytes
    ends = maps // (steps * _ENDS) + first // config.axi_bytes // 2
    if pipelined:
        fill = sum(units.values()) // steps if len(group.layers) > 1 else 0
        return max(*units.values(), bus) + ends + fill + _LATENCY + steps * 4
    return max(sum(units.values()) + maps // 2, bus) + ends + steps * _LATENCY


def why_not(config: MachineConfig, group: Group) -> str:
    """Names the map or parameter that asks for most."""
    names = (*group.inputs, *(layer.output for layer in group.layers))
    words, name = max((group.vectors(config, name) * group.width(name), name) for name in names)
    return (
        f"layer {group.name}: no tiling fits configuration {config.name}: one row of {name} takes {words} words "
        f"(feature-map buffer: {config.fm_words}, weight buffer: {config.weight_depth}); choose one with larger buffers"
    )
