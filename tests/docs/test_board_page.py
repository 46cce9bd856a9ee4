"""The page from model to board: its device tree is one, its names are the driver's, its addresses those of the packages."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from driver.sources import LINUX, driver_files
from isa.config import preset
from tests.tools import needs

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "board.md").read_text(encoding="utf-8")
DESIGN = ROOT / "tests" / "hw" / "delivery" / "golden" / "nano_block_design.tcl.txt"
FILES = driver_files(preset("nano"), linux=True)


def indented(first: str) -> str:
    """The indented block that begins with this line."""
    found = re.search(rf"^    {re.escape(first)}\n(?:(?:    .*)?\n)*", PAGE, re.MULTILINE)
    assert found is not None
    return re.sub(r"^    ", "", found[0], flags=re.MULTILINE)


@needs("dtc")
def test_the_device_tree_is_an_overlay_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "tilewright.dtso").write_text(indented("/dts-v1/;"))
    command = ["dtc", "-@", "-I", "dts", "-O", "dtb", "-o", "tilewright.dtbo", "tilewright.dtso"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "tilewright.dtbo").read_bytes()[:4] == bytes.fromhex("d00dfeed")


def test_its_addresses_are_those_of_the_block_design() -> None:
    (base,) = re.findall(r"tilewright@(\w+)", indented("/dts-v1/;"))
    assert f"0x{base}" in DESIGN.read_text(encoding="utf-8").lower()
    assert f'engine="mem:0x{base},' in PAGE


def test_every_name_of_the_driver_on_it_exists() -> None:
    known = "\n".join(FILES.values())
    named = set(re.findall(r"\bTW_[A-Z][A-Z_]+|\btw_\w+(?=[(`;]|\))", PAGE)) - {path.name for path in LINUX.iterdir()}
    results = set(re.findall(r"^\| `(TW_\w+)`(?:, `(TW_\w+)`)?", PAGE, re.MULTILINE))
    assert len(named) > 30
    assert len(results) > 5
    for name in named:
        assert re.search(rf"\b{name.removeprefix('TW_')}\b" if name.startswith("TW_") else rf"\b{name}\b", known), name
