"""The steps of POOL when it takes several taps in one: ``PoolWindow`` of ``hw/pool/taps.py`` in arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sim.cycle.geometry import Ints, Taps

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Steps:
    """The words of all steps, counted from the base, whether each is read (steps, ports), and the steps of each pixel group."""

    words: Ints
    read: Bools
    counts: Ints


def spread(counts: Ints, cycles: int) -> Ints:
    """The cycle of each step, if each group of ``counts`` steps takes at least ``cycles`` cycles."""
    lengths = np.maximum(counts, cycles)
    begin = np.repeat(np.cumsum(lengths) - lengths - np.cumsum(counts) + counts, counts)
    cycle: Ints = begin + np.arange(len(begin))
    return cycle


@lru_cache(maxsize=1 << 10)
def several_steps(taps: Taps, most: int) -> Steps:
    """The steps of all pixel groups on one channel vector, with ``most`` taps in a step at most."""
    lanes = taps.lanes
    pixels = np.arange(-(-taps.o_h * taps.o_w // lanes) * lanes).reshape(-1, lanes)
    oy, ox = pixels // taps.o_w, pixels % taps.o_w
    neighbours = taps.d_x == 1 and (taps.s_x == 1 or lanes == 1)
    together = (oy == oy[:, :1]).all(axis=1) & (oy < taps.o_h).all(axis=1) & neighbours
    words, read = _way(taps, oy, ox, most, beside=False)
    words_beside, read_beside = _way(taps, oy, ox, most, beside=True)
    few, many = words_beside.shape[1], words.shape[1]
    words[together, :few], read[together, :few] = words_beside[together], read_beside[together]
    counts = np.full(len(together), many)
    counts[together] = few
    kept = np.arange(many) < counts[:, None]
    return Steps(words[kept], read[kept], counts)


@lru_cache(maxsize=1 << 12)
def several_waits(taps: Taps, most: int, phases: int) -> int:
    """The additional cycles of one pass over all pixel groups because ports meet in a phase, counted as ``lane_waits`` does."""
    steps = several_steps(taps, most)
    phase = steps.words % phases
    fullest = np.zeros(len(phase), np.int64)
    for bank in range(phases):
        np.maximum(fullest, ((phase == bank) & steps.read).sum(axis=1), out=fullest)
    return int(np.maximum(fullest - 1, 0).sum())


def _way(taps: Taps, oy: Ints, ox: Ints, most: int, beside: bool) -> tuple[Ints, Bools]:
    """The words and the reads (groups, steps, ports) if all groups had their pixels side by side, or none had."""
    lanes = taps.lanes
    at_once = most if beside else 2 if most > lanes else 1
    ky, kx = (axis.ravel() for axis in np.meshgrid(np.arange(taps.k_h), np.arange(0, taps.k_w, at_once), indexing="ij"))
    count = np.minimum(at_once, taps.k_w - kx)
    extra = np.arange(most - 1)
    pixel = np.concatenate([np.arange(lanes), extra % lanes])
    away = np.concatenate([np.zeros(lanes, np.int64), lanes * (1 + extra // lanes) if beside else np.full(most - 1, taps.d_x)])
    needed = np.ones((len(count), lanes + most - 1), np.bool_)
    needed[:, lanes:] = count[:, None] > extra + 1 if beside else (count[:, None] > 1) & (extra < lanes)
    y = oy[:, None, pixel]
    iy = y * taps.s_y - taps.pad_t + ky[:, None] * taps.d_y
    column = ox[:, None, pixel] * taps.s_x - taps.pad_l + kx[:, None] * taps.d_x + away
    row = taps.i_off + y * taps.i_ys + ky[:, None] * taps.t_ys
    if taps.i_ring:
        row = row % taps.i_ring
    inside = (iy >= 0) & (iy < taps.i_h) & (y < taps.o_h) & (column >= 0) & (column < taps.i_w)
    return row + column, inside & needed
