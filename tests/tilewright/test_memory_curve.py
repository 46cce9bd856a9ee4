"""``explain --memory``: the points of a model, and what it cannot be asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tilewright.small_models import write_small_files
from tilewright.cli import main

OPTIONS = ("--config", "nano", "--calibrate", "calibration.npz", "--memory")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_small_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_points_go_down_in_bytes_and_up_in_cycles(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "model.onnx", *OPTIONS, "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    sizes, cycles = [point["bytes"] for point in points], [point["cycles"] for point in points]
    assert sizes == sorted(set(sizes), reverse=True)
    assert cycles == sorted(set(cycles))
    assert main(["explain", "model.onnx", *OPTIONS]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["DRAM", "bytes", "cycles", "groups"]
    told = [[f"{point['bytes']:,}", f"{point['cycles']:,}"] for point in points]
    assert [line.split()[:2] for line in lines[1:]] == told


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("model.onnx", "--strategy", "naive"), "leave --strategy and -o out"),
        (("model.onnx", "-o", "x.svg"), "leave --strategy and -o out"),
        (("model.elf",), "give the model that it was compiled from"),
    ],
)
def test_what_has_no_curve_is_refused(
    words: tuple[str, ...], complaint: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("model.elf").write_bytes(b"\x7fELF")
    assert main(["explain", *words, *OPTIONS]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert complaint in err
