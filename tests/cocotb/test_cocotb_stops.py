"""Programs stopped in hundreds of cycles, and one that runs after each: nothing of the first may be left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isa.config import MachineConfig, preset
from sim.rtl.benches import PLAYS_SCENARIO
from sim.rtl.regress import run_scenario
from sim.rtl.stops import aborts
from tests.cocotb.test_cocotb_benches import SMALL

NANO = preset("nano")
OTHERS = SMALL, replace(NANO, name="two_ports", axi_ports=2)
CASES = [
    *((NANO, seed) for seed in (10, 12)), *(pytest.param(NANO, seed, marks=pytest.mark.slow) for seed in (11, 13, 14)),
    *(pytest.param(config, seed, marks=pytest.mark.slow) for config in OTHERS for seed in range(2)),
]


@pytest.mark.parametrize(("config", "seed"), CASES, ids=lambda value: getattr(value, "name", str(value)))
def test_a_stopped_program_leaves_nothing_to_the_next(config: MachineConfig, seed: int) -> None:
    (scenario,) = aborts(config, ((seed, seed % 3 > 0),))
    assert run_scenario(PLAYS_SCENARIO, scenario, "verilator") is None
