"""The banks and ways that an instruction asks for, step by step, as masks of 64 bits.

Banks beyond the 48th are told apart modulo 48, phases of a shared way modulo 16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from math import gcd
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from sim.cycle.geometry import Ints, Taps
from sim.cycle.several import several_steps, spread

Masks = npt.NDArray[np.uint64]
"""The banks of each step."""
BANKS_TOLD_APART = 48
PHASES_TOLD_APART = 16
LINE = np.uint64(1 << BANKS_TOLD_APART)
"""The bit of a way whose words take no phase."""
NONE = np.uint64(0)
_Value = TypeVar("_Value", bound=np.generic)


class Walk(Protocol):
    """The accesses of one instruction, in order."""

    def masks(self) -> Masks:
        """The banks of each of its steps."""


_Walk = TypeVar("_Walk", bound=Walk)


class _Hashed:
    """Remembers its hash once that is known: to hash a walk takes longer than all else that ``Kept`` does."""

    __slots__ = ("known_hash",)
    known_hash: int


_Class = TypeVar("_Class", bound=type[_Hashed])


def _hash_once(kind: _Class) -> _Class:
    find = kind.__hash__

    def known(walk: _Hashed) -> int:
        try:
            return walk.known_hash
        except AttributeError:
            object.__setattr__(walk, "known_hash", find(walk))
            return walk.known_hash

    # A method is no variable to mypy; classes whose hash dataclasses have made can be changed only so.
    kind.__hash__ = known  # type: ignore[assignment]
    return kind


class Kept:
    """The masks that were asked for last, in so many bytes at most: a search times the same groups in many programs."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self._masks: dict[Walk, Masks] = {}

    def of(self, walk: _Walk, make: Callable[[_Walk], Masks]) -> Masks:
        masks = self._masks.pop(walk, None)
        if masks is None:
            masks = make(walk)
            self.bytes += masks.nbytes
        self._masks[walk] = masks
        while self.bytes > self.most_bytes and len(self._masks) > 1:
            self.bytes -= self._masks.pop(next(iter(self._masks))).nbytes
        return masks


_KEPT = Kept(64 << 20)


class Way(Enum):
    """The way that words go (``hw/buffers/feature_map.py``), which decides what each of them takes."""

    OWN = "own"
    """A word takes its bank."""
    SHARED_READ = "shared read"
    """A word takes its bank, and its phase from all others that read by this way. Where the way is serial it takes its bank
    alone; every other time it pauses there for the others."""
    OPERAND = "operand"
    """A word of an operand of MISC takes the same; where the way is serial, its bank, and the way from the other operand."""
    SHARED_WRITE = "shared write"
    """A word takes its phase from all others that write."""


@dataclass(frozen=True, slots=True)
class Banks:
    """Where a word lies (``hw/buffers/bank.py``), and by which way it goes."""

    phases: int
    depth: int
    way: Way = Way.OWN

    @classmethod
    def of(cls, config: MachineConfig, way: Way = Way.OWN) -> Banks:
        """The banks of a machine. ``way``: the way that words go if the machine has it."""
        ways = config.ways
        if not ways.shared or (ways.serial_reads and way is Way.SHARED_READ):
            way = Way.OWN
        elif way is Way.OPERAND and not ways.serial_reads:
            way = Way.SHARED_READ
        return cls(config.fm_phases, config.fm_depth, way)

    def bits(self, words: Ints) -> Masks:
        """What each word takes, as a mask."""
        return _bits(self).take(words, mode="wrap")


