"""Rows that a window needs, one range at a time, beside the arrays of all steps."""

from __future__ import annotations

import random

import numpy as np

from compiler.layers.placed import Rows
from compiler.layers.window import WindowRows
from compiler.xgraph.ops import Window


def test_one_range_is_as_in_an_array() -> None:
    for seed in range(40):
        draw = random.Random(seed)
        kernel, stride, dilation = draw.randint(1, 7), draw.randint(1, 3), draw.randint(1, 3)
        pads = draw.randint(0, 12), 0, draw.randint(0, 4), 0
        rows = WindowRows(Window((kernel, 1), (stride, 1), (dilation, 1), pads), draw.randint(1, 20))
        for _ in range(20):
            begin = draw.randint(0, 12)
            output = Rows(begin, begin + draw.randint(0, 6))
            expected = Rows(int(rows.begin(np.array(output.begin))), int(rows.end(np.array(output.end))))
            assert rows.needed(output) == expected
