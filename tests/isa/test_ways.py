"""Which machines share ways."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isa.config import MachineConfig, preset

ZU9 = preset("zu9")
NANO, BASE = preset("nano"), preset("base")


def test_a_machine_of_one_phase_shares_no_way_but_that_of_slow_writers() -> None:
    ways = NANO.ways
    assert (ways.shared, ways.slow_writers, ways.serial_reads) == (False, True, False)
    assert not replace(NANO, conv_finish=4, pool_finish=4).ways.slow_writers


@pytest.mark.parametrize(
    ("config", "serial"),
    [
        (BASE, False),  # SAVE alone reads a word per cycle.
        (preset("zu2"), True),  # Two thirds and one third.
        (ZU9, True),  # A half each.
        (replace(ZU9, axi_data_bits=256), False),
        (replace(ZU9, misc_lanes=16), False),
        (replace(ZU9, build_misc=False), False),
    ],
)
def test_reads_are_serial_where_save_and_both_operands_ask_for_a_word_in_a_cycle(config: MachineConfig, serial: bool) -> None:
    assert config.ways.shared
    assert config.ways.serial_reads == serial


def test_machines_without_rows_may_be_narrower_than_row_lanes() -> None:
    narrow = replace(NANO, ic_p=2)
    assert narrow.row_lanes > narrow.ic_p
    assert not narrow.ways.shared
