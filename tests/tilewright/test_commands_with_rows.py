"""Commands on a model with softmax and normalisation, for a machine that has ROW and for one that has not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.compiler.frontend.row_models import DATA, ROWS, encoder
from tilewright.cli import main

MODEL = ("model.onnx", "--calibrate", "data.npz")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(encoder(), tmp_path / "model.onnx")
    np.savez(tmp_path / "data.npz", x=DATA["x"])
    (tmp_path / "rows.toml").write_text(ROWS.to_toml())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_check_tells_what_differs_from_float(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "check", *MODEL, "--config", "rows.toml").splitlines()
    assert lines[1] == "h: equal"
    elements = 2 * 7 * 12 + 7 * 10
    begin = "integer softmax and normalisation beside float ones: "
    (told,) = (line.removeprefix(begin) for line in lines if line.startswith(begin))
    differ, _, rest = told.partition(" of ")
    assert int(differ) <= 1
    assert rest in (f"{elements} differ, by at most 0", f"{elements} differ, by at most 1")
    rows = json.loads(run(capsys, "check", *MODEL, "--config", "rows.toml", "--json"))["defined"]
    assert sum(row["elements"] for row in rows) == elements
    assert not [line for line in run(capsys, "check", *MODEL, "--config", "nano").splitlines() if line.startswith(begin)]


def test_a_program_file_has_its_groups_and_a_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "machine segments         1\n" in run(capsys, "compile", *MODEL, "--config", "rows.toml", "-o", "model.elf")
    groups = json.loads(run(capsys, "explain", "model.elf", "--json"))["groups"]
    assert groups == json.loads(run(capsys, "explain", *MODEL, "--config", "rows.toml", "--json"))["groups"]
    assert {"first", "shares", "second"} <= {op for group in groups for op in group["ops"]}
    run(capsys, "report", "model.elf", "-o", "report")
    assert "ROW" in (folder / "report" / "report.html").read_text()


def test_the_quantised_model_is_compiled_to_the_same_program(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "compile", *MODEL, "--config", "rows.toml", "-o", "one.elf", "--save-onnx", "quantised.onnx")
    run(capsys, "compile", "quantised.onnx", "--config", "rows.toml", "-o", "two.elf")
    assert run(capsys, "disasm", "one.elf") == run(capsys, "disasm", "two.elf")


def test_a_machine_without_row_is_told_what_helps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "compile", *MODEL, "--config", "nano", "-o", "model.elf")
    (line,) = (line for line in told.splitlines() if line.startswith("on the CPU: Softmax shares"))
    assert "no unit computes it" in line
    assert "What helps: set build_rows = true in the configuration, and quantise what it reads and makes." in line


def test_the_table_of_support(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "ops", "Softmax").startswith("Softmax (ai.onnx, machine with build_rows)\n")
