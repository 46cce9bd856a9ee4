"""What ROW costs: three passes over each row, which overlap those of its neighbours (``hw/rows/unit.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.instructions import RowMode
from isa.stages import (
    FIFO,
    READ_PORT,
    ROW_BEGIN,
    ROW_EMIT,
    ROW_NUMBERS,
    ROW_RECIPROCAL,
    ROW_REDUCE,
    ROW_ROOT,
    ROW_TOTAL,
    ROWS_HELD,
)
from sim.cycle.rivals import IDLE, Use

FOLLOWED = 32
"""Rows that are followed one by one; from there on they come at one pace."""


@dataclass(frozen=True, slots=True)
class RowCost:
    """``cycles`` from acceptance to ``done``, as if no other unit wanted its banks; ``active`` slices of results."""

    cycles: int
    active: int
    use: Use = IDLE
    """ROW comes last at every bank: nobody waits for it."""
    wait_bank: int = 0


def row_costs(config: MachineConfig, f: Mapping[str, npt.NDArray[np.int64]]) -> list[RowCost]:
    """By the slices of a row, and by what lies between its passes."""
    rows, slices = f["n0"] * f["n1"], f["words"] * config.row_parts
    return [
        RowCost(row_cycles(config, count, size, mode == RowMode.SOFTMAX), count * size)
        for count, size, mode in zip(rows.tolist(), slices.tolist(), f["mode"].tolist(), strict=True)
    ]


def row_cycles(config: MachineConfig, rows: int, slices: int, softmax: bool) -> int:
    """Of one instruction; ``slices`` of each row."""
    stages = (config.row_lanes - 1).bit_length()
    taken = slices + ROW_REDUCE + stages + 1
    """From a row's first slice to its sums."""
    first_pace, second_pace = (slices, ROW_RECIPROCAL + 1) if softmax else (ROW_ROOT + 3, ROW_NUMBERS + 1)
    to_second, prepared = (slices + ROW_TOTAL + stages, ROW_RECIPROCAL) if softmax else (ROW_ROOT, ROW_NUMBERS)
    """From row to row in both stages between the passes, and from the beginning of each to its end."""
    takes, sums, seconds, emits = [0] * ROWS_HELD, -first_pace, -second_pace, -slices
    read = -slices
    for number in range(min(rows, FOLLOWED)):
        read = max(read + slices, takes[number % ROWS_HELD])
        sums = max(read + taken, sums + first_pace)
        seconds = max(sums + to_second, seconds + second_pace)
        emits = max(seconds + prepared + 1, emits + slices)
        takes[number % ROWS_HELD] = emits + slices
    period = max(slices, first_pace, second_pace, (taken + to_second + prepared + 1 + slices) / ROWS_HELD)
    first = ROW_BEGIN + READ_PORT
    return first + emits + ceil(max(0, rows - FOLLOWED) * period) + slices - 1 + ROW_EMIT + FIFO + 1
