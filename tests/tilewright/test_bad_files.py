"""Files that are whole as such, and hold what no command can use: one line, exit code 2, no output."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from bench.damaged import good
from isa.assembler import assemble
from isa.config import preset
from isa.program import Program
from isa.program_file import save_program
from tilewright.cli import main

COMPILE = ("--config", "nano", "--strategy", "naive", "-o", "new.elf")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in good().items():
        Path(name).write_bytes(content)
    return tmp_path


def refused(command: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if ": warning: " not in line]
    assert len(lines) == 1
    assert said in lines[0]
    assert not list(Path().glob("new.*"))


@pytest.mark.parametrize("array", [np.array(["1.5"]), np.array([b"a"])])
def test_calibration_that_is_text(array: NDArray[Any], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(here / "bad.npz", x=np.broadcast_to(array, (1, 3, 6, 6)))
    refused(("compile", "model.onnx", "--calibrate", "bad.npz", *COMPILE), f"array x is of {array.dtype}", capsys)


def test_calibration_that_is_no_array(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(here / "bad.npz", "w") as archive:
        archive.writestr("x", b"something else")
    refused(("compile", "model.onnx", "--calibrate", "bad.npz", *COMPILE), "x is no array", capsys)


def test_a_name_that_is_not_text(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = good()["model.onnx"]
    assert b"relu" in content
    (here / "bad.onnx").write_bytes(content.replace(b"relu", b"r\x84lu"))
    refused(("compile", "bad.onnx", *COMPILE), r"onnx.NodeProto.name b'r\x84lu' is not UTF-8 text", capsys)


def test_a_name_that_ends_a_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx.load(here / "model.onnx")
    model.graph.node[2].op_type = "Max\x0cPool\nMax"
    onnx.save(model, here / "bad.onnx")
    refused(("compile", "bad.onnx", *COMPILE), "operator Max Pool Max is unknown", capsys)


@pytest.mark.filterwarnings("ignore:no calibration data")
def test_a_shape_beyond_all_memory(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx.load(here / "model.onnx")
    model.graph.input[0].type.tensor_type.shape.dim[3].dim_value = 1 << 50
    onnx.save(model, here / "bad.onnx")
    refused(("compile", "bad.onnx", *COMPILE), "not enough memory", capsys)


@pytest.mark.parametrize("command", [("trace", "bad.elf", "-o", "new.json"), ("report", "bad.elf", "-o", "new")])
def test_an_instruction_that_stops_the_machine(
    command: tuple[str, ...], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file may be sealed and hold a program that no compiler made: SAVE of no pixels."""
    words = assemble("START config=CONFIG\nSAVE\nEND", config=preset("nano"), check_rules=False)
    save_program(Program(preset("nano"), tuple(words)), here / "bad.elf")
    refused(command, "machine stopped at instruction word", capsys)
