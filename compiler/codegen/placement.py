"""Where the maps of a group lie on chip: rings just long enough, results in the place of an operand, and the parts of a
joined map in neighbouring planes of one ring."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from compiler.codegen.eltwise import EltwiseLayer
from compiler.codegen.operations import Group
from compiler.codegen.placed import Placed
from compiler.codegen.ranges import Ranges
from compiler.xgraph.ops import Window
from isa.config import MachineConfig


@dataclass(frozen=True)
class _Room:
    """A ring that one map takes, or several one after the other, or the parts of a joined map side by side."""

    planes: Sequence[tuple[str, int, int]]
    """Of each map: the first of its channel vectors, and how many."""
    ring: int
    pitch: int
    vectors: int

    def apart(self, phases: int) -> int:
        """Words between planes such that the channel vectors of a pixel lie by turns in either half of ``phases`` banks.

        CONV reads all channel vectors of a few pixels before it goes on: in one half, it would keep other units out of it
        for as long.
        """
        return (phases // 2 - self.ring * self.pitch) % phases if self.vectors > 1 else 0

    def words(self, apart: int) -> int:
        return (self.ring * self.pitch + apart) * self.vectors


def place(
    config: MachineConfig, group: Group, ranges: Ranges, skew: Mapping[str, int], upwards: bool, held: Collection[str] = ()
) -> dict[str, Placed] | None:
    """Rings one after another; None if they do not fit.

    If the buffer has room for that, each at a bank group's start, and planes apart (``_Room.apart``); else only that; else
    neither.

    ``skew``: steps by which layers, loads and saves run behind. ``upwards``: from the buffer's bottom, else from its top.
    ``held``: maps that are kept in full.
    """
    rooms = _rooms(config, group, ranges, skew, held)
    for align, phases in ((config.fm_phases * config.fm_depth, config.fm_phases), (1, config.fm_phases), (1, 1)):
        where = 0
        placed: dict[str, Placed] = {}
        for room in rooms:
            apart = room.apart(phases)
            words = room.words(apart)
            if upwards:
                base = -(-where // align) * align
                where = base + words
            else:
                base = (config.fm_words - where - words) // align * align
                where = config.fm_words - base
            if base < 0 or where > config.fm_words:
                break
            plane = room.ring * room.pitch + apart
            for name, first, planes in room.planes:
                height = group.tensors[name].height
                placed[name] = Placed(base + first * plane, room.pitch, room.ring, height, group.width(name), planes, apart)
        else:
            return placed
    return None


def _rooms(
    config: MachineConfig, group: Group, ranges: Ranges, skew: Mapping[str, int], held: Collection[str]
) -> list[_Room]:
    rooms = []
    for tenancy in _tenancies(config, group):
        ring = height = group.tensors[tenancy.planes[0][0]].height
        if tenancy.lives[0].first not in held:
            kept = [tenancy.least_ring]
            for life in tenancy.lives:
                made = skew.get(life.first, skew.get(f"load {life.first}", 0))
                kept.append(ranges.rows_kept(life.first, life.last, max(skew[reader] for reader in life.readers) - made))
            ring = min(height, max(kept))
        rooms.append(_Room(tenancy.planes, ring, tenancy.pitch, tenancy.vectors))
    return rooms


@dataclass(frozen=True)
class _Life:
    """Rows that are made into ``first`` are read from ``last``: the same, or made in its place."""

    first: str
    last: str
    readers: list[str]
    """Layers by their outputs, and ``save x``."""


@dataclass(frozen=True)
class _Tenancy:
    """Maps that share a ring, in however many steps."""

    planes: Sequence[tuple[str, int, int]]
    lives: Sequence[_Life]
    """One after the other in one place, or one for each part of a joined map."""
    least_ring: int
    pitch: int
    vectors: int


@lru_cache(maxsize=16)
def _tenancies(config: MachineConfig, group: Group) -> list[_Tenancy]:
    """The planner asks for the same group again and again, for other steps."""
    follows = _in_place(config, group)
    chains: dict[str, list[str]] = {}
    first_of: dict[str, str] = {}
    for name in group.maps:
        if name not in group.parts:
            first_of[name] = first = first_of[follows[name]] if name in follows else name
            chains.setdefault(first, []).append(name)
    found = []
    for maps in chains.values():
        last = maps[-1]
        planes = [(name, 0, group.vectors(config, name)) for name in maps]
        found.append(_tenancy(config, group, planes, [_Life(maps[0], last, _readers(group, last))], [last]))
    for name, parts in group.joined.items():
        counts = [group.vectors(config, part) for part in parts]
        planes = [(name, 0, sum(counts)), *zip(parts, accumulate([0, *counts[:-1]]), counts, strict=True)]
        lives = [_Life(part, part, _readers(group, part)) for part in parts]
        found.append(_tenancy(config, group, planes, lives, [name, *parts]))
    return found


def _tenancy(
    config: MachineConfig, group: Group, planes: Sequence[tuple[str, int, int]], lives: Sequence[_Life], read: Sequence[str]
) -> _Tenancy:
    """``read``: the maps whose windows the ring must suit."""
    windows = [
        (layer.window, group.tensors[layer.output].width)
        for layer in group.layers for name in read if layer.window is not None and name in layer.inputs
    ]  # fmt: skip
    least = max((max(w.stride[0], w.dilation[0]) for w, _ in windows), default=1)
    folded = read[0] in group.folds
    pitch = _pitch(config, group.width(read[0]), [] if folded else windows)
    return _Tenancy(planes, lives, least, pitch, planes[0][2])


def _in_place(config: MachineConfig, group: Group) -> dict[str, str]:
    """Results of element-wise layers -> the operand in whose place they go.

    That operand is read by nobody else and is not saved. MISC reads a word before it writes it, so the
    same address at the same iteration is right (docs/machine.md). Operands made on chip come first: a
    loaded one is needed earlier, for longer.
    """
    loaded = set(group.inputs)
    found: dict[str, str] = {}
    taken: set[str] = set()
    for layer in group.layers:
        if not isinstance(layer, EltwiseLayer) or layer.output in group.parts:
            continue
        whole = [name for name, wide in zip(layer.inputs, layer.broadcast, strict=True) if not wide and name in group.maps]
        for name in sorted(whole, key=lambda name: name in loaded):
            readers = [other for other in group.layers for read in group.sources(other) if read == name]
            same = group.vectors(config, name) == group.vectors(config, layer.output)
            if len(readers) == 1 and same and name not in group.outputs and name not in {*group.folds, *group.parts, *taken}:
                found[layer.output] = name
                taken.add(name)
                break
    return found


def _readers(group: Group, tensor: str) -> list[str]:
    readers = [layer.output for layer in group.layers if tensor in group.sources(layer)]
    return [*readers, f"save {tensor}"] if tensor in group.outputs else readers


def _pitch(config: MachineConfig, width: int, windows: Sequence[tuple[Window, int]]) -> int:
    """Row pitch: the least at which the pixel lanes of a strided reader do not meet in a bank at a row's end.

    ``windows`` of the readers, with the widths of what they make.
    """
    phases = config.fm_phases
    for window, made in windows:
        s_y, s_x = window.stride
        for pitch in range(width, width + phases):
            if (s_y * pitch - s_x * made) % phases == 0:
                return pitch
    return width
