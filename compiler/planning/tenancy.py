"""Finds tenancies: maps of a group that share a ring. These are results in the place of an operand, and the parts of a joined
map, which lie side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from compiler.planning.operations import Group
from compiler.xgraph.ops import Window
from isa.config import MachineConfig


@dataclass(frozen=True)
class Life:
    """The life of a row in a ring: it is made as a row of ``first``, and last read as a row of ``last``.

    ``last`` is the same map, or one that is made in its place.
    """

    first: str
    last: str
    maker: str
    """The maker of the first map: a layer by its output, or ``load x``."""
    readers: list[str]
    """The readers of the last map: layers by their outputs, and ``save x``."""

    def lag(self, skew: Mapping[str, int]) -> int:
        """The steps by which the last reader runs behind the maker."""
        return max([skew[reader] for reader in self.readers]) - skew[self.maker]


@dataclass(frozen=True)
class Tenancy:
    """Maps that share a ring, for every number of steps."""

    planes: Sequence[tuple[str, int, int]]
    """For each map: its first channel vector, and the number of its channel vectors."""
    lives: Sequence[Life]
    """One life for all maps that lie in one place, or one for each part of a joined map."""
    least_ring: int
    """The fewest rows of the ring: the greatest vertical stride or dilation of a reader, as the instruction demands."""
    pitch: int
    vectors: int


@lru_cache(maxsize=16)
def tenancies(config: MachineConfig, group: Group) -> list[Tenancy]:
    """The tenancies of a group. They are kept, for the planner asks for them for each number of steps."""
    follows = _in_place(config, group)
    sharing: dict[str, list[str]] = {}
    first_of: dict[str, str] = {}
    for name in group.maps:
        if name not in group.parts:
            first_of[name] = first = first_of[follows[name]] if name in follows else name
            sharing.setdefault(first, []).append(name)
    found = []
    for maps in sharing.values():
        planes = [(name, 0, group.vectors(config, name)) for name in maps]
        found.append(_tenancy(config, group, planes, [_life(group, maps[0], maps[-1])], [maps[-1]]))
    for name, parts in group.joined.items():
        counts = [group.vectors(config, part) for part in parts]
        planes = [(name, 0, sum(counts)), *zip(parts, accumulate([0, *counts[:-1]]), counts, strict=True)]
        found.append(_tenancy(config, group, planes, [_life(group, part, part) for part in parts], [name, *parts]))
    return found


def _life(group: Group, first: str, last: str) -> Life:
    readers = [layer.output for layer in group.layers if last in group.sources(layer)]
    if last in group.outputs:
        readers.append(f"save {last}")
    return Life(first, last, f"load {first}" if first in group.inputs else first, readers)


def _tenancy(
    config: MachineConfig, group: Group, planes: Sequence[tuple[str, int, int]], lives: Sequence[Life], read: Sequence[str]
) -> Tenancy:
    """The tenancy of these maps. ``read``: the maps whose windows the ring must suit."""
    windows = [
        (layer.window, group.tensors[layer.output].width)
        for layer in group.layers for name in read if layer.window is not None and name in layer.inputs
    ]  # fmt: skip
    least = max((max(w.stride[0], w.dilation[0]) for w, _ in windows), default=1)
    folded = read[0] in group.folds
    pitch = _pitch(config, group.width(read[0]), [] if folded else windows)
    return Tenancy(planes, lives, least, pitch, planes[0][2])


def _in_place(config: MachineConfig, group: Group) -> dict[str, str]:
    """For each result of an element-wise layer that can lie in the place of an operand: that operand.

    No other layer reads the operand, and it is not saved. MISC reads a word before it writes it, so the same address at the
    same iteration is right (docs/reference/semantics.md). Operands made on chip come first: a loaded one is needed earlier, for
    longer.
    """
    loaded = set(group.inputs)
    found: dict[str, str] = {}
    taken: set[str] = set()
    for layer in group.layers:
        if not layer.op.in_place or layer.output in group.parts:
            continue
        operands = [name for name in layer.inputs if name in group.maps]
        for name in sorted(operands, key=lambda name: name in loaded):
            readers = [other for other in group.layers for read in group.sources(other) if read == name]
            same = _extent(config, group, name) == _extent(config, group, layer.output)
            if len(readers) == 1 and same and name not in group.outputs and name not in {*group.folds, *group.parts, *taken}:
                found[layer.output] = name
                taken.add(name)
                break
    return found


def _extent(config: MachineConfig, group: Group, name: str) -> tuple[int, ...]:
    """The channel vectors, the columns and the rows of a map that the group holds."""
    columns = group.first_column.get(name, 0), group.width(name)
    return group.vectors(config, name), *columns, group.first_row.get(name, 0), group.tensors[name].height


def _pitch(config: MachineConfig, width: int, windows: Sequence[tuple[Window, int]]) -> int:
    """The least row pitch at which the pixel lanes of a strided reader do not meet in a bank at a row's end.

    ``windows``: those of the readers, with the widths of the maps that they make.
    """
    phases = config.fm_phases
    for window, made in windows:
        s_y, s_x = window.stride
        for pitch in range(width, width + phases):
            if (s_y * pitch - s_x * made) % phases == 0:
                return pitch
    return width
