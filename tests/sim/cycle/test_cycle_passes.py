"""ROW beside units that go first, beside a naive walk through its parts, cycle by cycle."""

from __future__ import annotations

import random

import numpy as np
import pytest

from isa.config import config_from_dict
from isa.instructions import BY_NAME, RowMode
from isa.stages import ROW_BEGIN, ROWS_HELD
from sim.cycle.passes import RowContest, RowPace, RowShape
from sim.cycle.rivals import Use, contended
from sim.cycle.rows import row_costs
from tests.sim.cycle.test_cycle_contest import ALL, pattern, taken


def naive(
    masks: tuple[list[int], list[int]], busy: tuple[list[int], list[int]], pace: RowPace, shape: RowShape, first: int
) -> int:  # fmt: skip
    """The cycle of the last write."""
    own, output = masks
    count, parts = len(own), shape.parts
    got: list[int] = []
    cut: list[int] = []
    sums: list[int] = []
    """When rows have their sums, and when they begin in both stages between the passes."""
    firsts: list[int] = []
    seconds: list[int] = []
    begun: list[int] = []
    written: list[int] = []
    now = first
    while len(written) < count:
        over = sum(begin + parts <= now for begin in begun) // shape.words
        free = sum(cycle < now for cycle in written)
        if len(written) < len(begun) and begun[len(written)] + shape.pipe <= now and not busy[1][now] & output[len(written)]:
            written.append(now)
        row = len(begun) // shape.words
        there = row < len(seconds) and seconds[row] + pace.prepared <= now
        if there and len(begun) - free < shape.room and (not begun or begun[-1] + parts <= now):
            begun.append(now)
        for starts, before, after, period in (
            (firsts, sums, 0, pace.first), (seconds, firsts, pace.second_after, pace.second),
        ):  # fmt: skip
            number = len(starts)
            if number < len(before) and before[number] + after <= now and (not starts or starts[-1] + period <= now):
                starts.append(now)
        word = len(cut)
        place = word % shape.words > 0 or word // shape.words - over < ROWS_HELD
        if word < len(got) and got[word] + 4 <= now and place and (not cut or cut[-1] + parts <= now):
            cut.append(now)
            if word % shape.words == shape.words - 1:
                sums.append(now + parts - 1 + pace.reduced)
        room = len(got) - sum(begin + parts <= now for begin in cut) < 8
        if len(got) < count and room and not busy[0][now] & own[len(got)]:
            got.append(now)
        now += 1
    return written[-1]


@pytest.mark.parametrize("name", ["nano", "base"])
@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_rows_wait_for_their_banks(seed: int, softmax: bool, name: str) -> None:
    config = config_from_dict({"base": name, "build_rows": True}, origin="test")
    rng = random.Random(seed)
    words, rows, banks = rng.choice([1, 5, 13]), rng.choice([1, 4, 11]), 4
    shape = RowShape.of(config, words)
    pace = RowPace.of(config, words * config.row_parts, softmax)
    own, output = ([1 << (begin + word) % banks for word in range(rows * words)] for begin in (0, rng.randrange(banks)))
    busy = pattern(rng, rng.choice([0.0, 0.3, 0.97]), banks), pattern(rng, rng.choice([0.0, 0.3, 0.97]), banks)
    masks = np.array(own, np.uint64), np.array(output, np.uint64)
    contest = RowContest((ALL, ALL), masks, pace, shape, 100, 0)
    until = 100
    while not contest.over:
        until += rng.randint(1, 200)
        contest.advance(until, lambda *span: taken(busy[0], *span), lambda *span: taken(busy[1], *span))
    assert contest.last_write == naive((own, output), busy, pace, shape, 100)


@pytest.mark.parametrize("mode", [RowMode.SOFTMAX, RowMode.NORMALISE])
@pytest.mark.parametrize(("rows", "words"), [(1, 1), (3, 7), (20, 2), (9, 60)])
def test_without_a_rival_it_takes_what_its_cost_says(mode: RowMode, rows: int, words: int) -> None:
    config = config_from_dict({"base": "base", "build_rows": True}, origin="test")
    values = dict.fromkeys(BY_NAME["ROW"].fields, 0) | {"n0": 1, "n1": rows, "words": words, "mode": mode.value, "a_cs": 1}
    (cost,) = row_costs(config, {name: np.array([value], np.int64) for name, value in values.items()})
    masks = np.ones(rows * words, np.uint64)
    contest = RowContest((ALL, ALL), (masks, masks), cost.pace, RowShape.of(config, words), ROW_BEGIN + 1, cost.cycles)
    assert contest.bound == cost.cycles
    contest.advance(cost.cycles, lambda *span: None, lambda *span: None)
    assert contest.over
    assert contest.last_write + 1 == cost.cycles


def test_both_operands_of_a_unit_that_goes_first_are_met() -> None:
    misc, row = Use(0b01, 0b01, 0b10), Use(0b10, 0b10)
    assert contended([misc, row], [0, 1], (0, 1)) == [(False, False), (True, False)]
