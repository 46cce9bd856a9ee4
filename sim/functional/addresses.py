"""Word addresses as sums of independent loop offsets, modulo a power of two. Feature maps have the machine's modulus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig

Ints = npt.NDArray[np.int64]

MODULUS = 1 << 24
"""The modulus of addresses for every buffer but the feature maps, whose addresses wrap earlier."""

Nest = Sequence[Ints]
"""The words of a loop nest: every sum of one offset from each part, modulo a power of two. An empty part means no words."""


def fm_modulus(config: MachineConfig) -> int:
    """The modulus of addresses of feature-map words."""
    return 1 << config.fm_address_bits


def steps(count: int, stride: int) -> Ints:
    """The offsets of one loop."""
    return np.arange(count, dtype=np.int64) * stride


def constant(value: int) -> Ints:
    return np.array([value], dtype=np.int64)


def signed24(values: Ints) -> Ints:
    """The same residues in -2^23 .. 2^23 - 1, so that small negative offsets stay small."""
    half = MODULUS >> 1
    return ((values + half) & (MODULUS - 1)) - half


def grid(*parts: Ints, modulus: int) -> Ints:
    """All sums of one offset from each part, with one axis for each part."""
    total = parts[0]
    for part in parts[1:]:
        total = total[..., None] + part
    return total & (modulus - 1)


def outside(nest: Nest, limit: int, modulus: int = MODULUS) -> bool:
    """Whether any word of the nest lies at or above ``limit``."""
    if any(part.size == 0 for part in nest):
        return False
    low = sum(int(part.min()) for part in nest)
    high = sum(int(part.max()) for part in nest)
    if low >= 0 and high < limit:
        return False
    if low >= 0 and high < modulus:
        return True
    return _outside_wrapping(nest, limit, modulus)


def _outside_wrapping(nest: Nest, limit: int, modulus: int) -> bool:
    """Whether any word lies at or above ``limit`` when addresses wrap.

    The sums are collected part by part. As long as none is outside there are at most ``limit``.
    """
    mask = modulus - 1
    parts = [np.unique(part & mask) for part in nest]
    rest = sum(int(part[0]) for part in parts)
    words = constant(0)
    for part in parts:
        rest -= int(part[0])
        collected = [words[:0]]
        for block in np.array_split(part, 1 + words.size * part.size // MODULUS):
            sums = np.unique((words[:, None] + block) & mask)
            if bool((((sums + rest) & mask) >= limit).any()):
                return True
            collected.append(sums)
        words = np.unique(np.concatenate(collected))
    return False


def words_of(nest: Nest, limit: int, modulus: int = MODULUS) -> Ints:
    """The distinct words of a nest that is not ``outside``, in ascending order."""
    if any(part.size == 0 for part in nest):
        return np.empty(0, dtype=np.int64)
    words = constant(0)
    for part in sorted(nest, key=lambda part: part.size):
        words = ((words[:, None] + part) & (modulus - 1)).ravel()
        if words.size > limit:
            words = np.unique(words)
    touched = np.zeros(limit, dtype=np.bool_)
    touched[words] = True
    return np.flatnonzero(touched)
