"""Programs that are stopped in random cycles on random memories, and what comes after them."""

from __future__ import annotations

import pytest

from isa.config import preset
from sim.random.engines import rtl_machine
from sim.rtl.play import play
from sim.rtl.stops import MOST_SLOTS, STORM, storm

NANO = preset("nano")


@pytest.mark.parametrize("seed", range(6))
def test_what_comes_after_a_stop_is_right(seed: int) -> None:
    scenario, counts = storm(NANO, seed)
    assert set(counts) <= set(STORM)
    assert counts.total() == len(scenario.starts) // 2 <= MOST_SLOTS
    assert play(rtl_machine(NANO), scenario, 2_000_000) is None
