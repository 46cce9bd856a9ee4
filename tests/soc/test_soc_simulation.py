"""The system on chip: its firmware reads digits with the driver, and gets what Python's runtime gets, in as many cycles."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from soc.bitstream import BOARD_MHZ
from tests.tools import needs_firmware

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "board.md"
IMAGES = 10


def python(*arguments: object) -> str:
    """What ``python -m soc`` prints. A process of its own: LiteX's import warns, and its description of a system is global."""
    done = subprocess.run(
        [sys.executable, "-m", "soc", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_firmware
@pytest.mark.parametrize("memory", ["bench", "sdram"])
def test_ten_images_as_python_s_runtime_reads_them(memory: str, tmp_path: Path) -> None:
    """With the memory of the benches in as many cycles, too; with an SDRAM shared with the processor it takes longer."""
    printed = python("simulate", "--memory", memory, "--images", IMAGES, "--out", tmp_path)
    assert len(re.findall(r"^image \d+: class \d, outputs [0-9a-f]{8}, \d+ cycles$", printed, re.MULTILINE)) == IMAGES
    assert f"{IMAGES} images, {IMAGES} interrupts" in printed
    assert f"{IMAGES} images, 0 with other outputs" in printed
    (cycles,) = re.findall(r"interrupts, (\d+) cycles of the processor", printed)
    assert f"  {IMAGES * BOARD_MHZ * 1e6 / int(cycles):.1f} images/s at {BOARD_MHZ} MHz" in printed
    assert ("0 with other cycles" in printed) == (memory == "bench")
    if memory == "bench":
        page = PAGE.read_text(encoding="utf-8")
        (shown,) = re.findall(r"^    (machine nano, .*\n) +(.*\n) +(image 0.*\n)", page, re.MULTILINE)
        assert "".join(shown) in printed
