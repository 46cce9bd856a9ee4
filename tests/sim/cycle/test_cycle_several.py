"""POOL's steps of several taps, beside a count tap by tap."""

from __future__ import annotations

import random
from itertools import chain

import numpy as np
import pytest

from isa.codec import Op
from isa.config import MachineConfig, config_from_dict
from sim.cycle.costs import COSTS, WindowCost
from sim.cycle.several import several_steps, spread
from tests.sim.cycle.cycle_programs import pool


def machine(px_p: int, taps: int) -> MachineConfig:
    values = {"base": "nano", "px_p": px_p, "pool_taps": taps, "fm_banks": 16, "pool_finish": 4, "conv_finish": 4}
    return config_from_dict(values, origin="test")


def cost(op: Op, config: MachineConfig) -> WindowCost:
    found = COSTS["POOL"](config, {name: np.array([op[name]]) for name in op.row.fields})[0]
    assert isinstance(found, WindowCost)
    return found


def naive(op: Op, config: MachineConfig) -> list[list[set[int]]]:
    """For each pixel group and step, the words that are read; of one channel vector."""
    most, lanes = config.pool_taps, config.px_p
    found = []
    for first in range(0, op["o_h"] * op["o_w"], lanes):
        pixels = [divmod(n, op["o_w"]) for n in range(first, first + lanes)]
        beside = len({oy for oy, _ in pixels}) == 1 and pixels[-1][0] < op["o_h"] and op["d_x"] == 1
        at_once = most if beside and (op["s_x"] == 1 or lanes == 1) else 2 if most > lanes else 1
        steps = []
        for ky in range(op["k_h"]):
            for start in range(0, op["k_w"], at_once):
                taps = range(start, min(start + at_once, op["k_w"]))
                steps.append({word for kx in taps for oy, ox in pixels for word in words(op, oy, ox, ky, kx)})
        found.append(steps)
    return found


def words(op: Op, oy: int, ox: int, ky: int, kx: int) -> list[int]:
    """The word of a tap, if it is not padding."""
    iy = oy * op["s_y"] - op["pad_t"] + ky * op["d_y"]
    ix = ox * op["s_x"] - op["pad_l"] + kx * op["d_x"]
    row = op["i_off"] + oy * op["i_ys"] + ky * op["t_ys"]
    row = row % op["i_ring"] if op["i_ring"] else row
    return [row + ix] if oy < op["o_h"] and 0 <= iy < op["i_h"] and 0 <= ix < op["i_w"] else []


@pytest.mark.parametrize(("px_p", "taps"), [(2, 3), (2, 2), (1, 3), (3, 2), (3, 4), (4, 3)])
def test_steps_read_the_words_of_their_taps(px_p: int, taps: int) -> None:
    rng = random.Random(px_p * taps)
    config = machine(px_p, taps)
    for _ in range(12):
        op = pool(
            mode=2, k_h=rng.randint(1, 3), k_w=rng.randint(2, 7), s_x=rng.randint(1, 3), d_x=rng.randint(1, 2),
            pad_l=rng.randrange(3), pad_t=rng.randrange(2), o_h=rng.randint(1, 4), o_w=rng.randint(1, 9),
            i_w=rng.randint(4, 12), i_off=rng.randrange(9), i_ring=rng.choice([0, 60]), i_ys=13, t_ys=13, vectors=2,
        )  # fmt: skip
        expected = naive(op, config)
        found = cost(op, config)
        steps = several_steps(found.reads.taps, config.pool_taps)
        assert [set(row[read].tolist()) for row, read in zip(steps.words, steps.read, strict=True)] == list(chain(*expected))
        assert steps.counts.tolist() == [len(group) for group in expected]
        assert found.active == 2 * sum(map(len, expected))


def test_a_maximum_takes_one_tap_at_a_time() -> None:
    assert cost(pool(mode=0, k_h=3, k_w=3, vectors=1, o_h=2, o_w=4), machine(2, 3)).active == 36


def test_two_pixels_of_three_taps_take_a_cycle_for_each_kernel_row() -> None:
    """Four neighbouring words; at stride 2 they serve two taps of each pixel."""
    op = pool(mode=2, vectors=1, o_h=2, o_w=8)
    assert cost(op, machine(2, 3)).cycles == 8 * 3
    assert cost(pool(mode=2, vectors=1, o_h=2, o_w=8, s_x=2), machine(2, 3)).cycles == 8 * 6


def test_short_groups_rest() -> None:
    assert spread(np.array([1, 3, 2]), 2).tolist() == [0, 2, 3, 4, 5, 6]
