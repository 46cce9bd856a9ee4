"""Estimates how long a planned group takes. It walks through the steps, task by task, in the order of the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import NamedTuple

from compiler.instructions.latency import AFTER_LOAD
from compiler.layers.placed import Placed, meet
from compiler.planning.operations import Group
from compiler.planning.ranges import Ranges
from compiler.planning.recurrence import Task, Walker
from compiler.planning.residence import Residence
from compiler.planning.sequence import sequence, slots
from compiler.planning.tenancy import tenancies
from isa.config import MachineConfig
from isa.instructions import Buffer, Unit

_SHORT_RUN = 4
"""Cycles that a pixel takes at least if it is moved by itself: its bursts wait for room in DRAM's queue."""


@dataclass(frozen=True, eq=False)
class Way:
    """The rows, the order and the words of a pass. It leaves open which parameters stay."""

    ranges: Ranges
    skew: Mapping[str, int]
    """Steps by which each layer (by output), each load and each save (``load x``, ``save x``) runs behind."""
    placed: Mapping[str, Placed]
    in_turn: bool = False
    """Whether maps are loaded and saved in turn with the layers (see ``sequence``), because they share words."""
    sliding: frozenset[str] = frozenset()
    """Layers, by their outputs, that write where their own operands lie: they must come in one block, cut into rows."""

    def placed_for(self, config: MachineConfig, group: Group) -> dict[str, Placed]:
        """The places of the maps of a pass, which holds all of their channels and columns, or some."""
        return {
            name: placed._replace(planes=group.vectors(config, name), width=group.width(name))
            for name, placed in self.placed.items()
        }  # fmt: skip

    @cached_property
    def words(self) -> int:
        """The words of the feature-map buffer that the pass takes. A word that maps share counts once."""
        used = past = 0
        for begin, end in sorted([(each.base, each.base + each.words) for each in self.placed.values()]):
            if end > past:
                used += end - (begin if begin > past else past)
                past = end
        return used


@dataclass(frozen=True)
class Walk:
    """The time of one batch element, alone on the machine."""

    cycles: int
    """Cycles from start to end."""
    inside: int
    """Cycles from the first beat of the busiest unit to its last."""
    bus: int
    """Cycles in which DRAM is used."""

    def counting(self, ends: float) -> int:
        """The cycles in which the busiest unit works, and the share ``ends`` of those before and after."""
        return self.inside + round(ends * (self.cycles - self.inside))


def walk(
    config: MachineConfig, group: Group, way: Way, residence: Residence, loads: Sequence[str],
    limit: float = inf, ends: float = 0.0, most: float = inf,
) -> Walk | None:  # fmt: skip
    """Estimates what the cycle model would say, a hundred times faster. docs/results/cycle-model.md has the error.

    None: the busiest unit needs more than ``limit`` cycles, or ``Walk.counting(ends)`` is more than ``most``.
    """
    tasks = tasks_of(config, group, way, residence, loads)
    made = {name: end[-1] for name, end in way.ranges.ends.items()}
    walker = Walker(waiting_weights(config, residence), beats_of(group, made))
    engine = walker.engines[_busiest(group)]
    turns = [((task, task.rows, walker.doing(task)), task.behind) for task in tasks]
    for slot in slots(turns, way.ranges.steps):
        for (task, rows, do), step in slot:
            if rows[step]:
                do(task, step)
            else:
                task.rest(step)
        begun = engine.begun or 0.0
        end = engine.free + engine.left
        # One cycle more is allowed, because rounding may take as much.
        if end - begun > limit or end - begun + ends * (begun + AFTER_LOAD) > most + 1:
            return None
    cycles = max(walker.bus, walker.loaded, walker.saved, *(each.free for each in walker.engines.values())) + AFTER_LOAD
    return Walk(round(cycles), round(engine.free - (engine.begun or 0.0)), round(walker.bus))


def cycles_at_least(config: MachineConfig, group: Group, residence: Residence, made: Mapping[str, int]) -> float:
    """A lower bound of the cycles of every walk that makes ``made`` rows of each map.

    The busiest unit waits for its first parameters, and then does all of its beats.
    """
    busiest = _busiest(group)
    waits = []
    for layer in group.layers:
        if layer.unit is busiest:
            size = residence.stay_bytes[layer.output] + residence.streamed_bytes[layer.output]
            first = size / config.axi_bytes / len(residence.blocks[layer.output])
            waits.append(first + AFTER_LOAD if size else 0.0)
    return min(waits) + beats_of(group, made)[busiest] + AFTER_LOAD


def beats_of(group: Group, made: Mapping[str, int]) -> dict[Unit, float]:
    """The beats that each unit must do for ``made`` rows of each map; rows that windows skip do not count."""
    beats: dict[Unit, float] = {}
    for layer in group.layers:
        own = layer.beats * made[layer.output] / group.tensors[layer.output].height
        beats[layer.unit] = beats.get(layer.unit, 0.0) + own
    return beats


def _busiest(group: Group) -> Unit:
    return max(group.beats, key=lambda unit: group.beats[unit])


