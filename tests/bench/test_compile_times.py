"""Seconds of a compilation by stage, from what it reports."""

from __future__ import annotations

import pytest

from bench.compile_times import stage_of, stages


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
