"""Work beside units that go first, beside a naive walk through the parts of the unit, cycle by cycle."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
import pytest

from isa.config import config_from_dict, preset
from sim.cycle.contest import Places, Side, WindowContest
from sim.cycle.geometry import Taps
from sim.cycle.lanes import lane_waits
from sim.cycle.trails import Record, Stretch, Trail, taken_by
from sim.cycle.walks import Banks, Masks, WindowWalk
from sim.cycle.words import ANSWER, Pace, WordContest

LONG = 1 << 14
ALL = 0b1


@dataclass(frozen=True)
class Given:
    """A walk that says its masks itself."""

    banks: tuple[int, ...]

    def masks(self) -> Masks:
        return np.array(self.banks, np.uint64)


def taken(busy: list[int], groups: int, first: int, end: int) -> Masks | None:
    found = np.array(busy[first:end], np.uint64)
    return found if found.any() else None


def pattern(rng: random.Random, rate: float, banks: int) -> list[int]:
    """Banks that somebody takes in some cycles, with long rests."""
    return [rng.randrange(1 << banks) if rng.random() < rate and cycle // 97 % 3 else 0 for cycle in range(LONG)]


def naive_window(masks: list[int], busy: list[int], first: int) -> list[int]:
    """The cycles in which steps are over: a lane that has its word keeps it."""
    done = []
    left, now = masks[0], first
    for step, mask in enumerate(masks):
        left = mask
        while True:
            left &= busy[now]
            now += 1
            if not left:
                break
        done.append(now - 1)
        assert len(done) == step + 1
    return done


@pytest.mark.parametrize("seed", range(12))
def test_a_window_goes_on_when_the_banks_of_its_step_are_free(seed: int) -> None:
    rng = random.Random(seed)
    per, lag, reductions, beats = 2, 20, 60, 9
    masks = [rng.randrange(16) for _ in range(reductions * beats)]
    # Of a pixel beyond the map nothing is written.
    places = [rng.randrange(seed < 6, 16) for _ in range(reductions * per)]
    busy, busy_writes = pattern(rng, 0.3, 4), pattern(rng, (0.0, 0.9, 0.2)[seed % 3], 4)
    reads: deque[Trail] = deque()
    writes: deque[Trail] = deque()
    target = Places(Side(ALL, Given(tuple(places)), writes), per, lag, True)
    contest = WindowContest(Side(ALL, Given(tuple(masks)), reads), reductions, 100, target)
    until = 100
    while not contest.over:
        until += rng.randint(1, 300)
        contest.advance(until, lambda *span: taken(busy, *span), lambda *span: taken(busy_writes, *span))
    done = naive_window(masks, busy, 100)
    assert contest.cycle == done[-1] + 1
    now = 0
    for number, mask in enumerate(places):
        left = mask
        now = max(now, done[number // per * beats + beats - 1] + lag + number % per)
        while left:
            left &= busy_writes[now]
            now += 1
    assert contest.last_write == now - 1
    wanted = taken_by([reads], ALL, 0, LONG)
    assert wanted is not None
    assert all(not mask or int(wanted[cycle]) & mask for mask, cycle in zip(masks, done, strict=True) if not busy[cycle] & mask)


def naive_words(
    masks: tuple[list[int], list[int] | None, list[int]], busy: list[int], busy_writes: list[int], first: int, pace: Pace
) -> tuple[int, int, tuple[int, int], int]:
    """MISC part by part: addresses, requests (4), answers (8), slices, pipeline, write port.

    Last write, last address asked for, the cycles after the last reads, and when another word's slices may begin.
    """
    own, other, output = masks
    count = len(own)
    asked, last_asked, written, last_write = 1, first - 1, 0, 0
    got_a: list[int] = []
    got_b: list[int] = []
    begun: list[int] = []
    now = first
    while written < count:
        n = len(begun)
        got_both = len(got_a), len(got_b) if other is not None else len(got_a)
        start = asked, *got_both, sum(begin + pace.parts <= now for begin in begun), written
        if written < n and begun[written] + pace.pipe <= now and not busy_writes[now] & output[written]:
            written, last_write = written + 1, now
        here = n < start[1] and got_a[n] + 4 <= now and (other is None or (n < start[2] and got_b[n] + 4 <= now))
        if n < count and here and n - start[4] < pace.room and (not begun or begun[-1] + pace.parts <= now):
            begun.append(now)
        wants = 0
        if start[1] < start[0] and start[1] - start[3] < 8:
            wants = own[start[1]]
            if not busy[now] & wants:
                got_a.append(now)
        if other is not None and start[2] < start[0] and start[2] - start[3] < 8 and not (busy[now] | wants) & other[start[2]]:
            got_b.append(now)
        if asked < count and start[0] - start[1] < 4 and start[0] - start[2] < 4:
            asked, last_asked = asked + 1, now
        now += 1
    read_over = got_a[-1] + 1, (got_b if other is not None else got_a)[-1] + 1
    return last_write, last_asked, read_over, begun[-1] + pace.parts


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_words_wait_for_their_banks_and_for_each_other(seed: int, two: bool, lanes: int) -> None:
    pace = Pace.of(config_from_dict({"base": "base", "misc_lanes": lanes}, origin="test"))
    rng = random.Random(seed)
    count, banks = rng.choice([1, 3, 40, 300]), 4
    start = [rng.randrange(banks) for _ in range(3)]
    own, other, output = ([1 << (begin + word) % banks for word in range(count)] for begin in start)
    busy, busy_writes = pattern(rng, rng.choice([0.0, 0.2, 0.9]), banks), pattern(rng, rng.choice([0.0, 0.2, 0.9]), banks)
    arrays = np.array(own, np.uint64), np.array(other, np.uint64) if two else None, np.array(output, np.uint64)
    contest = WordContest((ALL, ALL), arrays, (100, 100), pace)
    until = 100
    while not contest.over:
        until += rng.randint(1, 200)
        contest.advance(until, lambda *span: taken(busy, *span), lambda *span: taken(busy_writes, *span))
    expected = naive_words((own, other if two else None, output), busy, busy_writes, 100, pace)
    assert (contest.last_write, contest.last_asked, contest.read_over, contest.free) == expected


def test_the_bound_is_the_end_if_nobody_is_in_the_way() -> None:
    ones = np.ones(50, np.uint64)
    for lanes in (4, 16):
        pace = Pace.of(config_from_dict({"base": "base", "misc_lanes": lanes}, origin="test"))
        contest = WordContest((ALL, ALL), (ones, None, ones), (10, 10), pace)
        last = 10 + ANSWER + pace.pipe + 49 * pace.parts
        assert contest.bound == last + 1
        contest.advance(contest.bound, lambda *span: None, lambda *span: None)
        assert contest.over
        assert contest.last_write == last


def test_stretches_and_records_say_what_is_taken_in_a_cycle() -> None:
    walk = Given((1, 2, 4, 8))
    assert taken_by([[Stretch(10, 14, ALL, walk)]], ALL, 11, 14) is not None
    found = taken_by([[Stretch(10, 14, ALL, walk, skip=1)]], ALL, 9, 13)
    assert found is not None
    assert found.tolist() == [0, 2, 4, 8]
    bunched = taken_by([[Stretch(10, 30, ALL, walk, 2, 6.0)]], ALL, 10, 20)
    assert bunched is not None
    assert bunched.tolist() == [1, 2, 0, 0, 0, 0, 4, 8, 0, 0]
    record = Record(10, 20, ALL, np.array([12, 19]), np.array([3, 5], np.uint64))
    both = taken_by([[record], [Stretch(12, 13, ALL, walk, skip=2)]], ALL, 12, 20)
    assert both is not None
    assert both.tolist() == [7, 0, 0, 0, 0, 0, 0, 5]
    assert taken_by([[record]], 0b10, 0, 100) is None
    assert taken_by([[record]], ALL, 20, 100) is None


def test_lanes_in_one_phase_take_turns_in_whatever_bank_groups() -> None:
    """At a ring's end one lane is in the last bank group and one in the first: ``lane_waits`` and the walk count a wait."""
    taps = Taps(2, 2, 111, 1, 1, 1, 1, 1, 1, 90, 111, 0, 0, 1110, 111, 111, 1221)
    walk = WindowWalk(Banks(4, 512), taps, 0, 2, 1222, 1, 0, 0, 2)
    config = replace(preset("base"), fm_banks=32, fm_depth=512)
    fields = (getattr(taps, name) for name in Taps._fields if name != "lanes")
    assert (config.fm_phases, config.px_p) == (4, 2)
    assert len(walk.masks()) == 111 * 2 + 2 * lane_waits(config, *fields) > 111 * 2
    contest = WindowContest(Side(ALL, walk, deque()), 111, 100, None)
    contest.advance(1000, lambda *span: taken([0] * LONG, *span), lambda *span: taken([0] * LONG, *span))
    assert contest.cycle == 100 + len(walk.masks())