@lru_cache(maxsize=4)
def _bits(banks: Banks) -> Masks:
    """The masks of words up to where they repeat: a look-up takes a fraction of the time of the divisions."""
    words = np.arange(banks.phases * banks.depth * (BANKS_TOLD_APART // gcd(BANKS_TOLD_APART, banks.phases)))
    phase = words % banks.phases
    by_way = _bit(BANKS_TOLD_APART + phase % PHASES_TOLD_APART)
    if banks.way is Way.SHARED_WRITE:
        return by_way
    bank = _bit((words // banks.phases // banks.depth * banks.phases + phase) % BANKS_TOLD_APART)
    if banks.way is Way.OPERAND:
        return bank | LINE
    return bank | by_way if banks.way is Way.SHARED_READ else bank


def _bit(numbers: Ints) -> Masks:
    bits: Masks = np.left_shift(np.uint64(1), numbers.astype(np.uint64))
    return bits


@_hash_once
@dataclass(frozen=True, slots=True)
class WindowWalk(_Hashed):
    """What CONV or POOL reads: ``outer`` times all pixel groups, their taps, and ``inner`` vectors.

    Every ``period`` outer iterations the input moves on by ``outer_step`` words. A step whose lanes meet in a phase is as many
    steps; a reduction of fewer steps than ``group`` rests until the next may begin.
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
    """The most taps in a step; more than one only for POOL, which has no inner vectors."""

    def masks(self) -> Masks:
        return _KEPT.of(self, _window)


@_hash_once
@dataclass(frozen=True, slots=True)
class PlaceWalk(_Hashed):
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
        return _KEPT.of(self, _places)


@_hash_once
@dataclass(frozen=True, slots=True)
class LoopWalk(_Hashed):
    """Nested loops, the first outermost: the operands of MISC, and the words of LOAD and SAVE."""

    banks: Banks
    base: int
    counts: tuple[int, ...]
    strides: tuple[int, ...]
    bunch: int = 1
    """The steps of which only the last asks for its bank."""

    def masks(self) -> Masks:
        return _KEPT.of(self, _loop)


@_hash_once
@dataclass(frozen=True, slots=True)
class RoundWalk(_Hashed):
    """Goes word after word through the banks of some groups, for an instruction that does not say how it walks."""

    banks: Banks
    groups: int
    count: int

    def masks(self) -> Masks:
        span = self.banks.phases * self.banks.depth
        groups = [group for group in range(self.groups.bit_length()) if self.groups >> group & 1]
        words = np.array([group * span + phase for group in groups for phase in range(self.banks.phases)], np.int64)
        return np.resize(self.banks.bits(words), self.count) if groups else np.zeros(self.count, np.uint64)


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
    """The words counted from the base, and whether each is read, for pixel groups and taps (rows) and lanes (columns)."""
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
    if (counts < walk.group).any():
        words, read = _rested(words, counts, walk.group), _rested(read, counts, walk.group)
    at = _turns(words % walk.banks.phases, read)
    moved = [walk.outer_step * (n // walk.period) if walk.period else 0 for n in range(walk.outer)]
    shifts, number = np.unique(moved, return_inverse=True)
    masks = np.zeros((len(shifts), int(at.max()) + 1), np.uint64)
    for lane in range(words.shape[1]):
        masks[:, at[:, lane]] |= np.where(read[:, lane], walk.banks.bits(words[:, lane] + shifts[:, None]), NONE)
    return masks[number].ravel()


def _turns(phases: Ints, read: npt.NDArray[np.bool_]) -> Ints:
    """The cycle of each lane's word. Lanes that meet in a phase take one after the other, wherever the base lies."""
    turn = np.zeros(phases.shape, np.int64)
    for lane in range(1, phases.shape[1]):
        before = read[:, :lane] & (phases[:, :lane] == phases[:, lane : lane + 1])
        turn[:, lane] = np.where(read[:, lane], before.sum(axis=1), 0)
    cycles = turn.max(axis=1) + 1
    at: Ints = turn + (np.cumsum(cycles) - cycles)[:, None]
    return at


def _rested(values: npt.NDArray[_Value], counts: Ints, group: int) -> npt.NDArray[_Value]:
    """Adds the cycles in which the next reduction may not begin yet, since each has only ``counts`` steps."""
    rested = np.zeros((int(np.maximum(counts, group).sum()), values.shape[1]), values.dtype)
    rested[spread(counts, group)] = values
    return rested


def _places(walk: PlaceWalk) -> Masks:
    """The banks in each cycle of the drains. Places are offered in the last cycles of ``every``."""
    turns = -(-walk.lanes // walk.port)
    groups = -(-walk.o_h * walk.o_w // walk.lanes)
    lane = np.arange(turns * walk.port).reshape(turns, walk.port)
    pixels = np.arange(groups)[:, None, None] * walk.lanes + lane
    valid = (lane < walk.lanes) & (pixels < walk.o_h * walk.o_w)
    words = walk.base + pixels // walk.o_w * walk.o_ys + pixels % walk.o_w * walk.o_xs
    # Only one of the outer iterations that fill the same vectors is computed. The others have the same masks.
    first = np.arange(-(-walk.outer // walk.parts)) * walk.vectors
    planes = (first[:, None] + np.arange(walk.vectors)) * walk.o_cs
    bits = walk.banks.bits(words[:, :, None, :] + planes[:, None, None, :, None])
    masks = np.zeros((len(first), groups, turns, walk.every), np.uint64)
    offered = masks[..., walk.every - walk.vectors :]
    np.bitwise_or.reduce(np.where(valid[:, :, None, :], bits, NONE), axis=4, out=offered)
    return np.repeat(masks, walk.parts, axis=0)[: walk.outer].ravel()
