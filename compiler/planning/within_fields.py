"""Checks that the rows and columns of a step fit the fields of instructions. Maps themselves may be higher."""

from __future__ import annotations

import numpy as np

from compiler.layers.window import MOST_SIDE
from compiler.planning.operations import Group
from compiler.planning.ranges import Ranges


def within_fields(group: Group, ranges: Ranges) -> bool:
    """Whether every map is narrow enough, and every step has few enough rows.

    An instruction need not tell pixels beyond its reach from padding, so a higher map counts as one of ``MOST_SIDE`` rows. The
    rows that one step reads must be fewer than that, wherever it begins.
    """
    if group.widest > MOST_SIDE:
        return False
    if group.highest <= MOST_SIDE:
        return True
    if max(ranges.most_made(name) for name in group.maps) > MOST_SIDE:
        return False
    for layer in group.layers:
        made = ranges.most_made(layer.output)
        middle = max(0, group.tensors[layer.output].height - made) // 2
        for index in range(len(layer.inputs)):
            first = layer.input_begin(index, np.array([middle]))
            if int((layer.input_end(index, np.array([middle + made])) - first)[0]) > MOST_SIDE:
                return False
    return True
