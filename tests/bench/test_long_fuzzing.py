"""Fuzzing for ten minutes: new images and files in each run, from a seed that is told at its end.

TILEWRIGHT_FUZZ_MINUTES=120 makes it longer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.damaged import run_damaged
from bench.driver_images import run_spoiled
from sim.campaign.run import How

KINDS = ("structures", "onnx", "elf")
MINUTES = float(os.environ.get("TILEWRIGHT_FUZZ_MINUTES", "10")) / (len(KINDS) + 1)
"""For each kind of file, and for images."""
MANY = 100_000
PATIENCE = 120.0
"""Seconds for one file, on a busy machine."""


@pytest.fixture
def seed(record_property: Callable[[str, object], None]) -> int:
    """Of the clock: as many as files can be tried lie between two runs."""
    found = int(time.time())
    record_property("fuzzing from seed", found)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(kind: str, seed: int, tmp_path: Path) -> None:
    codes, failures = run_damaged(kind, seed, MANY, How(), tmp_path / "kept", seconds=PATIENCE, minutes=MINUTES)
    assert codes["0"] + codes["1"] + codes["2"] > 0
    assert failures == [], f"python -m bench.damaged {kind} --seed {seed}"


@pytest.mark.slow
def test_images_for_the_driver(seed: int, tmp_path: Path) -> None:
    rows, wrong = run_spoiled(tmp_path, 1000 * MANY, seed % MANY, How(), MINUTES)
    assert all(int(ran) > 0 for _, _, _, ran, _, _ in rows)
    assert wrong == [], f"python -m bench.driver_images --seed {seed % MANY}"
