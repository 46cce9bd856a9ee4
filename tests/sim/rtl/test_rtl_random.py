"""Random programs with random stalls: the generated Verilog leaves the same memory as the functional simulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from isa.config import MachineConfig, preset
from sim.random.fuzz import run_fuzz
from tests.tools import needs

SLICES = 6
QUICK = 2


@pytest.mark.parametrize(
    "part", [part if part < QUICK else pytest.param(part, marks=pytest.mark.slow) for part in range(SLICES)]
)
def test_three_hundred_programs_on_nano(part: int, tmp_path: Path) -> None:
    report = run_fuzz(preset("nano"), part * 50, 300 // SLICES, directory=tmp_path)
    assert report.ok, report.failures
    assert report.cycles > 50 * 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ulx3s", "pynq", "base", "k26", "zu2", "zu9"])
def test_twenty_programs(name: str, tmp_path: Path) -> None:
    report = run_fuzz(preset(name), 0, 20, directory=tmp_path)
    assert report.ok, report.failures


NANO_ROWS = replace(preset("nano"), name="nano_rows", build_rows=True, row_words=16)
PHASES_ROWS = replace(
    NANO_ROWS, name="phases_rows", ic_p=6, row_lanes=2, oc_p=4, px_p=2, conv_finish=4, pool_finish=3, misc_lanes=2, fm_banks=8,
)  # fmt: skip
"""ROW shares its way to the feature maps with SAVE and MISC."""

NANO_PRODUCTS = replace(preset("nano"), name="nano_products", build_products=True)
HALF_CHUNKS = replace(
    NANO_PRODUCTS, name="half_chunks", ic_p=6, oc_p=3, px_p=2, fm_banks=8, conv_finish=3, pool_finish=2, misc_lanes=2,
    axi_data_bits=32, build_rows=True, row_lanes=2, row_words=16,
)  # fmt: skip
"""LOADW writes two chunks from a word, and half a record at a time."""

NANO_LONG = replace(preset("nano"), name="nano16", act16=True)
WORDS_LONG = replace(NANO_LONG, name="words16", oc_p=9, px_p=2, conv_finish=9, fm_banks=8, fm_depth=256, narrow_pairs=0)
"""A chunk fills four words with 16 bits."""
PARTS_LONG = replace(
    NANO_LONG, name="parts16", ic_p=6, px_p=2, conv_finish=4, pool_finish=2, misc_lanes=2, fm_banks=8, fm_depth=256,
    dsp_packing=True, array_clock=2, narrow_pairs=0, shared_finish=False, dsp_adders=True,
)  # fmt: skip
"""A word is made of two chunks, at twice the clock."""
LONG = [NANO_LONG, WORDS_LONG, PARTS_LONG]


@pytest.mark.slow
@pytest.mark.parametrize("config", [NANO_ROWS, PHASES_ROWS, NANO_PRODUCTS, HALF_CHUNKS, *LONG], ids=lambda config: config.name)
def test_programs_of_optional_instructions(config: MachineConfig, tmp_path: Path) -> None:
    report = run_fuzz(config, 0, 60, directory=tmp_path)
    assert report.ok, report.failures


@needs("iverilog")
def test_a_few_programs_in_icarus(tmp_path: Path) -> None:
    assert run_fuzz(preset("nano"), 0, 2, "icarus", size=3, directory=tmp_path).ok
