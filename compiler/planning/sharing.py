"""Lets the rings of a pass share words, where rings with words of their own do not fit the buffer.

A layer *slides* if it writes words that hold rows which the same layer is the last to read.
"""

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
    """Finds a place for every map, and tells which layers slide then (``Way.sliding``). None: no places are found.

    The places are right only if no layer runs behind another. ``rings``: the fewest rows of each tenancy.
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
    """The layers that slide when the maps lie as in ``placed``. If one map destroys another there: the names of the two."""
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
    """Whether each ``sliding`` layer has one block of parameters for all rows, so that its rows can be cut into pieces."""
    return all(len(blocks) == 1 and blocks[0].divisible for blocks in (residence.blocks[name] for name in sliding))


@lru_cache(maxsize=16)
def _ways_to_slide(config: MachineConfig, group: Group) -> tuple[frozenset[str], ...]:
    """The sets of layers to try as sliding ones, in this order.

    The empty set comes first: it does not restrict how parameters come. Then comes the set of all layers whose parameters may
    come in one block.
    """
    depth = {b: config.buffer_depth(b.name) for b in PARAMETER_BUFFERS}
    blocks = {layer.output: layer.blocks(depth) for layer in group.layers if layer.window is not None}
    able = frozenset(name for name, found in blocks.items() if len(found) == 1 and found[0].divisible)
    return (NONE, able) if able else (NONE,)


def _sliders(berths: Sequence[Placed], present: Sequence[Presence], group: Group) -> frozenset[str]:
    """The layers that slide: their ring shares words with a ring that they are the last to read."""
    return frozenset(
        group.layers[its.last].output
        for one, its in zip(berths, present, strict=True) for other, theirs in zip(berths, present, strict=True)
        if one is not other and its.last == theirs.first and meet(one, other)
    )  # fmt: skip
