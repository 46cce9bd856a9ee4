"""Bursts and outstanding reads as the configuration has them: the AXI checker sees to it, and the cycle model knows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isa.config import MachineConfig, preset
from sim.cycle.model import CycleModel
from sim.random.engines import rtl, wrong_on_rtl
from sim.random.program import random_program
from sim.rtl.machine import RtlMachine
from tests.sim.cycle.cycle_programs import load, loadp, save, whole

NANO = preset("nano")
AXI3 = replace(NANO, name="axi3", axi_burst_beats=16, axi_reads=1)
LONG = replace(NANO, name="long", axi_burst_beats=256, axi_reads=3)


@pytest.fixture(scope="module", params=[AXI3, LONG], ids=lambda config: config.name)
def machine(request: pytest.FixtureRequest) -> RtlMachine:
    return RtlMachine(request.param, check=True, brief=True)


@pytest.mark.slow
def test_random_programs_keep_to_it(machine: RtlMachine) -> None:
    engine = rtl(machine, stalls=True)
    for seed in range(12):
        program = random_program(machine.config, seed)
        assert wrong_on_rtl(program, engine(program)) is None, seed


@pytest.mark.slow
def test_the_cycle_model_knows(machine: RtlMachine) -> None:
    words = whole([load(), loadp(count=500), load(rows=8), save(rows=8), loadp(count=100)], machine.config)
    expected = machine.run(words, np.zeros(1 << 20, np.uint8), {})
    assert CycleModel(machine.config).run(words).cycles == pytest.approx(expected.cycles, rel=0.025)


def test_short_bursts_one_at_a_time_cost_what_dram_takes_for_each() -> None:
    config: MachineConfig = AXI3
    words = whole([loadp(count=500)], config)
    per_burst = CycleModel(config).run(words).cycles / (1000 / 16)
    assert 16 + 64 < per_burst < 16 + 64 + 12
