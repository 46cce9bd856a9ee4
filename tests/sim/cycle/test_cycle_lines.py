"""Units that have a line to the feature maps together: what the cycle model says of it, and the RTL."""

from __future__ import annotations

import pytest

from isa.codec import Op
from isa.config import config_from_dict
from isa.instructions import Unit
from sim.cycle.model import CycleModel
from sim.rtl.machine import RtlMachine
from tests.sim.cycle.cycle_programs import load, misc, save, traced, whole

LINES = config_from_dict(
    {
        "base": "nano", "name": "lines", "ic_p": 8, "px_p": 2, "conv_finish": 8, "pool_finish": 4, "misc_lanes": 2,
        "fm_banks": 12, "fm_depth": 256, "axi_data_bits": 32, "shared_finish": False,
    },
    origin="test",
)  # fmt: skip
"""Half a word in a beat, a quarter of one in a cycle of MISC; four lanes that write."""
APART = {"b_addr": 1024, "b_s3": 32, "b_s4": 1}
"""Operands and output in a bank group each."""


@pytest.fixture(scope="module")
def rtl() -> RtlMachine:
    return RtlMachine(LINES, brief=True)


def test_reads_and_writes_of_the_machine_have_lines_together() -> None:
    assert LINES.ways.serial_reads


@pytest.mark.slow
@pytest.mark.parametrize("words", [1, 2, 3, 5, 40, 128])
@pytest.mark.parametrize("mode", [0, 2], ids=["two operands", "one operand"])
def test_operands_on_one_line_cost_what_the_rtl_takes(words: int, mode: int, rtl: RtlMachine) -> None:
    program = whole([misc((), (), mode=mode, n3=1, n4=words, **(APART if mode == 0 else {}))] * 2, LINES)
    expected = traced(rtl, program)
    assert CycleModel(LINES).run(program).cycles == expected.cycles


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "words"), [(Unit.SAVE, 256), (Unit.LOAD, 128)])
def test_short_words_and_misc_take_turns(unit: Unit, words: int, rtl: RtlMachine) -> None:
    """Pixels of one channel: the mover has a word for every cycle. MISC is as fast as without it, and the mover gives away no
    more cycles than MISC has ``words`` on its line. Of that the model knows the first."""
    short = {"run": 1, "step": 1, "pixels": 512, "row_stride": 512}
    move = save((), (), **short, s_addr=2048) if unit is Unit.SAVE else load((), (), **short, valid=512)
    add = misc((), (), mode=0, **APART)

    def spans(*ops: Op) -> dict[int, int]:
        events = traced(rtl, whole(ops, LINES)).trace
        return {event.unit: event.finish - event.start for event in events if event.finish is not None}

    together = spans(move, add)
    assert together[Unit.MISC] <= spans(add)[Unit.MISC] + 8
    assert spans(move)[unit] < together[unit] <= spans(move)[unit] + words + 8
    found = next(event for event in CycleModel(LINES).run(whole([move, add], LINES)).trace if event.unit == Unit.MISC)
    assert found.finish is not None
    assert found.finish - found.start == pytest.approx(together[Unit.MISC], rel=0.02)
