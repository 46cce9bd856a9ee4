"""Random programs with random stalls: the generated Verilog leaves the same memory as the functional simulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from isa.config import preset
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
@pytest.mark.parametrize("name", ["ulx3s", "pynq", "base", "zu2", "zu9"])
def test_twenty_programs(name: str, tmp_path: Path) -> None:
    report = run_fuzz(preset(name), 0, 20, directory=tmp_path)
    assert report.ok, report.failures


@needs("iverilog")
def test_a_few_programs_in_icarus(tmp_path: Path) -> None:
    assert run_fuzz(preset("nano"), 0, 2, "icarus", size=3, directory=tmp_path).ok
