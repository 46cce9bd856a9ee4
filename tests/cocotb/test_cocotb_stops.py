"""Programs stopped in hundreds of cycles, and one that runs after each: nothing of the first may be left."""

from __future__ import annotations

import pytest

from isa.config import MachineConfig, preset
from sim.rtl.benches import PLAYS_SCENARIO
from sim.rtl.regress import run_scenario
from sim.rtl.stops import aborts
from tests.cocotb.test_cocotb_benches import SMALL

NANO = preset("nano")
CASES = [
    *((NANO, seed) for seed in (10, 12)),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in [(NANO, 11), (NANO, 13), (NANO, 14), (SMALL, 0), (SMALL, 1)]),
]


@pytest.mark.parametrize(("config", "seed"), CASES, ids=lambda value: getattr(value, "name", str(value)))
def test_a_stopped_program_leaves_nothing_to_the_next(config: MachineConfig, seed: int) -> None:
    (scenario,) = aborts(config, ((seed, seed % 3 > 0),))
    assert run_scenario(PLAYS_SCENARIO, scenario, "verilator") is None
