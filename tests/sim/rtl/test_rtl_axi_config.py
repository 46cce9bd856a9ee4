"""Bursts, outstanding reads and ports as the configuration has them: the AXI checker sees to it, and the cycle model knows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isa.config import MachineConfig, preset
from sim.cycle.model import CycleModel
from sim.random.engines import rtl, rtl_machine, wrong_on_rtl
from sim.random.program import random_program
from sim.rtl.machine import RtlMachine
from sim.rtl.memory import Dram
from tests.sim.cycle.cycle_programs import load, loadp, save, whole

NANO = preset("nano")
AXI3 = replace(NANO, name="axi3", axi_burst_beats=16, axi_reads=1)
LONG = replace(NANO, name="long", axi_burst_beats=256, axi_reads=3)
TWO_PORTS = replace(NANO, name="two_ports", axi_ports=2)
FAR = replace(NANO, name="far", axi_read_ahead=512)


@pytest.fixture(scope="module", params=[AXI3, LONG, TWO_PORTS, FAR], ids=lambda config: config.name)
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


@pytest.mark.slow
def test_ports_share_what_dram_has() -> None:
    """As long as all bytes take, where they are few; where they are not, no longer than when directions take turns."""
    words = whole([loadp(count=500), load(rows=8), save(rows=8)], TWO_PORTS)
    memory = np.zeros(1 << 20, np.uint8)
    alone = rtl_machine(TWO_PORTS).run(words, memory, {})
    told = {total: rtl_machine(TWO_PORTS).run(words, memory, {}, dram=Dram(total=total)) for total in (2, 8, 64)}
    moved = (alone.read_beats + alone.write_beats) * TWO_PORTS.axi_bytes
    assert told[2].cycles >= moved / 2
    assert told[2].cycles > told[8].cycles >= told[64].cycles
    assert told[64].cycles <= alone.cycles
    assert all((found.memory == alone.memory).all() for found in told.values())