def bus_cycles(config: MachineConfig, group: Group, name: str) -> float:
    """The cycles that DRAM needs for one row of a map."""
    tensor = group.tensors[name]
    if name in group.first_channel or name in group.sampled:
        return float(tensor.width * max(_SHORT_RUN, -(-tensor.pixel_bytes // config.axi_bytes)))
    return tensor.row_bytes / config.axi_bytes


class _Turn(NamedTuple):
    """The part of a task that is the same for all ways of a group."""

    key: str
    name: str
    """The name of its map."""
    unit: Unit
    cost: float
    sources: tuple[str, ...]
    """Keys of the tasks whose rows it takes."""
    layer: bool


@lru_cache(maxsize=16)
def _turns(config: MachineConfig, group: Group, loads: tuple[str, ...], in_turn: bool) -> tuple[_Turn, ...]:
    """The turns of a step in the order of the program (``sequence``)."""
    layers = {layer.output: layer for layer in group.layers}
    moving = _moving(config, group)
    turns: dict[str, _Turn] = {}
    for turn in sequence(group, loads, in_turn):
        name, key = turn.map, turn.key
        if turn.what == "load":
            turns[key] = _Turn(key, name, Unit.LOAD, moving[name], (), layer=False)
        elif turn.what == "save":
            turns[key] = _Turn(key, name, Unit.SAVE, moving[name], (name,), layer=False)
        else:
            layer = layers[name]
            makers = [source if source in turns else f"load {source}" for source in group.sources(layer)]
            cost = layer.beats / group.tensors[name].height
            turns[key] = _Turn(key, name, layer.unit, cost, tuple(maker for maker in makers if maker in turns), layer=True)
    return tuple(turns.values())


def tasks_of(
    config: MachineConfig, group: Group, way: Way, residence: Residence, loads: Sequence[str]
) -> list[Task]:
    """The tasks of a step in the order of the program (``sequence``)."""
    tasks: dict[str, Task] = {}
    rows, skew, ranges = way.ranges.rows, way.skew, way.ranges
    for key, name, unit, cost, sources, is_layer in _turns(config, group, tuple(loads), way.in_turn):
        given = [(maker.first, maker.last) for maker in [tasks[source] for source in sources]]
        task = tasks[key] = Task(unit, skew[key], rows[name], cost, ranges.piece(name), given)
        if is_layer:
            own = residence.blocks[name]
            if not own[0].divisible:
                task.piece = group.tensors[name].height
            task.blocks = len(own)
            task.stay = residence.stay_bytes[name] / config.axi_bytes
            task.streamed = residence.streamed_bytes[name] / config.axi_bytes
    # A ring holds as many rows as its last reader needs at the time.
    for tenancy in tenancies(config, group):
        for life in tenancy.lives:
            if way.placed[life.first].wraps and life.maker in tasks:
                ago = life.lag(skew) + 1
                readers = [tasks[reader] for reader in life.readers]
                tasks[life.maker].room = [(reader.first, reader.last, ago) for reader in readers]
    if way.in_turn:
        _wait_for_words(config, group, way, tasks)
    return list(tasks.values())


def _wait_for_words(config: MachineConfig, group: Group, way: Way, tasks: Mapping[str, Task]) -> None:
    """Makes the maker of a map wait for the readers of the map that had the same words before."""
    place = {key: number for number, key in enumerate(tasks)}
    rings = tenancies(config, group)
    for own in rings:
        for other in rings:
            if own is other or not meet(way.placed[own.planes[0][0]], way.placed[other.planes[0][0]]):
                continue
            for maker in (life.maker for life in own.lives if life.maker in tasks):
                for reader in (reader for life in other.lives for reader in life.readers):
                    if tasks[reader].unit is not tasks[maker].unit:
                        late = tasks[reader].last, int(place[reader] > place[maker])
                        tasks[maker].after = [*tasks[maker].after, late]


@lru_cache(maxsize=16)
def _moving(config: MachineConfig, group: Group) -> dict[str, float]:
    """The cycles that it takes to load or save a row of each map. DRAM or the buffer sets them, whichever is slower."""
    return {
        name: max(bus_cycles(config, group, name), group.width(name) * group.vectors(config, name))
        for name in (*group.inputs, *group.outputs)
    }  # fmt: skip


@lru_cache(maxsize=16)
def waiting_weights(config: MachineConfig, residence: Residence) -> float:
    """The cycles of loading all streamed weights that the weight buffer holds at once beside those that stay.

    These are whole blocks; some wait while one is in use.
    """
    left, largest = config.weight_depth, 0
    pitch = config.buffer_dram_bytes("WEIGHT", int4=True)
    for name, blocks in residence.blocks.items():
        words = [block.sizes.get(Buffer.WEIGHT, 0) for block in blocks]
        left -= sum(words[: residence.stay[name]])
        largest = max([largest, *words[residence.stay[name] :]])
        pitch = max([pitch, *(block.pitch(config, Buffer.WEIGHT) for block in blocks[residence.stay[name] :])])
    waiting = left // largest * largest if largest else left
    return waiting * pitch / config.axi_bytes
