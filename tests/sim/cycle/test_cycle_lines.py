"""Units that have a line to the feature maps together: what the cycle model says of it, and the RTL."""

from __future__ import annotations

import numpy as np
import pytest

from isa.config import config_from_dict
from isa.instructions import Region
from sim.cycle.model import CycleModel
from sim.rtl.machine import RtlMachine
from tests.sim.cycle.cycle_programs import misc, whole

LINES = config_from_dict(
    {
        "base": "nano", "name": "lines", "ic_p": 8, "px_p": 2, "conv_finish": 8, "pool_finish": 4, "misc_lanes": 2,
        "fm_banks": 12, "fm_depth": 256, "axi_data_bits": 32, "shared_finish": False,
    },
    origin="test",
)  # fmt: skip
"""Half a word in a beat, a quarter of one in a cycle of MISC."""
BASES = {region: int(region) << 18 for region in Region}
APART = {"b_addr": 1024, "b_s3": 32, "b_s4": 1}
"""Operands and output in a bank group each."""


@pytest.fixture(scope="module")
def rtl() -> RtlMachine:
    return RtlMachine(LINES)


def test_reads_of_the_machine_have_a_line_together() -> None:
    assert LINES.ways.serial_reads


@pytest.mark.parametrize("words", [1, 2, 3, 5, 40, 128])
@pytest.mark.parametrize("mode", [0, 2], ids=["two operands", "one operand"])
def test_operands_on_one_line_cost_what_the_rtl_takes(words: int, mode: int, rtl: RtlMachine) -> None:
    program = whole([misc((), (), mode=mode, n3=1, n4=words, **(APART if mode == 0 else {}))] * 2, LINES)
    expected = rtl.run(program, np.zeros(1 << 20, np.uint8), BASES)
    assert CycleModel(LINES).run(program).cycles == expected.cycles
