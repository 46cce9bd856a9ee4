"""Which banks an instruction asks for, step by step, as masks of 64 bits: banks beyond the 64th are told apart modulo 64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from sim.cycle.geometry import Ints, Taps
from sim.cycle.several import several_steps, spread

Masks = npt.NDArray[np.uint64]
"""The banks of each step."""
BANKS_TOLD_APART = 64
NONE = np.uint64(0)


class Walk(Protocol):
    """The accesses of one instruction, in order."""

    def masks(self) -> Masks:
        """The banks of each of its steps."""


@dataclass(frozen=True, slots=True)
class Banks:
    """Where a word lies: ``hw/buffers/bank.py``."""

    phases: int
    depth: int

    @classmethod
    def of(cls, config: MachineConfig) -> Banks:
        return cls(config.fm_phases, config.fm_depth)

    def bits(self, words: Ints) -> Masks:
        """The bank of each word, as a mask."""
        bank = words // self.phases // self.depth * self.phases + words % self.phases
        bits: Masks = np.left_shift(np.uint64(1), (bank % BANKS_TOLD_APART).astype(np.uint64))
        return bits

    def phase_bits(self, words: Ints) -> Masks:
        """The phase of each word, as a mask."""
        bits: Masks = np.left_shift(np.uint64(1), (words % self.phases).astype(np.uint64))
        return bits


@dataclass(frozen=True, slots=True)
class WindowWalk:
    """What CONV or POOL reads: ``outer`` times all pixel groups, their taps, and ``inner`` vectors.

    Every ``period`` outer iterations the input moves on by ``outer_step`` words. A step whose lanes meet in a phase is
    as many steps; a reduction of fewer steps than ``group`` rests until the next may begin.
    """

    banks: Banks
    taps: Taps
    base: int
    inner: int
    inner_step: int
    outer: int
    period: int
    outer_step: int
    group: int
    several: int = 1
    """Taps in a step at most: of POOL, which has no inner vectors."""

    def masks(self) -> Masks:
        return _window(self)


@dataclass(frozen=True, slots=True)
class PlaceWalk:
    """What CONV or POOL writes: for each outer iteration and pixel group its ``lanes`` pixels, ``port`` in ``every`` cycles.

    An output vector takes ``parts`` outer iterations, or an outer iteration fills ``vectors`` of them.
    """

    banks: Banks
    lanes: int
    port: int
    every: int
    base: int
    o_h: int
    o_w: int
    o_ys: int
    o_xs: int
    o_cs: int
    outer: int
    parts: int
    vectors: int

    def masks(self) -> Masks:
        return _places(self)


@dataclass(frozen=True, slots=True)
class LoopWalk:
    """Nested loops, the first outermost: the operands of MISC, and the words of LOAD and SAVE."""

    banks: Banks
    base: int
    counts: tuple[int, ...]
    strides: tuple[int, ...]
    bunch: int = 1
    """Steps of which only the last asks for its bank."""

    def masks(self) -> Masks:
        return _loop(self)


@dataclass(frozen=True, slots=True)
class RoundWalk:
    """Word after word through the banks of some groups: for an instruction that does not say how it walks."""

    banks: Banks
    groups: int
    count: int

    def masks(self) -> Masks:
        phases = self.banks.phases
        groups = [group for group in range(self.groups.bit_length()) if self.groups >> group & 1]
        numbers = [group * phases + phase for group in groups for phase in range(phases)]
        bits = np.left_shift(np.uint64(1), np.array(numbers, np.uint64) % np.uint64(BANKS_TOLD_APART))
        return np.resize(bits, self.count) if numbers else np.zeros(self.count, np.uint64)


@lru_cache(maxsize=256)
def _loop(walk: LoopWalk) -> Masks:
    masks = walk.banks.bits(_sums(walk.base, walk.counts, walk.strides))
    if walk.bunch > 1:
        masks.reshape(-1, walk.bunch)[:, :-1] = NONE
    return masks


def _sums(base: int, counts: Sequence[int], strides: Sequence[int]) -> Ints:
    words = np.array([base], np.int64)
    for count, stride in zip(counts, strides, strict=True):
        if count > 1:
            words = (words[:, None] + np.arange(count) * stride).ravel()
    return words


@lru_cache(maxsize=512)
def _relative(taps: Taps) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Words counted from the base, and which of them are read: pixel groups, taps, lanes."""
    lanes = taps.lanes
    groups = -(-taps.o_h * taps.o_w // lanes)
    pixels = np.arange(groups * lanes).reshape(groups, 1, 1, lanes)
    oy, ox = pixels // taps.o_w, pixels % taps.o_w
    ky, kx = np.arange(taps.k_h)[:, None, None], np.arange(taps.k_w)[:, None]
    iy = oy * taps.s_y - taps.pad_t + ky * taps.d_y
    column = ox * taps.s_x - taps.pad_l + kx * taps.d_x
    row = taps.i_off + oy * taps.i_ys + ky * taps.t_ys
    if taps.i_ring:
        row %= taps.i_ring
    inside = (iy >= 0) & (iy < taps.i_h) & (oy < taps.o_h)
    read = inside & (column >= 0) & (column < taps.i_w)
    return (row + column).reshape(-1, lanes), read.reshape(-1, lanes)


@lru_cache(maxsize=256)
def _window(walk: WindowWalk) -> Masks:
    if walk.several > 1:
        steps = several_steps(walk.taps, walk.several)
        words, read, counts = steps.words + walk.base, steps.read, steps.counts
    else:
        words, read = _relative(walk.taps)
        lanes = walk.taps.lanes
        vectors = np.arange(walk.inner) * walk.inner_step
        words = (words[:, None, :] + (walk.base + vectors)[:, None]).reshape(-1, lanes)
        read = np.repeat(read, walk.inner, axis=0)
        each = walk.taps.k_h * walk.taps.k_w * walk.inner
        counts = np.full(len(words) // each, each)
    shifts = [walk.outer_step * (n // walk.period) if walk.period else 0 for n in range(walk.outer)]
    found: dict[int, Masks] = {}
    for shift in shifts:
        if shift not in found:
            both = walk.banks.bits(words + shift), walk.banks.phase_bits(words + shift)
            found[shift] = _apart(*(_rest(np.where(read, bits, NONE), counts, walk.group) for bits in both))
    return np.concatenate([found[shift] for shift in shifts]) if len(shifts) > 1 else found[shifts[0]]


def _apart(bits: Masks, phases: Masks) -> Masks:
    """The steps' masks; lanes that meet in a phase take one step after the other."""
    masks: Masks = np.bitwise_or.reduce(bits, axis=1)
    if np.array_equal(phases.sum(axis=1, dtype=np.uint64), np.bitwise_or.reduce(phases, axis=1)):
        return masks
    steps: list[int] = []
    for row, own in zip(bits.tolist(), phases.tolist(), strict=True):
        turns = [0]
        for lane, bit in enumerate(row):
            turn = own[:lane].count(own[lane]) if bit else 0
            turns[turn:] = [bit] if turn == len(turns) else [turns[turn] | bit, *turns[turn + 1:]]
        steps += turns
    return np.array(steps, np.uint64)


def _rest(bits: Masks, counts: Ints, group: int) -> Masks:
    """With the cycles in which the next reduction, of ``counts`` steps each, may not begin yet."""
    if (counts >= group).all():
        return bits
    rested = np.zeros((int(np.maximum(counts, group).sum()), bits.shape[1]), np.uint64)
    rested[spread(counts, group)] = bits
    return rested


@lru_cache(maxsize=256)
def _places(walk: PlaceWalk) -> Masks:
    """An entry for each cycle of a reduction's drain; places are offered in the last cycles of ``every``."""
    turns = -(-walk.lanes // walk.port)
    groups = -(-walk.o_h * walk.o_w // walk.lanes)
    lane = np.arange(turns * walk.port).reshape(turns, walk.port)
    pixels = np.arange(groups)[:, None, None] * walk.lanes + lane
    valid = (lane < walk.lanes) & (pixels < walk.o_h * walk.o_w)
    words = walk.base + pixels // walk.o_w * walk.o_ys + pixels % walk.o_w * walk.o_xs
    found = []
    for outer in range(walk.outer):
        first = outer // walk.parts * walk.vectors
        planes = (first + np.arange(walk.vectors)) * walk.o_cs
        bits = np.where(valid[:, :, None, :], walk.banks.bits(words[:, :, None, :] + planes[:, None]), NONE)
        masks = np.bitwise_or.reduce(bits, axis=3)
        found.append(np.pad(masks, ((0, 0), (0, 0), (walk.every - walk.vectors, 0))).ravel())
    return np.concatenate(found)
