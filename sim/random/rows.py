"""Random ROW instructions."""

from __future__ import annotations

import random

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import RowMode
from isa.rows import K_BITS
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
