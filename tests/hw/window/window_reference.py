"""The window of docs/reference/semantics.md in plain loops, and random cases of it."""

from __future__ import annotations

import random
from typing import NamedTuple

from hw.interfaces import TICKET_BITS
from isa.config import preset

CONFIG = preset("nano")
MOD = 1 << CONFIG.fm_address_bits


class Step(NamedTuple):
    """One step as the generator must emit it; a lane that reads nothing has the address None."""

    lanes: tuple[int | None, ...]
    first: bool
    last: bool
    last_of_outer: bool
    last_of_instruction: bool


def steps(w: dict[str, int], lanes: int) -> list[Step]:
    """Every step of one walk, straight from the formulas."""
    found = []
    pixels = [(oy, ox) for oy in range(w["o_h"]) for ox in range(w["o_w"])]
    groups = [pixels[i : i + lanes] for i in range(0, len(pixels), lanes)]
    for outer in range(w["outer"]):
        shift = outer // w["outer_period"] * w["outer_step"] if w["outer_period"] else 0
        for g, group in enumerate(groups):
            taps = [(ky, kx, v) for ky in range(w["k_h"]) for kx in range(w["k_w"]) for v in range(w["inner"])]
            for number, (ky, kx, v) in enumerate(taps):
                words: list[int | None] = []
                for oy, ox in group:
                    iy = oy * w["s_y"] - w["pad_t"] + ky * w["d_y"]
                    ix = ox * w["s_x"] - w["pad_l"] + kx * w["d_x"]
                    row = w["i_off"] + oy * w["i_ys"] + ky * w["t_ys"]
                    row = row % w["i_ring"] if w["i_ring"] else row
                    inside = 0 <= iy < w["i_h"] and 0 <= ix < w["i_w"]
                    word = (w["i_addr"] + row + ix + shift + v * w["inner_step"]) % MOD
                    words.append(word if inside else None)
                words += [None] * (lanes - len(group))
                last = number == len(taps) - 1
                of_outer = last and g == len(groups) - 1
                found.append(Step(tuple(words), number == 0, last, of_outer, of_outer and outer == w["outer"] - 1))
    return found


def random_window(rng: random.Random) -> dict[str, int]:
    """A small walk; addresses anywhere, for the generator does not care what lies there."""
    ring = rng.choice([0, 0, rng.randint(1, 50)])
    within = ring or MOD
    return {
        "i_addr": rng.randrange(MOD), "i_ring": ring, "i_off": rng.randrange(ring or MOD),
        "i_ys": rng.randint(0, within if ring else within - 1), "t_ys": rng.randint(0, within if ring else within - 1),
        "i_h": rng.randint(1, 6), "i_w": rng.randint(1, 6), "pad_t": rng.randint(0, 3), "pad_l": rng.randint(0, 3),
        "s_y": rng.choice([1, 2, 15, 63]), "s_x": rng.choice([1, 1, 2, 63]), "k_h": rng.randint(1, 3), "k_w": rng.randint(1, 3),
        "d_y": rng.choice([1, 2, 63]), "d_x": rng.choice([1, 1, 2]), "o_h": rng.randint(1, 5), "o_w": rng.randint(1, 6),
        "outer": rng.randint(1, 4), "outer_period": rng.randint(0, 3), "outer_step": rng.randrange(MOD),
        "inner": rng.randint(1, 3), "inner_step": rng.randrange(MOD), "pad_value": rng.randint(-128, 127),
        "ticket": rng.randrange(1 << TICKET_BITS),
    }  # fmt: skip


def plain_window(**fields: int) -> dict[str, int]:
    """One output pixel of a 1x1 window; name what differs."""
    base = dict.fromkeys(
        ("i_addr", "i_ring", "i_off", "i_ys", "t_ys", "pad_t", "pad_l", "outer_period", "outer_step", "inner_step",
         "pad_value", "ticket"), 0,
    )  # fmt: skip
    ones = dict.fromkeys(("i_h", "i_w", "s_y", "s_x", "k_h", "k_w", "d_y", "d_x", "o_h", "o_w", "outer", "inner"), 1)
    return {**base, **ones, **fields}
