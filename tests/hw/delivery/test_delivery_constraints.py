"""Constraints: the preset's clock, in the words of its chip's tools."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hw.delivery.constraints import constraints
from isa.chips import CHIPS
from isa.config import preset

NANO = preset("nano")


@pytest.mark.parametrize(
    ("chip", "suffix", "line"),
    [
        ("LFE5U-25F", "lpf", 'FREQUENCY PORT "clk" 300 MHZ;'),
        ("XC7Z020", "xdc", "create_clock -name clk -period 3.333 [get_ports clk]"),
        ("XCZU2EG", "xdc", "create_clock -name clk -period 3.333 [get_ports clk]"),
        ("", "sdc", "create_clock -name clk -period 3.333 [get_ports clk]"),
    ],
)
def test_the_clock_in_the_words_of_the_tools(chip: str, suffix: str, line: str) -> None:
    found, text = constraints(replace(NANO, chip=chip, clock_mhz=300))
    assert found == suffix
    assert text.splitlines()[-1] == line
    assert all(comment.startswith("# ") for comment in text.splitlines()[:-1])


@pytest.mark.parametrize(
    ("chip", "lines"),
    [
        ("LFE5U-25F", ['FREQUENCY PORT "clk" 330 MHZ;', 'FREQUENCY PORT "clk2x" 660 MHZ;']),
        (
            "XCZU2EG",
            [
                "create_clock -name clk2x -period 1.515 [get_ports clk2x]",
                "create_generated_clock -name clk -source [get_ports clk2x] -divide_by 2 [get_ports clk]",
            ],
        ),
    ],
)
def test_the_slower_of_two_clocks_is_derived_from_the_faster(chip: str, lines: list[str]) -> None:
    _, text = constraints(replace(NANO, chip=chip, clock_mhz=330, dsp_packing=True, array_clock=2))
    assert text.splitlines()[-2:] == lines


@pytest.mark.parametrize("chip", CHIPS)
def test_every_chip_has_them(chip: str) -> None:
    assert constraints(replace(NANO, chip=chip))[1]
