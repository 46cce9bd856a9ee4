"""Programs that are stopped in random cycles on random memories, and what comes after them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isa.config import MachineConfig, preset
from isa.instructions import Region, Unit
from sim.random.engines import rtl_machine
from sim.rtl.build import core_verilog
from sim.rtl.machine import RtlMachine
from sim.rtl.play import PATTERNS, play, register_file
from sim.rtl.scenario import Scenario, token, whole
from sim.rtl.stops import MOST_SLOTS, SETTING, STORM, storm

NANO = preset("nano")
TWO_PORTS = replace(NANO, name="two_ports", axi_ports=2)
CASES = [
    *((NANO, seed) for seed in range(6)),
    *(pytest.param(TWO_PORTS, seed, marks=[pytest.mark.slow] if seed > 1 else []) for seed in range(40)),
]


@pytest.mark.parametrize(("config", "seed"), CASES, ids=lambda value: getattr(value, "name", str(value)))
def test_what_comes_after_a_stop_is_right(config: MachineConfig, seed: int) -> None:
    scenario, counts = storm(config, seed)
    assert set(counts) <= set(STORM)
    assert counts.total() == len(scenario.starts) // 2 <= MOST_SLOTS
    assert play(rtl_machine(config), scenario, 2_000_000) is None


def test_the_registers_answer_as_they_are_written() -> None:
    """The set-up keeps what is written last, but for bits that it has not; accesses beyond the last register are refused."""
    lines = register_file(rtl_machine(NANO)).splitlines()
    assert lines[-1] == "end"
    read = [tuple(int(number, 16) for number in line.split()) for line in lines[:-1] if not line.startswith("refused")]
    kept = {offset: [value for place, value in read if place == offset] for offset in SETTING}
    for register, values in kept.items():
        assert [value & PATTERNS[0] for value in values] == [pattern & values[0] for pattern in PATTERNS], register
        assert values[0] or register.name.endswith("_HI"), "nano has addresses of 32 bits"
    assert any(line.startswith("refused") for line in lines)


@pytest.mark.slow
def test_an_interrupt_stays_until_it_is_cleared() -> None:
    verilog = core_verilog(NANO)
    pending = "{ 3'h0, irq_pending }"
    assert verilog.count(pending) == 1
    broken = RtlMachine(NANO, verilog=verilog.replace(pending, "4'h0"), brief=True)
    scenario = Scenario(NANO, np.zeros(4096, np.uint8), dict.fromkeys(Region, 0))
    scenario.start(whole(NANO, token(Unit.LOAD)))
    assert play(broken, scenario, 20_000) == "the interrupt did not stay until it was cleared"
