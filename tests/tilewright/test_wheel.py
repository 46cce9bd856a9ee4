"""The wheel: everything that runs is in it, and it runs without the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("isa", "hw", "compiler", "sim", "tilewright")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the content of the wheel, as pip would lay it out."""
    pytest.importorskip("hatchling", reason="the build backend is not installed; `make env` installs it")
    folder = tmp_path_factory.mktemp("wheel")
    code = f"from hatchling.build import build_wheel; build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("tilewright-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(installed: Path) -> None:
    expected = {
        path.relative_to(ROOT)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    found = {path.relative_to(installed) for path in installed.rglob("*") if path.is_file()}
    assert {path for path in found if not path.parts[0].endswith(".dist-info")} == expected


def test_the_wheel_runs_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "config", "list"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("nano")


def test_the_wheel_brings_command_and_licence(installed: Path) -> None:
    (information,) = installed.glob("tilewright-*.dist-info")
    assert "tilewright = tilewright.cli:run" in (information / "entry_points.txt").read_text()
    assert "Apache License" in (information / "licenses" / "LICENSE").read_text()
