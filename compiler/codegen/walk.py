"""How long a planned group takes: its steps walked through, task by task, in the order in which they are emitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import inf

from compiler.codegen.operations import Group
from compiler.codegen.placed import Placed
from compiler.codegen.ranges import Ranges
from compiler.codegen.residence import Residence
from compiler.codegen.tenancy import tenancies
from isa.config import MachineConfig
from isa.instructions import Buffer, Unit

PIECES = 4
"""Parts of a step's rows at its edges: loads, saves, and the first and last parameter block of each layer come in
parts, so that computation starts when the first of them is loaded, and saves begin before it has ended."""
_AFTER_LOAD = 75
"""Cycles from DRAM serving something until it can be used."""
_AFTER = 35
"""Cycles from a unit's last beat until another may use what it made."""
_LOAD, _SAVE = Unit.LOAD, Unit.SAVE
_SHORT_RUN = 4
"""Cycles that a pixel takes at least if it is moved by itself: its bursts wait for room in DRAM's queue."""


@dataclass(frozen=True, eq=False)
class Way:
    """Over which rows, in which order and through which words a pass goes."""

    ranges: Ranges
    skew: Mapping[str, int]
    """Steps by which each layer (by output), each load and each save (``load x``, ``save x``) runs behind."""
    placed: Mapping[str, Placed]

    @cached_property
    def words(self) -> int:
        """Of the feature-map buffer, in which maps may share words."""
        used = 0
        past = 0
        for each in sorted(self.placed.values(), key=lambda each: each.base):
            used += max(0, each.base + each.words - max(past, each.base))
            past = max(past, each.base + each.words)
        return used


@dataclass(frozen=True)
class Walk:
    """Of one batch element, alone on the machine."""

    cycles: int
    """From start to end."""
    inside: int
    """From the first beat of the busiest unit to its last."""
    bus: int
    """Cycles in which DRAM is used."""

    def counting(self, ends: float) -> int:
        """Cycles, with this share of those before and after the busiest unit's work."""
        return self.inside + round(ends * (self.cycles - self.inside))


@dataclass(slots=True, eq=False)
class _Task:
    """A load, a layer or a save, in all its steps."""

    unit: Unit
    behind: int
    """Steps by which it runs behind."""
    rows: list[int]
    """Of each step."""
    cost: float
    """Cycles of a row."""
    piece: int
    """Rows that are done together, at the edges of a step."""
    sources: list[_Task] = field(default_factory=list)
    room: list[tuple[_Task, int]] = field(default_factory=list)
    """Those who must be done with the rows that it overwrites, and how many steps ago these were theirs."""
    blocks: int = 1
    kept: float = 0.0
    """Cycles of loading the parameters that stay."""
    streamed: float = 0.0
    """Cycles of loading those that come in each step."""
    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    """When the first piece, and the last, of each step is done."""


@dataclass(slots=True, eq=False)
class _Engine:
    """A unit as it goes through its tasks."""

    left: float
    """Beats that are still to come."""
    free: float = 0.0
    begun: float | None = None


