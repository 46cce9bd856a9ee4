"""Random ROW instructions."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import RowMode
from isa.rows import B_BITS, E_BITS, G_BITS, K_BITS, T_BITS, exp_words, norm_records
from sim.random.draw import int8, log_uniform, place, post, subtensor_strides
from sim.random.footprint import axes


def rows(rng: random.Random, config: MachineConfig, budget: int) -> Op | None:
    """A ROW of at most ``budget`` words. None: this draw does not fit."""
    words = log_uniform(rng, 1, min(config.row_words, budget, config.fm_words // 8))
    n0 = log_uniform(rng, 1, max(1, budget // words // 4))
    n1 = log_uniform(rng, 1, max(1, budget // words // n0))
    v = {"n0": n0, "n1": n1, "words": words, "last_lanes": rng.randint(1, config.ic_p)}
    for stream in "ao":
        v[f"{stream}_s0"], v[f"{stream}_s1"], v[f"{stream}_cs"] = subtensor_strides(rng, [n0, n1, words], 5)
        last = int(axes((n0, v[f"{stream}_s0"]), (n1, v[f"{stream}_s1"]), (words, v[f"{stream}_cs"])).max())
        v[f"{stream}_addr"] = place(rng, config, 0, last)
        if v[f"{stream}_addr"] < 0:
            return None
    v["mode"] = int(rng.choice(list(RowMode)))
    k = rng.randint(1, (1 << rng.randint(1, K_BITS)) - 1)
    v |= {"k_lo": k & 0xFFFFFFFF, "k_hi": k >> 32, "a_zp": int8(rng), "shift": rng.randrange(4)}
    v["p_addr"] = rng.randint(0, config.buffer_depth("NORM") - words)
    numbers = post(rng, config)
    return Op("ROW", v | {name: numbers[name] for name in ("zp", "lo", "hi")})


def exponential_words(rng: np.random.Generator, config: MachineConfig, size: int) -> npt.NDArray[np.uint8]:
    """``size`` bytes of words of EXP. Their totals have every length, and most quotients lie within their range."""
    word = config.buffer_dram_bytes("EXP")
    count = -(-size // word)
    rounds = -(-count // 256)
    near = rng.integers(0, E_BITS - 2, 4 * rounds).repeat(64)
    e, t = (rng.integers(0, 1 << bits, 256 * rounds) >> near + rng.integers(0, 4, 256 * rounds) for bits in (E_BITS, T_BITS))
    words = np.zeros((256 * rounds, word), np.uint8)
    for first in range(0, 256 * rounds, 256):
        made = exp_words(e[first : first + 256], t[first : first + 256])
        words[first : first + 256, : made.shape[1]] = made
    return words.reshape(-1)[:size]


def factor_records(rng: np.random.Generator, config: MachineConfig, size: int) -> npt.NDArray[np.uint8]:
    """``size`` bytes of records of NORM. At each shift some results are within int8."""
    count = -(-size // 8)
    bits = rng.integers(9, G_BITS - 1, count)
    g = rng.integers(-1 << 32, 1 << 32, count) >> 32 - bits
    b = np.clip(rng.integers(-1 << 32, 1 << 32, count) >> 32 - bits << 10, -1 << B_BITS - 1, (1 << B_BITS - 1) - 1)
    return norm_records(g, b).reshape(-1)[:size]
