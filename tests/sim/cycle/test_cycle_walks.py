"""Which banks an instruction asks for, step by step, beside a count word by word."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from isa.codec import Op
from isa.config import MachineConfig, config_from_dict, preset
from sim.cycle.costs import COSTS, MiscCost, MoveCost, WindowCost
from sim.cycle.walks import Banks, Kept, Masks, RoundWalk, Way
from tests.sim.cycle.cycle_programs import NANO, conv, load, misc, pool, save

BASE = replace(preset("base"), conv_finish=32, pool_finish=16)
AT_ONCE = replace(NANO, conv_finish=4, pool_finish=4)
"""No reduction is shorter than its drain."""
WIDE = config_from_dict({"base": "base", "name": "wide", "px_p": 4, "conv_finish": 32}, origin="test")


def window(op: Op, config: MachineConfig) -> WindowCost:
    found = COSTS[op.name](config, {name: np.array([op[name]]) for name in op.row.fields})[0]
    assert isinstance(found, WindowCost)
    return found


def bit(word: int, config: MachineConfig) -> int:
    phases = config.fm_phases
    return 1 << (word // phases // config.fm_depth * phases + word % phases) % 48


def shared(word: int, config: MachineConfig) -> int:
    """The phase in a shared way."""
    return 1 << 48 + word % config.fm_phases


def steps(op: Op, config: MachineConfig) -> list[int]:
    """The masks of a window instruction whose lanes do not meet, by the formula of docs/reference/semantics.md."""
    is_conv = op.name == "CONV"
    found = []
    for outer in range(op["chunks"] if is_conv else op["vectors"]):
        shift = 0 if is_conv else outer * op["i_cs"]
        for first in range(0, op["o_h"] * op["o_w"], config.px_p):
            for ky in range(op["k_h"]):
                for kx in range(op["k_w"]):
                    for v in range(op["vectors"] if is_conv else 1):
                        mask = 0
                        for pixel in range(first, min(first + config.px_p, op["o_h"] * op["o_w"])):
                            oy, ox = divmod(pixel, op["o_w"])
                            iy = oy * op["s_y"] - op["pad_t"] + ky * op["d_y"]
                            ix = ox * op["s_x"] - op["pad_l"] + kx * op["d_x"]
                            row = op["i_off"] + oy * op["i_ys"] + ky * op["t_ys"]
                            row = row % op["i_ring"] if op["i_ring"] else row
                            if 0 <= iy < op["i_h"] and 0 <= ix < op["i_w"]:
                                mask |= bit(op["i_addr"] + shift + row + ix + v * op["i_cs"], config)
                        found.append(mask)
    return found


@pytest.mark.parametrize("config", [AT_ONCE, BASE], ids=["nano", "base"])
@pytest.mark.parametrize("make", [conv, pool])
def test_windows_read_the_banks_of_their_taps(make: Callable[..., Op], config: MachineConfig) -> None:
    rng = random.Random(3)
    for _ in range(10):
        ring = rng.choice([0, 256])
        width = 32 if config is BASE else rng.choice([30, 32])  # At 30 lanes of base meet at the end of a row.
        op = make(
            i_addr=rng.randrange(1000), pad_t=rng.randrange(2), pad_l=rng.randrange(2), i_ring=ring,
            i_off=32 * rng.randrange(3), k_h=rng.randint(1, 3), k_w=3, vectors=rng.randint(1, 3),
            i_cs=rng.choice([256, 260]), o_w=width,
        )  # fmt: skip
        assert window(op, config).reads.masks().tolist() == steps(op, config)


def test_lanes_that_meet_take_a_step_each() -> None:
    """Stride 4 on four interleaved banks: both lanes are in one."""
    found = window(conv(s_x=4, k_h=1, k_w=1, vectors=1, chunks=1, o_h=1, o_w=2), BASE)
    assert found.reads.masks().tolist() == [1, 1]
    assert found.cycles == 2


def test_places_wait_for_the_parts_of_their_pixels() -> None:
    """Quarters of a pixel: a word in every fourth cycle."""
    machine = replace(BASE, conv_finish=4, pool_finish=8)
    places = window(conv(k_h=1, k_w=1, vectors=1, chunks=1, o_h=1, o_w=4, pad_l=0), machine).writes.masks().tolist()
    assert [mask != 0 for mask in places] == [False, False, False, True] * 4
    found = window(pool(k_h=1, k_w=1, vectors=1, o_h=1, o_w=4, pad_l=0), machine)
    assert [mask != 0 for mask in found.writes.masks().tolist()] == [False, True] * 4
    assert found.cycles == 8


def test_a_reduction_that_is_shorter_than_its_drain_rests() -> None:
    found = window(conv(k_h=1, k_w=1, vectors=1, chunks=1, o_h=1, o_w=8, pad_l=0), WIDE)
    assert found.cycles == 4
    assert [mask != 0 for mask in found.reads.masks().tolist()] == [True, False, True, False]


def test_results_are_written_port_by_port() -> None:
    found = window(conv(k_h=1, k_w=1, vectors=1, chunks=2, o_h=1, o_w=6, o_addr=0, o_cs=8), WIDE)
    masks = [sum(shared(word, WIDE) for word in words) for words in ((0, 1), (2, 3), (4, 5), ())]
    shifted = [sum(shared(word + 8, WIDE) for word in words) for words in ((0, 1), (2, 3), (4, 5), ())]
    assert found.writes.masks().tolist() == [*masks, *shifted]


def test_moves_and_operands_walk_in_nested_loops() -> None:
    moved = COSTS["LOAD"](BASE, {name: np.array([load(d_cs=5, run=32, step=32)[name]]) for name in load().row.fields})[0]
    assert isinstance(moved, MoveCost)
    assert moved.walk is not None
    assert moved.walk.masks().tolist()[:4] == [shared(word, BASE) for word in (0, 5, 1, 6)]
    added = COSTS["MISC"](BASE, {name: np.array([misc(mode=0, b_addr=3, b_s4=2)[name]]) for name in misc().row.fields})[0]
    assert isinstance(added, MiscCost)
    assert added.walks is not None
    _, other, _ = added.walks
    assert other is not None
    assert other.masks().tolist()[:3] == [bit(word, BASE) | shared(word, BASE) for word in (3, 5, 7)]


def test_on_one_line_operands_meet_each_other_and_save_takes_its_bank_alone() -> None:
    config = preset("zu2")
    line = 1 << 48
    op = misc(mode=0, a_addr=5, b_addr=3, b_s4=2)
    added = COSTS["MISC"](config, {name: np.array([op[name]]) for name in op.row.fields})[0]
    assert isinstance(added, MiscCost)
    assert added.walks is not None
    a, b, output = added.walks
    assert b is not None
    assert a.masks().tolist()[:2] == [bit(word, config) | line for word in (5, 6)]
    assert b.masks().tolist()[:2] == [bit(word, config) | line for word in (3, 5)]
    assert output.masks().tolist()[:2] == [shared(word, config) for word in (2048, 2049)]
    assert added.wait_bank == 0
    saved = save()
    moved = COSTS["SAVE"](config, {name: np.array([saved[name]]) for name in saved.row.fields})[0]
    assert isinstance(moved, MoveCost)
    assert moved.walk is not None
    assert moved.walk.masks().tolist()[:2] == [bit(word, config) for word in (0, 1)]


def test_an_unknown_walk_goes_round_its_groups() -> None:
    assert RoundWalk(Banks(2, 512), 0b101, 5).masks().tolist() == [1, 2, 16, 32, 1]
    assert RoundWalk(Banks(2, 512, Way.SHARED_WRITE), 0b101, 3).masks().tolist() == [1 << 48, 1 << 49, 1 << 48]
    assert RoundWalk(Banks(2, 512), 0, 2).masks().tolist() == [0, 0]


def test_masks_are_kept_by_their_bytes_the_last_asked_for_longest() -> None:
    made: list[int] = []

    def make(walk: RoundWalk) -> Masks:
        made.append(walk.count)
        return walk.masks()

    kept = Kept(8 * 30)
    walks = [RoundWalk(Banks(4, 16), 1, count) for count in (10, 12, 14)]
    for number in (0, 1, 0, 2, 0, 1):
        assert np.array_equal(kept.of(walks[number], make), walks[number].masks())
        assert kept.bytes <= kept.most_bytes
    assert made == [10, 12, 14, 12]
    kept.of(RoundWalk(Banks(4, 16), 1, 99), make)
    assert kept.bytes == 8 * 99


def test_masks_of_equal_walks_are_kept_once() -> None:
    """Whoever of them asks, before and after they were given up."""
    rng = random.Random(3)
    kept = Kept(8 * 30)
    walks = [RoundWalk(Banks(4, 16), 1, count) for count in (8, 8, 9, 9, 10, 10, 11)]
    for _ in range(500):
        walk = rng.choice(walks)
        assert np.array_equal(kept.of(walk, RoundWalk.masks), walk.masks())
        assert kept.bytes <= kept.most_bytes
    assert sum(masks.nbytes for masks in kept._masks.values()) == kept.bytes
    assert len(kept._masks) <= 3
