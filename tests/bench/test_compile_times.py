"""Seconds of a compilation by stage, from what it reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

from bench import compile_times
from bench.checkout import ROOT
from bench.compile_times import stage_of, stages
from bench.network_table import put_row


@pytest.mark.parametrize(
    ("report", "stage"),
    [
        ("read 100 nodes", "calibration"), ("quantised 66 tensors", "import"), ("search", "search"),
        ("search: strategy best, 8 of 8", "search"), ("search: program 2 of at most 4 that are timed", "timing"),
        ("search: order and places of feature maps", "timing"), ("emit", "emission"),
    ],
)  # fmt: skip
def test_what_follows_a_report(report: str, stage: str) -> None:
    assert stage_of(report) == stage


def test_stages_add_up() -> None:
    """What comes between ``begun`` and ``before`` is not counted."""
    marks = [("import", 3.0), ("search", 4.0), ("search: program 1", 6.0), ("emit", 9.0)]
    found = stages({"begun": 0.5, "before": 2.5, "marks": marks, "after": 9.25})
    assert found == {
        "start": 0.5, "import": 1.5, "calibration": 0.0, "search": 2.0, "timing": 3.0, "emission": 0.25, "s": 7.25,
    }  # fmt: skip


def test_each_row_has_its_own_reference(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The least of what the other checkout takes for ResNet-50 meanwhile."""
    stages_of_all: dict[str, Any] = dict.fromkeys([*compile_times.COLUMNS[2:10]], 1.0)
    asked: list[tuple[str, str]] = []
    clocks = iter([3.0, 7.0, 14.0, 2.0, 6.0, 13.0])

    def compiled(checkout: Path, model: Path, config: str, effort: str) -> dict[str, Any]:
        asked.append((checkout.name, model.stem))
        return stages_of_all | {"clock": next(clocks), "peak": 100, "cycles": 7, "s": 9.0 - len(asked)}

    monkeypatch.setattr(compile_times, "compiled", compiled)
    monkeypatch.setattr(compile_times, "revision", lambda _: "abc")
    monkeypatch.setattr(compile_times, "networks", lambda: dict.fromkeys(["squeezenet", "resnet50_v1"], onnx.ModelProto))
    row = dict(zip(compile_times.COLUMNS, compile_times.measure("squeezenet", "base", "normal", tmp_path, 2), strict=True))
    first, second = ROOT.name, tmp_path.name
    assert asked == [(first, "squeezenet"), (second, "squeezenet"), (second, "resnet50_v1")] * 2
    assert (row["clock s"], row["beside: clock s"], row["clock s beside / clock s"]) == ("2.0", "6.0", "3.00")
    assert row["beside: resnet50_v1 clock s"] == "13.0"


def test_seconds_are_told_for_the_machine_on_which_they_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the first edition takes 11 s for ResNet-50: half as long as where these were measured."""
    page = tmp_path / "page.md"
    page.write_text(f"## {compile_times.TITLE}\n\nWhat.\n", encoding="utf-8")
    monkeypatch.setattr(compile_times, "PAGE", page)
    measured = ("resnet50_v1", "8.0", "4", "22.0", "2.75"), ("squeezenet", "3.0", "", "6.0", "2.00")
    assert compile_times.told() == "No row beside the first edition: what is asked cannot be told on this machine."
    for name, clock, asked, first, ratio in measured:
        row = dict.fromkeys(compile_times.COLUMNS, "1") | {
            "configuration": "base", "network": name, "clock s": clock, "asked s": asked, "beside: clock s": first,
            "beside: revision": compile_times.FIRST, "clock s beside / clock s": ratio, "peak MB": "300",
            "beside: resnet50_v1 clock s": "22.0",
        }  # fmt: skip
        put_row(compile_times.TITLE, compile_times.COLUMNS, [*row.values()], 2, page)
    assert compile_times.told().splitlines() == [
        "Seconds of the clock where the first edition takes 11 for ResNet-50:", "",
        "- resnet50_v1 on `base`: 4.0, asked 4; 2.75 times as fast as the first edition.",
        "- squeezenet on `base`: 1.5; 2.00 times as fast as the first edition.", "",
        "The most memory is 300 MB.",
    ]  # fmt: skip
