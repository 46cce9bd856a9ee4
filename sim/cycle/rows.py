"""The cost of ROW: three passes over each row, which overlap those of its neighbours (``hw/rows/unit.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.instructions import RowMode
from isa.stages import FIFO, READ_PORT, ROW_BEGIN, ROW_EMIT, ROWS_HELD
from sim.cycle.passes import Between, RowPace
from sim.cycle.rivals import Use, groups
from sim.cycle.trails import Groups
from sim.cycle.walks import Banks, LoopWalk, Way

FOLLOWED = 32
"""The rows that are followed one by one. The rows behind them come at one pace."""


@dataclass(frozen=True, slots=True)
class RowCost:
    """The cost of a ROW: ``cycles`` from acceptance to ``done`` if no other unit wants its banks, ``active`` slices of
    results."""

    cycles: int
    active: int
    use: Use
    words: int
    """The words of a row."""
    pace: RowPace
    walks: tuple[LoopWalk, LoopWalk]
    """The words that it reads, and those that it writes."""
    wait_bank: int = 0


def row_costs(config: MachineConfig, f: Mapping[str, npt.NDArray[np.int64]]) -> list[RowCost]:
    """Costs of ROW, from the slices of a row and the cycles between its passes."""
    columns = [[f[name].tolist() for name in (f"{side}_addr", f"{side}_s0", f"{side}_s1", f"{side}_cs")] for side in "ao"]
    shapes = zip(*(f[name].tolist() for name in ("n0", "n1", "words", "mode")), strict=True)
    return [
        _row(config, shape[:3], shape[3] == RowMode.SOFTMAX, a, o)
        for shape, a, o in zip(shapes, *(zip(*side, strict=True) for side in columns), strict=True)
    ]


def _row(
    config: MachineConfig, counts: tuple[int, ...], softmax: bool, a: tuple[int, ...], o: tuple[int, ...]
) -> RowCost:  # fmt: skip
    n0, n1, words = counts
    slices = words * config.row_parts
    ways = Way.SHARED_READ, Way.SHARED_WRITE
    walks = [LoopWalk(Banks.of(config, way), side[0], counts, side[1:]) for way, side in zip(ways, (a, o), strict=True)]
    pace = RowPace.of(config, slices, softmax)
    use = Use(_groups(config, counts, a), _groups(config, counts, o))
    cycles = row_cycles(config, n0 * n1, slices, softmax)
    return RowCost(cycles, n0 * n1 * slices, use, words, pace, (walks[0], walks[1]))


def _groups(config: MachineConfig, counts: tuple[int, ...], walk: tuple[int, ...]) -> Groups:
    first, *strides = walk
    span = config.fm_phases * config.fm_depth
    reach = sum((count - 1) * stride for count, stride in zip(counts, strides, strict=True))
    return groups(first // span, min(first + reach, config.fm_words - 1) // span)


def row_cycles(config: MachineConfig, rows: int, slices: int, softmax: bool) -> int:
    """The cycles of one instruction with ``slices`` slices in each row."""
    pace = RowPace.of(config, slices, softmax)
    between = Between(pace)
    takes, results = [0] * ROWS_HELD, -slices
    read = -slices
    for number in range(min(rows, FOLLOWED)):
        read = max(read + slices, takes[number % ROWS_HELD])
        results = max(between.results(read + slices - 1), results + slices)
        takes[number % ROWS_HELD] = results + slices
    through = slices - 1 + pace.reduced + pace.second_after + pace.prepared + slices
    period = max(slices, pace.first, pace.second, through / ROWS_HELD)
    first = ROW_BEGIN + READ_PORT
    return first + results + ceil(max(0, rows - FOLLOWED) * period) + slices - 1 + ROW_EMIT + FIFO + 1
