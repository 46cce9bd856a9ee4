"""Sums of products as instances of DSP48E2: the same machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hw.delivery.style import MODULE
from hw.emit import EmitError, verilog
from isa.config import config_from_dict, preset
from isa.latency import pool_by_turns
from sim.functional.machine import FunctionalMachine
from sim.random.program import random_program
from sim.rtl.machine import RtlMachine
from sim.synthesis.design import split_design

MODEL = (Path(__file__).parent / "dsp48e2.v").read_text()
PAIRS = {
    "pixels, two cascades": {
        "ic_p": 9, "oc_p": 3, "px_p": 2, "conv_finish": 3, "pool_finish": 3, "misc_lanes": 3, "pool_taps": 3, "fm_banks": 16,
    },
    "channels": {"ic_p": 4, "oc_p": 4, "px_p": 1},
    "pixels by turns": {
        "ic_p": 9, "oc_p": 4, "px_p": 2, "conv_finish": 4, "pool_finish": 3, "misc_lanes": 3, "fm_banks": 16, "array_clock": 2,
    },
    "channels by turns": {"ic_p": 4, "oc_p": 4, "px_p": 1, "array_clock": 2},
    "pixels, and taps, by turns": {
        "ic_p": 6, "oc_p": 4, "px_p": 2, "conv_finish": 4, "pool_finish": 3, "pool_taps": 2, "misc_lanes": 3, "fm_banks": 16,
        "array_clock": 2, "dsp_adders": True,
    },
    "products of rows": {"ic_p": 4, "oc_p": 4, "px_p": 1, "build_rows": True, "row_lanes": 2},
    "adders, too": {"ic_p": 4, "oc_p": 6, "px_p": 2, "conv_finish": 3, "fm_banks": 8, "dsp_adders": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("pairs", PAIRS)
def test_random_programs_on_cascades_of_dsps(pairs: str) -> None:
    config = config_from_dict({"base": "nano", "dsp_packing": True, **PAIRS[pairs]}, origin="test")
    text = verilog(config, dsp48e2=True)
    modules = split_design(text).modules
    assert modules[f"{MODULE}_conv_array"].text.count("DSP48E2") == config.macs_per_cycle // 2 // config.array_clock
    packed = config.pool_taps * -(-config.px_p // 2)
    of_pool = config.ic_p * (config.px_p if pool_by_turns(config) else packed)
    assert modules[f"{MODULE}_pool_reduce"].text.count("DSP48E2") == of_pool
    lane = next(module for name, module in modules.items() if name.endswith("_post_lane_0"))
    assert lane.text.count("DSP48E2") == 2 // config.array_clock + config.dsp_adders
    adders = config.dsp_adders * (config.oc_p * config.px_p + config.conv_finish)
    assert modules[f"{MODULE}_conv_accumulate"].text.count("DSP48E2") == adders
    if config.build_rows:
        assert modules[f"{MODULE}_row_emit_results"].text.count("DSP48E2") == 4 * config.row_lanes
    machine = RtlMachine(config, verilog=text + MODEL, brief=True)
    for seed in range(6):
        program = random_program(config, seed, size=6)
        expected = program.memory.copy()
        FunctionalMachine(config).run(program.words, expected, program.bases)
        result = machine.run(program.words, program.memory.copy(), program.bases)
        np.testing.assert_array_equal(result.memory[: len(expected)], expected)


def test_a_machine_without_cascades_has_none_to_place() -> None:
    with pytest.raises(EmitError, match="'nano': has no cascades"):
        verilog(preset("nano"), dsp48e2=True)
