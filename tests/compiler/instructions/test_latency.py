"""What the compiler reckons with beside what the cycle model says of single instructions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.instructions.latency import AFTER, AFTER_LOAD, START_AND_DRAIN, TAIL, UNTIL_TAKEN, least_of_a_pass
from isa.codec import Op
from isa.config import preset
from isa.instructions import Unit
from sim.cycle.model import CycleModel
from sim.cycle.timing import Timing, drain_of, pool_drain_of
from sim.rtl.memory import READ_LATENCY
from tests.sim.cycle.cycle_programs import NANO, conv, load, pool, whole


def taken(op: Op) -> int:
    """By an instruction alone, from acceptance to done."""
    (found,) = (each.finish - each.start for each in CycleModel(NANO).run(whole([op])).trace if each.finish is not None)
    return found


@pytest.mark.parametrize("words", [64, 128])
def test_a_load_is_there_so_long_after_it_could_have_been(words: int) -> None:
    assert taken(load(rows=words // 64)) == words + AFTER_LOAD
    assert AFTER_LOAD > READ_LATENCY


def test_no_unit_starts_and_drains_faster() -> None:
    """POOL about as fast as CONV; in presets with more lanes and stages both take longer."""
    assert taken(conv()) - 2160 == START_AND_DRAIN <= taken(pool()) - 1080 < START_AND_DRAIN + 5
    ends = {name: Timing.of(preset(name)).conv_done + drain_of(preset(name)).last for name in ("nano", "base", "zu2", "zu9")}
    assert min(ends, key=ends.__getitem__) == "nano"


@pytest.mark.parametrize("name", ["nano", "base", "zu2", "zu9"])
def test_one_number_stands_for_the_ends_of_all_pipelines(name: str) -> None:
    config = preset(name)
    timing = Timing.of(config)
    tails = timing.conv_done + drain_of(config).last, timing.pool_done + pool_drain_of(config).last
    assert max(tails) < AFTER < min(tails) + 15
    assert name != "base" or tails[0] == TAIL == UNTIL_TAKEN[Unit.CONV]


def test_a_pass_is_never_told_to_take_more_than_the_walk_says() -> None:
    """The walk has a load's latency before the first beat, and once more behind the last task."""
    assert READ_LATENCY < least_of_a_pass(NANO) < 2 * AFTER_LOAD
    quick, slow = (least_of_a_pass(replace(NANO, dram_latency=latency)) for latency in (1, 400))
    assert quick == START_AND_DRAIN
    assert slow == least_of_a_pass(NANO)
