"""Rates over time: the work of instructions, spread evenly over the time that they take."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.instructions import Unit
from tilewright.profile.activity import Activity

Floats = npt.NDArray[np.float64]


def buckets(cycles: int, most: int = 1000, least: int = 16) -> Floats:
    """The edges of at most ``most`` equal spans of at least ``least`` cycles."""
    size = max(least, -(-cycles // most))
    return np.arange(0, cycles + size, size, dtype=np.float64)


def rate(spans: Iterable[tuple[float, float, float]], edges: Floats) -> Floats:
    """The amount per cycle in each bucket, from spans ``(start, end, amount)``. A span without length falls into one cycle."""
    total = np.zeros(len(edges))
    rows = np.array([(s, max(e, s + 1), n) for s, e, n in spans], np.float64).reshape(-1, 3)
    for begin in range(0, len(rows), 4096):
        start, end, amount = (column[:, None] for column in rows[begin : begin + 4096].T)
        total += (amount * np.clip((edges - start) / (end - start), 0, 1)).sum(axis=0)
    found: Floats = np.diff(total) / np.diff(edges)
    return found


def dram_rates(items: Iterable[Activity], edges: Floats) -> tuple[Floats, Floats]:
    """The bytes per cycle that LOAD reads and SAVE writes."""
    moves = [item for item in items if item.read or item.written]
    reads = rate(((m.start, m.finish, m.read) for m in moves), edges)
    return reads, rate(((m.start, m.finish, m.written) for m in moves), edges)


def array_occupancy(items: Iterable[Activity], edges: Floats) -> Floats:
    """The share of the cycles in which the array retires a beat."""
    beats = ((i.finish - i.work, i.finish, i.work) for i in items if i.unit is Unit.CONV)
    return np.minimum(1.0, rate(beats, edges))


def peak_bandwidth(config: MachineConfig) -> int:
    """The most bytes per cycle, reads and writes together."""
    return config.axi_bytes