class _Walker:
    """LOAD, SAVE and the units as recurrences; ``PIECES`` of a step are its first, its last, and even work between.

    The inner loop of the search: comparisons are written out, for a call of ``max`` takes three times as long.
    """

    def __init__(self, weights: float, beats: Mapping[Unit, int]) -> None:
        self.weights = weights
        """Cycles of loading as many weights as can wait or be in use."""
        self.engines = {unit: _Engine(count) for unit, count in beats.items()}
        self.loaded = self.saved = 0.0
        """When LOAD, and SAVE, is free."""
        self.bus = 0.0
        self._streamed = 0.0
        self._used: list[tuple[float, float, float, float]] = []
        """Streamed parameters, counted from the start in cycles of loading: from, to, and when they were used."""

    def step(self, task: _Task, step: int) -> None:
        if task.rows[step] == 0:
            task.first.append(task.first[-1] if step else 0.0)
            task.last.append(task.last[-1] if step else 0.0)
        elif task.unit is _LOAD:
            self._load(task, step)
        elif task.unit is _SAVE:
            self._save(task, step)
        else:
            self._compute(task, step)

    def _load(self, task: _Task, step: int) -> None:
        """Waits for room; other loads meanwhile overtake it."""
        rows = task.rows[step]
        work, pieces = rows * task.cost, -(-rows // task.piece)
        part = work / pieces
        begin = self.loaded
        all_free = 0.0
        for other, ago in task.room:
            if step >= ago:
                first, last = other.first[step - ago], other.last[step - ago]
                if first > begin:
                    begin = first
                if last > all_free:
                    all_free = last
        if all_free > begin + work * (pieces - 1) / pieces:
            self.loaded += work
        else:
            self.loaded = begin + work
        end = begin + work
        if all_free + part > end:
            end = all_free + part
        self.bus += work
        task.first.append(begin + part + _AFTER_LOAD)
        task.last.append(end + _AFTER_LOAD)

    def _save(self, task: _Task, step: int) -> None:
        rows = task.rows[step]
        work = rows * task.cost
        part = work / -(-rows // task.piece)
        begin = self.saved
        all_given = 0.0
        for source in task.sources:
            first, last = source.first[step], source.last[step]
            if first > begin:
                begin = first
            if last > all_given:
                all_given = last
        end = begin + work
        if all_given + part > end:
            end = all_given + part
        if self.loaded > begin:
            self.loaded += work
        self.bus += work
        self.saved = end
        task.first.append(begin + part + _AFTER)
        task.last.append(end + _AFTER)

    def _compute(self, task: _Task, step: int) -> None:
        """Its parameters come block by block: the first must be there, and the last only for the last block."""
        rows = task.rows[step]
        work = rows * task.cost
        block = work / task.blocks
        part = block / -(-rows // task.piece)
        engine = self.engines[task.unit]
        begin = engine.free
        all_given = all_free = 0.0
        for source in task.sources:
            first, last = source.first[step], source.last[step]
            if first > begin:
                begin = first
            if last > all_given:
                all_given = last
        for other, ago in task.room:
            if step >= ago:
                first, last = other.first[step - ago], other.last[step - ago]
                if first > begin:
                    begin = first
                if last > all_free:
                    all_free = last
        size = task.streamed if task.first else task.streamed + task.kept
        all_there = 0.0
        if size:
            loading = self.loaded
            if task.streamed:
                loading = max(loading, self._when_used(self._streamed - self.weights + size / task.blocks))
            self.loaded = loading + size
            self.bus += size
            there, all_there = loading + size / task.blocks + _AFTER_LOAD, loading + size + _AFTER_LOAD
            if there > begin:
                begin = there
        # The first block takes the pieces as they come; the others need them all.
        end = begin + work
        if all_given + work - block + part > end:
            end = all_given + work - block + part
        if all_free + part > end:
            end = all_free + part
        if all_there + block > end:
            end = all_there + block
        if task.streamed:
            self._used.append((self._streamed, self._streamed + task.streamed, begin, end))
            self._streamed += task.streamed
            if task.streamed > self.weights:
                self.loaded = max(self.loaded, end - (end - begin) * self.weights / task.streamed)
        engine.free = end
        engine.left -= work
        if engine.begun is None:
            engine.begun = begin
        task.first.append(end - block + part + _AFTER)
        task.last.append(end + _AFTER)

    def _when_used(self, amount: float) -> float:
        """When as much of what was streamed is no longer needed."""
        for low, high, begin, end in reversed(self._used):
            if amount > low:
                return begin + (end - begin) * min(1.0, (amount - low) / (high - low))
        return 0.0


def walk(
    config: MachineConfig, group: Group, way: Way, residence: Residence, loads: Sequence[str],
    limit: float = inf, ends: float = 0.0, most: float = inf,
) -> Walk | None:  # fmt: skip
    """What the cycle model would say of the group, nearly (docs/performance.md), and a hundred times faster.

    None: the busiest unit cannot be through within ``limit`` cycles, or ``Walk.counting(ends)`` is more than ``most``.
    """
    tasks = _tasks(config, group, way, residence, loads)
    walker = _Walker(_waiting_weights(config, residence), group.beats)
    engine = walker.engines[_busiest(group)]
    steps = way.ranges.steps
    for slot in range(steps + max(way.skew.values())):
        for task in tasks:
            if 0 <= slot - task.behind < steps:
                walker.step(task, slot - task.behind)
        begun = engine.begun or 0.0
        end = engine.free + engine.left
        # One more than what rounding may take.
        if end - begun > limit or end - begun + ends * (begun + _AFTER_LOAD) > most + 1:
            return None
    cycles = max(walker.bus, walker.loaded, walker.saved, *(each.free for each in walker.engines.values())) + _AFTER_LOAD
    return Walk(round(cycles), round(engine.free - (engine.begun or 0.0)), round(walker.bus))


def least_cycles(config: MachineConfig, group: Group, residence: Residence) -> float:
    """Of any walk, whatever the way: the busiest unit waits for the first of its parameters."""
    busiest = _busiest(group)
    waits = []
    for layer in group.layers:
        if layer.unit is busiest:
            size = residence.kept_bytes[layer.output] + residence.streamed_bytes[layer.output]
            first = size / config.axi_bytes / len(residence.blocks[layer.output])
            waits.append(first + _AFTER_LOAD if size else 0.0)
    return min(waits) + group.beats[busiest] + _AFTER_LOAD


def _busiest(group: Group) -> Unit:
    return max(group.beats, key=lambda unit: group.beats[unit])


def bus_cycles(config: MachineConfig, group: Group, name: str) -> float:
    """That DRAM needs for a row of a map."""
    tensor = group.tensors[name]
    if name in group.first_channel or name in group.sampled:
        return float(tensor.width * max(_SHORT_RUN, -(-tensor.channels // config.axi_bytes)))
    return tensor.width * tensor.channels / config.axi_bytes


def _tasks(
    config: MachineConfig, group: Group, way: Way, residence: Residence, loads: Sequence[str]
) -> list[_Task]:
    """In the order of emission within a step."""
    tasks: dict[str, _Task] = {}
    rows, skew = way.ranges.rows, way.skew
    piece = {name: -(-way.ranges.most_made(name) // PIECES) for name in group.maps}
    moving = _moving(config, group)
    for name in loads:
        key = f"load {name}"
        tasks[key] = _Task(Unit.LOAD, skew[key], rows[name], moving[name], piece[name])
    for layer in group.layers:
        name = layer.output
        own = residence.blocks[name]
        makers = [tasks.get(source) or tasks.get(f"load {source}") for source in group.sources(layer)]
        tasks[name] = _Task(
            layer.unit, skew[name], rows[name], layer.beats / group.tensors[name].height,
            piece[name] if own[0].divisible else group.tensors[name].height,
            [maker for maker in makers if maker], blocks=len(own),
            kept=residence.kept_bytes[name] / config.axi_bytes, streamed=residence.streamed_bytes[name] / config.axi_bytes,
        )  # fmt: skip
    for name in group.outputs:
        key = f"save {name}"
        tasks[key] = _Task(Unit.SAVE, skew[key], rows[name], moving[name], piece[name], [tasks[name]])
    # A ring is as long as what its last reader needs at the time.
    for tenancy in tenancies(config, group):
        for life in tenancy.lives:
            if way.placed[life.first].wraps:
                ago = life.lag(skew) + 1
                tasks[life.maker].room = [(tasks[reader], ago) for reader in life.readers]
    return list(tasks.values())


@lru_cache(maxsize=16)
def _moving(config: MachineConfig, group: Group) -> dict[str, float]:
    """Cycles of loading, or saving, a row of each map: of DRAM, or of the buffer if that takes longer."""
    return {
        name: max(bus_cycles(config, group, name), group.width(name) * group.vectors(config, name))
        for name in (*group.inputs, *group.outputs)
    }  # fmt: skip


@lru_cache(maxsize=16)
def _waiting_weights(config: MachineConfig, residence: Residence) -> float:
    """Whole blocks that fit beside what stays."""
    left, largest = config.weight_depth, 0
    for name, blocks in residence.blocks.items():
        words = [block.sizes.get(Buffer.WEIGHT, 0) for block in blocks]
        left -= sum(words[: residence.kept[name]])
        largest = max([largest, *words[residence.kept[name] :]])
    waiting = left // largest * largest if largest else left
    return waiting * config.buffer_dram_bytes("WEIGHT") / config.axi_bytes
