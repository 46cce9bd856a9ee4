"""The wheel: everything that runs is in it, and it runs without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.tilewright.small_models import write_small_files

MADE = {"__pycache__", "built"}
"""Folders of what is compiled where the packages are used."""
ROOT = Path(__file__).parents[2]
PACKAGES = ("isa", "hw", "compiler", "sim", "driver", "tilewright")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    code = f"from hatchling.build import build_wheel; build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("tilewright-*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """A folder with the content of the wheel, as pip would lay it out."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent / "site")
    return wheel.parent / "site"


@pytest.fixture(scope="module")
def command(wheel: Path) -> Path:
    """The command, installed by pip into an environment of its own; what it depends on is that of the tests.

    `make wheel` does it with nothing but PyPI.
    """
    folder = wheel.parent / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "tilewright"


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(installed: Path) -> None:
    expected = {
        path.relative_to(ROOT)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and not MADE & {*path.parts}
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


def test_the_installed_command_helps_and_compiles(command: Path, tmp_path: Path) -> None:
    def run(*words: str) -> str:
        environment = {"PATH": os.defpath, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        done = subprocess.run([command, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    assert run("--help").startswith("Usage: tilewright")
    write_small_files(tmp_path)
    model = ("model.onnx", "--calibrate", "calibration.npz", "--config", "nano")
    assert "instructions" in run("compile", *model, "-o", "model.elf")
    assert run("run", "model.elf", "--input", "image.npz", "-o", "out.npz") == "answer: float32[1, 5, 3, 3]\n"
    assert run("check", *model).endswith("answer: equal\n")
    assert run("report", "model.elf", "-o", "report").count("\n") == 2
    code = "import tilewright.cli as module; print(module.__file__)"
    where = subprocess.run([command.parent / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(where.stdout.strip()).is_relative_to(command.parents[1]), "not the clone's"


def test_the_wheel_brings_command_and_licence(installed: Path) -> None:
    (information,) = installed.glob("tilewright-*.dist-info")
    assert "tilewright = tilewright.cli:run" in (information / "entry_points.txt").read_text()
    assert "Apache License" in (information / "licenses" / "LICENSE").read_text()
