"""Machines whose array has a clock of its own: the same results as with one clock, on every bench."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hw.delivery.files import arrange
from hw.delivery.style import MODULE, Style
from isa.config import MachineConfig, config_from_dict, preset
from sim.functional.machine import FunctionalMachine
from sim.random.program import random_program
from sim.rtl.benches import PLAYS_SCENARIO
from sim.rtl.build import core_verilog
from sim.rtl.machine import RtlMachine
from sim.rtl.regress import run_scenario
from sim.rtl.scenario import Scenario
from tests.tools import needs

SMALL = {
    "base": "nano", "name": "by-turns", "ic_p": 6, "oc_p": 4, "px_p": 2, "conv_finish": 4, "misc_lanes": 2, "fm_banks": 16,
    "dsp_packing": True,
}  # fmt: skip


def config(array_clock: int) -> MachineConfig:
    return config_from_dict({**SMALL, "array_clock": array_clock}, origin="test")


def test_only_a_doubled_array_has_a_second_clock() -> None:
    for c, found in ((preset("nano"), 0), (config(2), 1)):
        files = arrange(core_verilog(c), c, Style())
        header = files[f"{MODULE}.v"].split(f"module {MODULE} (")[1].split(");")[0]
        assert len(re.findall(r"input +wire clk2x", header)) == found
        assert files[f"{MODULE}_template.vh"].count(".clk2x") == found
        assert files[f"{MODULE}.lpf"].count('PORT "clk2x"') == found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["verilator", "garbage", pytest.param("icarus", marks=needs("iverilog"))])
def test_random_programs_run_as_they_do_on_one_clock(kind: str) -> None:
    """Programs are those of the machine with one clock: they need no other."""
    c = config(2)
    assert c.hash == config(1).hash
    machine = RtlMachine(c, "icarus" if kind == "icarus" else "verilator", garbage=kind == "garbage", brief=True)
    for seed in range(2 if kind == "icarus" else 12):
        program = random_program(config(1), seed, size=6)
        expected = program.memory.copy()
        FunctionalMachine(c).run(program.words, expected, program.bases)
        result = machine.run(program.words, program.memory.copy(), program.bases, stalls_seed=seed % 3 or None)
        np.testing.assert_array_equal(result.memory[: len(expected)], expected)


@needs("iverilog")
def test_cocotb_drives_both_clocks() -> None:
    c = config(2)
    program = random_program(c, 3, size=6)
    scenario = Scenario(c, program.memory.copy(), program.bases, None)
    scenario.start(program.words)
    assert run_scenario(PLAYS_SCENARIO, scenario, "icarus", None, 100_000) is None
    assert "posedge clk2x" in core_verilog(c)
