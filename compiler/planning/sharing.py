"""Rings of a pass in words that they share, where each in words of its own they would not fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import combinations

from compiler.layers.placed import Placed, meet
from compiler.planning.operations import Group
from compiler.planning.presence import Presence, presences
from compiler.planning.ranges import Ranges
from compiler.planning.residence import PARAMETER_BUFFERS, Residence
from compiler.planning.slabs import Slabs, Tenant, clear
from compiler.planning.tenancy import tenancies
from isa.config import MachineConfig

NONE: frozenset[str] = frozenset()


def share(
    config: MachineConfig, group: Group, ranges: Ranges, rings: Sequence[int], upwards: bool, held: Collection[str]
) -> tuple[dict[str, Placed], frozenset[str]] | None:
    """All maps, and the layers that slide (``Way.sliding``), if no layer runs behind; None if no places are found.

    ``rings``: rows that each tenancy takes at least.
    """
    own = tenancies(config, group)
    tried = []
    for sliding in reversed(_ways_to_slide(config, group)):
        present = presences(group, ranges, own, held, sliding)
        tenants = [
            Tenant(presence, ring, tenancy.pitch, tenancy.vectors)
            for tenancy, presence, ring in zip(own, present, rings, strict=True)
        ]
        slabs = Slabs(tenants)
        if slabs.least() > config.fm_words:
            # Without sliding, no fewer words are in use.
            break
        tried.append((sliding, present, slabs))
    for sliding, present, slabs in reversed(tried):
        berths = slabs.berths(config.fm_words, upwards)
        if berths is not None:
            placed = {}
            for tenancy, berth in zip(own, berths, strict=True):
                for name, first, planes in tenancy.planes:
                    base = berth.word + first * berth.rows * berth.pitch
                    height, width = group.tensors[name].height, group.width(name)
                    placed[name] = Placed(base, berth.pitch, berth.rows, height, width, planes, shift=berth.shift)
            return placed, _sliders([placed[tenancy.planes[0][0]] for tenancy in own], present, group) & sliding
    return None


def sharing_as(
    config: MachineConfig, group: Group, ranges: Ranges, placed: Mapping[str, Placed], held: Collection[str]
) -> frozenset[str] | tuple[str, str]:
    """The layers that slide if maps lie so; or two of which one destroys the other."""
    own = tenancies(config, group)
    names = [tenancy.planes[0][0] for tenancy in own]
    clash: tuple[str, str] | None = None
    for sliding in _ways_to_slide(config, group):
        present = dict(zip(names, presences(group, ranges, own, held, sliding), strict=True))
        clash = next(
            (
                pair for pair in combinations(names, 2)
                if meet(placed[pair[0]], placed[pair[1]]) and not clear(*((placed[name], present[name]) for name in pair))
            ), None,
        )  # fmt: skip
        if clash is None:
            return _sliders([placed[name] for name in names], list(present.values()), group) & sliding
    assert clash is not None
    return clash


def may_slide(residence: Residence, sliding: Collection[str]) -> bool:
    """Whether all rows of a layer come in one block, so that they can be cut into pieces one behind the other."""
    return all(len(blocks) == 1 and blocks[0].divisible for blocks in (residence.blocks[name] for name in sliding))


@lru_cache(maxsize=16)
def _ways_to_slide(config: MachineConfig, group: Group) -> tuple[frozenset[str], ...]:
    """First no layer, which leaves open how parameters come; then all whose parameters may come in one block."""
    depth = {b: config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
    blocks = {layer.output: layer.blocks(depth) for layer in group.layers if layer.window is not None}
    able = frozenset(name for name, found in blocks.items() if len(found) == 1 and found[0].divisible)
    return (NONE, able) if able else (NONE,)


def _sliders(berths: Sequence[Placed], present: Sequence[Presence], group: Group) -> frozenset[str]:
    """Layers that write words in which what they are the last to read lies."""
    return frozenset(
        group.layers[its.last].output
        for one, its in zip(berths, present, strict=True) for other, theirs in zip(berths, present, strict=True)
        if one is not other and its.last == theirs.first and meet(one, other)
    )  # fmt: skip
