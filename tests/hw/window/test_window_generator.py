"""WindowGenerator against the formulas of docs/reference/semantics.md, step by step."""

from __future__ import annotations

import random
from typing import Any

import pytest

from hw.window.generator import WindowGenerator
from tests.hw.window.window_bench import run_walks
from tests.hw.window.window_reference import CONFIG, Step, plain_window, random_window, steps


def step_of(payload: Any) -> Step:
    words = tuple(lane.addr if lane.read else None for lane in payload.lanes)
    flags = (payload.first, payload.last, payload.last_of_outer, payload.last_of_instruction)
    return Step(words, *(bool(flag) for flag in flags))


def run(walks: list[dict[str, int]], lanes: int, stall: float = 0.0) -> tuple[list[Step], list[int]]:
    """The steps that come out, and the cycle of each."""
    expected = sum(len(steps(walk, lanes)) for walk in walks)
    return run_walks(WindowGenerator(CONFIG, lanes), walks, step_of, expected, stall)


@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_random_walks(lanes: int, stall: float) -> None:
    rng = random.Random(lanes)
    walks = [random_window(rng) for _ in range(12)]
    got, _ = run(walks, lanes, stall)
    assert got == [s for w in walks for s in steps(w, lanes)]


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_a_step_in_every_cycle_also_between_instructions(lanes: int) -> None:
    """1x1 windows of one vector change the pixel group in every cycle; rows of one pixel wrap every lane."""
    walks = [
        plain_window(o_h=9, o_w=7, i_h=9, i_w=7, i_ys=7, i_off=3, outer=2),
        plain_window(o_h=40, o_w=1, i_h=40, i_ys=5, i_ring=11, outer=2, outer_period=1, outer_step=100),
        plain_window(o_h=3, o_w=5, i_h=5, i_w=7, k_h=3, k_w=3, i_ys=7, t_ys=7, inner=2, inner_step=50, pad_t=1, pad_l=1),
        plain_window(o_h=6, o_w=6, i_h=12, i_w=12, s_x=2, s_y=2),
    ]
    got, cycles = run(walks, lanes)
    assert got == [s for w in walks for s in steps(w, lanes)]
    assert cycles == list(range(cycles[0], cycles[0] + len(cycles)))


@pytest.mark.parametrize(("lanes", "latency"), [(1, 9), (2, 9), (4, 10)])
def test_latency_to_the_first_step(lanes: int, latency: int) -> None:
    _, cycles = run([plain_window(o_w=5)], lanes)
    assert cycles[0] == latency
