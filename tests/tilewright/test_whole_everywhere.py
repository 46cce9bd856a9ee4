"""Summary, JSON, CSV, report, trace and explanation of one program tell one whole time, parts on the CPU in their place."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tilewright.small_models import alternating_model, images
from tilewright.cli import main

KINDS = ["cpu", "transfer", "machine", "transfer", "cpu", "transfer", "machine", "transfer", "cpu", "transfer", "machine",
         "transfer", "cpu"]  # fmt: skip
CPU = ("--cpu", "cortex-a72")
FIGURES = (
    "clock_mhz", "cycles", "processor", "ms_on_machine", "ms_on_cpu", "ms_of_transfers", "ms", "inferences_per_second",
    "no_time",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``m.onnx`` and ``c.npz``."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "m.onnx").write_bytes(alternating_model().SerializeToString())
    np.savez(folder / "c.npz", image=images(8))
    return folder


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_every_command_tells_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    compiling = ("compile", "m.onnx", "--calibrate", "c.npz", "-o", "m.elf", "--csv", "m.csv", *CPU)
    text = told(capsys, *compiling)
    compiled, explained, traced, reported = (
        json.loads(told(capsys, *words, *CPU, "--json"))
        for words in (compiling, ("explain", "m.elf"), ("trace", "m.elf", "-o", "t.json"), ("report", "m.elf", "-o", "r"))
    )
    (run,) = reported["runs"]
    wanted = figures(compiled)
    assert all(figures(other) == wanted for other in (explained, traced, run))
    assert wanted["processor"].startswith("cortex-a72: ")
    assert explained["spans"] == run["spans"] == compiled["spans"]
    assert [span["kind"] for span in compiled["spans"]] == KINDS
    assert sum(span["ms"] for span in compiled["spans"]) == pytest.approx(wanted["ms"], abs=1e-5)
    end = f"end to end {wanted['ms']:.3f} ms, {wanted['inferences_per_second']:,.0f} inferences/s (at 300 MHz, not measured)"
    assert end in re.sub(" +", " ", text)
    lines = told(capsys, "explain", "m.elf", *CPU).splitlines()
    assert end in lines
    shown = lines[lines.index(end) + 1 :][: len(KINDS)]
    assert [line.split(":")[0].split()[-1] for line in shown] == KINDS
    assert shown[4].endswith(": cpu1: DequantizeLinear, Hardmax, QuantizeLinear")
    assert end in told(capsys, "trace", "m.elf", "-o", "t.json", *CPU)
    rows = list(csv.DictReader(Path("m.csv").read_text().splitlines()))
    layers = [row for row in rows if row["dram_bytes_read"]]
    assert sum(int(row["dram_bytes_read"]) + int(row["dram_bytes_written"]) for row in layers) == compiled["dram_bytes"]
    assert sum(int(row["macs"]) for row in layers) == compiled["macs_on_machine"] == 3 * 36 * 81
    parts = [row for row in rows if not row["layer"]]
    assert [float(row["ms"]) for row in parts] == [span["ms"] for span in compiled["spans"]]
    page = Path("r/report.html").read_text()
    assert f"<b>{wanted['ms']:.3g}</b><span>ms end to end</span>" in page
    bars = page[page.index('aria-label="The whole run"') : page.index("<h2>Where the time goes</h2>")]
    assert [float(ms) for ms in re.findall(r": ([\d.]+) ms; ", bars)] == [round(span["ms"], 4) for span in compiled["spans"]]
    for file in ("t.json", "r/trace.json"):
        document = json.loads(Path(file).read_text())
        assert figures(document["otherData"]) == wanted
        assert document["otherData"]["clock"] == "at 300 MHz, not measured"
        host = [e for e in document["traceEvents"] if e["ph"] == "X" and e["pid"] == 2]
        expected = [span for span in compiled["spans"] if span["kind"] != "machine"]
        assert [event["name"] for event in host] == [span["name"] for span in expected]
        assert [event["ts"] / 300_000 for event in host] == pytest.approx([span["start_ms"] for span in expected], abs=1e-5)


def figures(document: dict[str, Any]) -> dict[str, Any]:
    return {key: document[key] for key in FIGURES}


def test_a_run_tells_its_outputs_and_no_cycles_where_none_are_known(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    np.savez("one.npz", image=images(1))
    told(capsys, "compile", "m.onnx", "--calibrate", "c.npz", "-o", "m.elf")
    for engine in ("functional", "cpu"):
        found = json.loads(told(capsys, "run", "m.elf", "--input", "one.npz", "--engine", engine, "-o", "o.npz", "--json"))
        assert found["outputs"] == [{"name": "answer", "type": "float32", "shape": [1, 3, 6, 6]}]
        assert [found[key] for key in ("cycles", "read_beats", "write_beats", "counters")] == [None] * 4


def test_conditions_of_all_operators_are_in_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    common = json.loads(told(capsys, "ops", "Conv", "--json"))["common"]
    text = told(capsys, "ops", "Conv")
    assert [each["title"] for each in common] == [line for line in text.splitlines() if line.endswith(":")]
    assert sum(len(each["conditions"]) for each in common) > 5
    assert json.loads(told(capsys, "ops", "ArgMax", "--json"))["common"] == []
