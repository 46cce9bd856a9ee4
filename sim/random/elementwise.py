"""Random MISC instructions."""

from __future__ import annotations

import random

from isa.codec import Op
from isa.config import MachineConfig
from isa.instructions import MAX_REDUCED_LANES, MISC_REDUCTIONS, MiscMode
from sim.random.draw import factors, int8, place, post, subtensor_strides
from sim.random.footprint import axes

LOOPS = 5


def misc(rng: random.Random, config: MachineConfig, budget: int) -> Op | None:
    """A MISC of at most ``budget`` words: element-wise, broadcast, in place, transposing or resizing. None: it does not fit."""
    counts = factors(rng, LOOPS, min(budget, config.fm_words // 4), 60)
    v = {f"n{j}": count for j, count in enumerate(counts)}
    mode = rng.choice(list(MiscMode))
    v["mode"] = int(mode)
    reduces = mode in MISC_REDUCTIONS
    if reduces:
        counts[-1] = v["n4"] = min(counts[-1], MAX_REDUCED_LANES // config.ic_p)
    for stream in "oab":
        _stream(rng, v, stream, [*counts[:-1], 1] if reduces and stream == "o" else counts)
    if reduces:
        v["o_s4"] = 0
    elif rng.random() < 0.05:
        v[f"o_s{rng.randrange(LOOPS)}"] = 0
    if rng.random() < 0.2 and not reduces:
        _copy(v, "a", "o")
    if rng.random() < 0.1:
        _copy(v, "b", "o")
    for stream in "abo":
        last = int(axes(*((v[f"n{j}"], v[f"{stream}_s{j}"]) for j in range(LOOPS))).max())
        v[f"{stream}_addr"] = place(rng, config, 0, last)
        if v[f"{stream}_addr"] < 0:
            return None
    in_place = rng.random()
    for stream, wanted in (("a", in_place < 0.25), ("b", 0.2 < in_place < 0.4)):
        if wanted and not reduces and all(v[f"{stream}_s{j}"] == v[f"o_s{j}"] for j in range(LOOPS)):
            v[f"{stream}_addr"] = v["o_addr"]
    v |= _numbers(rng, mode)
    v |= {"b_one": rng.randrange(2), "b_lane": rng.randrange(config.ic_p), "last_lanes": rng.randint(1, config.ic_p)}
    return Op("MISC", v | post(rng, config))


def _stream(rng: random.Random, v: dict[str, int], stream: str, counts: list[int]) -> None:
    """Sets the strides of a dense tensor. Some loops of operands repeat the same words (broadcast, nearest resize)."""
    kept = [count if stream == "o" or rng.random() < 0.8 else 1 for count in counts]
    for j, stride in enumerate(subtensor_strides(rng, kept, 5)):
        v[f"{stream}_s{j}"] = stride if kept[j] == counts[j] else 0


def _copy(v: dict[str, int], target: str, source: str) -> None:
    for j in range(LOOPS):
        v[f"{target}_s{j}"] = v[f"{source}_s{j}"]


def _numbers(rng: random.Random, mode: MiscMode) -> dict[str, int]:
    """Factors and a shift that give results of all sizes, and at times the extremes."""
    if rng.random() < 0.15:
        edge = [-(1 << 25), (1 << 25) - 1, 0, 1, -1]
        m_a, m_b, shift = rng.choice(edge), rng.choice(edge), rng.randrange(64)
        constant = rng.choice((-(1 << 47), (1 << 47) - 1, 0, rng.randrange(-(1 << 47), 1 << 47)))
    else:
        bits = rng.randint(1, 25)
        m_a, m_b = (rng.randint(-(1 << bits), (1 << bits) - 1) for _ in range(2))
        shift = max(0, bits + (6 if mode in (MiscMode.MUL, MiscMode.SLOPE) else 0) - rng.randint(-1, 3))
        constant = rng.choice((0, rng.randint(-(1 << (shift + 6)), 1 << (shift + 6))))
    return {
        "m_a": m_a, "m_b": m_b, "shift": shift, "a_zp": int8(rng), "b_zp": int8(rng),
        "c_lo": constant & 0xFFFFFFFF, "c_hi": constant >> 32,
    }  # fmt: skip
