"""``optimus-online``: Optimus with fewer groups, by rules and a look-up table (Optimus section 6, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.fusion.grow import grow
from compiler.fusion.legal import Mask
from compiler.layers.fit import FitError
from compiler.planning.ranges import deduce
from compiler.search.cost import Evaluator, Objective
from compiler.search.partition import Partition, left_out_of
from compiler.search.pricing import most_of_a_size, partition_into, priced
from compiler.tuned import MOST_OPS
from compiler.xgraph.graph import XGraph

STEPS = 4
"""The tiles that the table assumes; with more, parameters are loaded too often."""


def optimus_online(graph: XGraph, evaluator: Evaluator, objective: Objective) -> Partition:
    """The partition into groups no larger than the table allows; all readers of a result in a group run there, or none."""
    sets = evaluator.sets
    grown = grow(sets, sets.feeds, MOST_OPS, most_of_a_size(sets), lambda mask: 0)
    allowed = [mask for mask in grown.groups if mask.bit_count() == 1 or sets.keeps_readers_together(mask)]
    most = group_size(evaluator, allowed)
    groups = [mask for mask in allowed if mask.bit_count() <= most]
    # Groups that were left out were not measured for the table either.
    return partition_into(evaluator, objective, priced(evaluator, objective, groups), left_out=left_out_of(grown))


def group_size(evaluator: Evaluator, groups: Sequence[Mask]) -> int:
    """The most operations of a group for which the table has room in the configuration's feature-map buffer.

    The table has, for each group size, the feature-map words without which no group of that size runs in ``STEPS`` tiles. The
    paper builds it beforehand for every network. So groups are not planned here, only measured, until one of a size has room.
    """
    room = evaluator.config.fm_words
    by_size: dict[int, dict[object, Mask]] = {}
    for mask in groups:
        by_size.setdefault(mask.bit_count(), {}).setdefault(evaluator.shapes.key(mask), mask)
    sizes = sorted(by_size, reverse=True)
    return next((size for size in sizes if any(tiled_words(evaluator, mask) <= room for mask in by_size[size].values())), 1)


def tiled_words(evaluator: Evaluator, mask: Mask) -> int:
    """The feature-map words of the group's maps in ``STEPS`` tiles; more than the buffer has if the group cannot run at all."""
    try:
        group = evaluator.group(mask)
    except FitError:
        return evaluator.config.fm_words + 1
    heights = {name: group.tensors[name].height for name in group.maps}
    ranges = deduce(group, min(STEPS, max(heights[name] for name in group.outputs)))
    return sum(
        group.vectors(evaluator.config, name) * group.width(name) * min(heights[name], ranges.rows_kept(name, name, 0))
        for name in group.maps
    )
