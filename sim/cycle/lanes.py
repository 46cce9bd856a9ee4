"""Waits where lanes of one instruction meet: pixels of CONV and POOL in a phase, operands of MISC in a bank."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.depths import MISC_ANSWERS
from sim.cycle.rivals import groups
from sim.cycle.trails import Groups


def lanes_meet(config: MachineConfig, o_w: int, s_x: int, i_ys: int, ring: int) -> bool:
    """Whether the lanes of a pixel group can meet at all: at a row's end, or at even strides above 2."""
    if config.px_p == 1:
        return False
    phases = config.fm_phases
    straight = s_x % 2 == 1 or s_x == 2
    return not straight or (i_ys - s_x * o_w) % phases != 0 or ring % phases != 0


@lru_cache(maxsize=1 << 12)
def lane_waits(
    config: MachineConfig, o_h: int, o_w: int, s_y: int, s_x: int, k_h: int, k_w: int, d_y: int, d_x: int,
    i_h: int, i_w: int, pad_t: int, pad_l: int, i_off: int, i_ys: int, t_ys: int, ring: int,
) -> int:  # fmt: skip
    """The additional cycles of one pass over all pixel groups and taps, for one channel vector.

    A step takes as many cycles as lanes meet in its fullest phase.
    """
    lanes, phases = config.px_p, config.fm_phases
    pixels = np.arange(-(-o_h * o_w // lanes) * lanes)
    oy, ox = pixels // o_w, pixels % o_w
    ky, kx = np.arange(k_h)[:, None, None], np.arange(k_w)[None, :, None]
    iy, ix = oy * s_y - pad_t + ky * d_y, ox * s_x - pad_l + kx * d_x
    row = i_off + oy * i_ys + ky * t_ys
    if ring:
        row = row % ring
    phase = (row + ix) % phases
    read = (iy >= 0) & (iy < i_h) & (ix >= 0) & (ix < i_w) & (oy < o_h)
    shape = (k_h * k_w * pixels.size // lanes, lanes)
    phase, read = phase.reshape(shape), read.reshape(shape)
    fullest = np.zeros(shape[0], np.int64)
    for one in range(phases):
        np.maximum(fullest, ((phase == one) & read).sum(axis=1), out=fullest)
    return int(np.maximum(fullest - 1, 0).sum())


Operand = tuple[int, int, int, int, int, int]
"""The first word and the five strides of an operand of MISC."""


def operand_groups(config: MachineConfig, counts: tuple[int, ...], walk: Operand) -> Groups:
    """The bank groups of an operand."""
    first, *strides = walk
    span = config.fm_phases * config.fm_depth
    reach = sum((count - 1) * stride for count, stride in zip(counts, strides, strict=True))
    return groups(first // span, min(first + reach, config.fm_words - 1) // span)


@lru_cache(maxsize=1 << 12)
def operand_waits(config: MachineConfig, counts: tuple[int, ...], a: Operand, b: Operand) -> int:
    """The additional cycles of MISC because both operands want one bank, one phase of a shared way, or the line of a serial
    way.

    Operands that move from bank to bank fall out of step once; those that stay in one bank take turns. So the bound is what the
    fullest bank must serve, within as many words as one operand may run ahead of the other.
    """
    banks = np.stack([_banks(config, counts, walk) for walk in (a, b)])
    total = banks.shape[1]
    waits = 0
    for begin in range(0, total, 1 << 14):
        block = banks[:, begin : begin + (1 << 14)]
        windows = np.arange(block.shape[1]) // MISC_ANSWERS
        demand = np.bincount(((windows * config.fm_banks) + block).ravel(), minlength=(windows[-1] + 1) * config.fm_banks)
        fullest = demand.reshape(-1, config.fm_banks).max(axis=1)
        waits += int(np.maximum(fullest - config.misc_parts * np.bincount(windows), 0).sum())
    return waits


def _banks(config: MachineConfig, counts: tuple[int, ...], walk: Operand) -> npt.NDArray[np.int64]:
    """The bank of every word of a walk, in order. On a shared way it is the phase alone, on a serial way always 0."""
    first, *strides = walk
    words = np.array([first], np.int64)
    for count, stride in zip(counts, strides, strict=True):
        words = (words[:, None] + np.arange(count) * stride).ravel()
    phases = config.fm_phases
    if config.ways.serial_reads:
        return 0 * words
    if config.ways.shared:
        return words % phases
    return words // phases // config.fm_depth % (config.fm_banks // phases) * phases + words % phases
