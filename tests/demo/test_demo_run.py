"""``make demo`` on a small machine: what it says and leaves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from demo.run import CALIBRATION, TEST, main
from isa.config import preset
from isa.program_file import load_program


def test_demo_reads_digits_on_the_rtl_and_leaves_what_it_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", "nano", "--images", "20", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert " elements, 0 differ\n" in said
    right = [line for line in said.splitlines() if " right: " in line]
    assert [line.split("  ")[1] for line in right] == ["float, onnxruntime", "int8, functional simulator", "int8, RTL"]
    assert all(float(line.split()[-1].rstrip("%")) > 94 for line in right)
    made = ["config.json", "digits.elf", "report.html", "tilewright_core.v", "trace.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == made
    assert all(str(tmp_path / name) in said for name in made[1:])
    program = load_program(tmp_path / "digits.elf", preset("nano"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace["otherData"]["source"] == "RTL"
    machine = next(event["pid"] for event in trace["traceEvents"] if event.get("args") == {"name": "machine"})
    assert sum((event["ph"], event["pid"]) == ("X", machine) for event in trace["traceEvents"]) == len(program.debug)


def test_demo_calibrates_with_no_held_out_image() -> None:
    with np.load(CALIBRATION) as calibration, np.load(TEST) as test:
        held_out = {image.tobytes() for image in test["image"]}
        assert len(calibration["image"]) == 64
        assert not {image.tobytes() for image in calibration["image"]} & held_out
