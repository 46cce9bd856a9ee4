"""Where the maps of a group lie on chip: rings just long enough, and results in the place of an operand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from compiler.codegen.eltwise import EltwiseLayer
from compiler.codegen.operations import Group
from compiler.codegen.placed import Placed
from compiler.codegen.ranges import Ranges
from isa.config import MachineConfig


@dataclass(frozen=True)
class _Room:
    """A ring that one map takes, or several one after the other."""

    maps: list[str]
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
    rooms = []
    left = config.fm_words
    for room in _rooms(config, group, ranges, skew, held):
        left -= room.words(0)
        if left < 0:
            return None
        rooms.append(room)
    for align, phases in ((config.fm_phases * config.fm_depth, config.fm_phases), (1, config.fm_phases), (1, 1)):
        where = 0
        bases = []
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
            bases.append((room, base, apart))
        else:
            return {
                name: Placed(base, room.pitch, room.ring, group.tensors[name].height, group.width(name), room.vectors, apart)
                for room, base, apart in bases for name in room.maps
            }  # fmt: skip
    return None


def _rooms(
    config: MachineConfig, group: Group, ranges: Ranges, skew: Mapping[str, int], held: Collection[str]
) -> Iterator[_Room]:
    for chain in chains(config, group):
        first, last = chain.maps[0], chain.maps[-1]
        kept = max(ranges.rows_kept(first, last, chain.lag(skew)), chain.least_ring)
        ring = group.tensors[last].height if first in held else min(group.tensors[last].height, kept)
        yield _Room(chain.maps, ring, chain.pitch, chain.vectors)


@dataclass(frozen=True)
class Chain:
    """A map, and those that are made one after the other in its place: what holds in however many steps."""

    maps: list[str]
    maker: str
    """Of the first: a layer by its output, or ``load x``."""
    readers: list[str]
    """Of the last: layers by their outputs, and ``save x``."""
    least_ring: int
    pitch: int
    vectors: int

    def lag(self, skew: Mapping[str, int]) -> int:
        """Steps by which the last reader runs behind the maker."""
        return max([skew[reader] for reader in self.readers]) - skew[self.maker]


@lru_cache(maxsize=16)
def chains(config: MachineConfig, group: Group) -> list[Chain]:
    """The planner asks for the same group again and again, for other steps."""
    follows = _in_place(config, group)
    sharing: dict[str, list[str]] = {}
    first_of: dict[str, str] = {}
    for name in (*group.inputs, *(layer.output for layer in group.layers)):
        first_of[name] = first = first_of[follows[name]] if name in follows else name
        sharing.setdefault(first, []).append(name)
    found = []
    for maps in sharing.values():
        maker = f"load {maps[0]}" if maps[0] in group.inputs else maps[0]
        size = _least_ring(group, maps[-1]), _pitch(config, group, maps[-1]), group.vectors(config, maps[-1])
        found.append(Chain(maps, maker, _readers(group, maps[-1]), *size))
    return found


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
        if not isinstance(layer, EltwiseLayer):
            continue
        whole = [name for name, wide in zip(layer.inputs, layer.broadcast, strict=True) if not wide]
        for name in sorted(whole, key=lambda name: name in loaded):
            readers = [other for other in group.layers for read in other.inputs if read == name]
            same = group.vectors(config, name) == group.vectors(config, layer.output)
            if len(readers) == 1 and same and name not in group.outputs and name not in group.folds and name not in taken:
                found[layer.output] = name
                taken.add(name)
                break
    return found


def _readers(group: Group, tensor: str) -> list[str]:
    readers = [layer.output for layer in group.layers if tensor in layer.inputs]
    return [*readers, f"save {tensor}"] if tensor in group.outputs else readers


def _least_ring(group: Group, tensor: str) -> int:
    """A ring must not be shorter than a vertical stride or dilation of a reader (the instruction's rule)."""
    windows = [layer.window for layer in group.layers if layer.window is not None and tensor in layer.inputs]
    return max((max(w.stride[0], w.dilation[0]) for w in windows), default=1)


def _pitch(config: MachineConfig, group: Group, tensor: str) -> int:
    """Row pitch: the least at which the pixel lanes of a strided reader do not meet in a bank at a row's end."""
    width = group.width(tensor)
    phases = config.fm_phases
    for layer in group.layers:
        window = layer.window
        if window is not None and tensor in layer.inputs and tensor not in group.folds:
            s_y, s_x = window.stride
            target = s_x * group.tensors[layer.output].width
            for pitch in range(width, width + phases):
                if (s_y * pitch - target) % phases == 0:
                    return pitch
    return width
