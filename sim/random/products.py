"""Random LOADW instructions."""

from __future__ import annotations

import random

from isa.codec import Op
from isa.config import MachineConfig
from isa.requantisation import MANTISSA_BITS
from sim.random.draw import int8, log_uniform
from sim.random.footprint import Dram
from sim.random.moves import dram_rows


def loadw(rng: random.Random, config: MachineConfig, dram: Dram, budget: int) -> Op | None:
    """A LOADW of at most ``budget`` words: dense pixels, overlapping ones, single ones, or nothing but fill. None: this draw
    does not fit."""
    turned = rng.randrange(2)
    run = log_uniform(rng, 1, (4 if turned else 1) * config.ic_p)
    vectors = -(-run // config.ic_p)
    group = config.oc_p if turned else config.ic_p
    pixels = log_uniform(rng, 1, max(1, min(budget // vectors, 4 * group)))
    v = {"turned": turned, "run": run, "step": run, "fill": int8(rng), "flip": rng.randrange(2)}
    v["pixels"] = -(-pixels // group) * group if rng.random() < 0.4 else pixels
    kind = rng.choice(("dense", "dense", "window", "gather"))
    if kind == "window" and run <= config.window_bytes:
        v["step"] = rng.randint(0 if rng.random() < 0.1 else 1, run)
    if kind == "gather":
        v["step"] = run + log_uniform(rng, 1, 40)
        v["valid"] = rng.choice((0, 1, 1, (1 << 28) - 1))
        fetched = (v["pixels"] - 1) * v["step"] + run
    else:
        v["lead"] = rng.choice((0, 0, rng.randint(0, 3 * run)))
        needed = max(0, (v["pixels"] - 1) * v["step"] + run - v["lead"])
        v["valid"] = fetched = rng.choice((needed, needed, needed, rng.randint(0, needed), needed + rng.randint(0, 40), 0))
    place = dram_rows(rng, config, dram, 1, max(1, fetched), separate=False)
    chunks = -(-(v["pixels"] if turned else run) // config.oc_p)
    inputs = vectors if turned else -(-v["pixels"] // config.ic_p)
    v["w_step"] = inputs + rng.choice((0, 0, log_uniform(rng, 1, 8)))
    words = chunks * inputs if turned else (chunks - 1) * v["w_step"] + inputs
    if not place or words > config.weight_depth or chunks > config.param_depth:
        return None
    scale = rng.randint(1 << 22, 1 << 24) << rng.choice((0, 2)) | rng.randint(5, 9) << MANTISSA_BITS
    v |= {"offset": place["offset"], "region": place["region"], "scale": scale if rng.random() < 0.9 else rng.getrandbits(32)}
    v |= {"w_addr": rng.randint(0, config.weight_depth - words), "p_addr": rng.randint(0, config.param_depth - chunks)}
    v |= {name: rng.choice((-128, 127, int8(rng), int8(rng))) for name in ("x_zp", "w_zp")}
    return Op("LOADW", v)
