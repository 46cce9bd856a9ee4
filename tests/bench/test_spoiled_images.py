"""Spoiled images for the driver: the campaign counts what its processes tell, and says how to see again what went wrong."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

import bench.driver_images
from bench.driver_images import SHARE, run_spoiled, tried
from sim.campaign.run import How
from sim.campaign.work import Lost


def test_what_goes_wrong_is_told_with_its_command(tmp_path: Path) -> None:
    program = tmp_path / "fuzz"
    program.write_text("#!/bin/sh\necho runtime error: $3 >&2\nexit 1\n")
    program.chmod(0o755)
    assert tried((str(program), "image", 5, 7)) == {"counts": [], "wrong": f"{program} image 5 7: runtime error: 7"}


def test_counts_are_of_each_image_and_end_with_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = {"one": tmp_path / "one", "two": tmp_path / "two"}
    told = {"counts": [9, 8, 7, 14], "wrong": ""}
    ends = [told, told, {"counts": [], "wrong": "a leak"}, Lost("late", late=True), told, told]
    monkeypatch.setattr(bench.driver_images, "build", lambda *_: tmp_path / "fuzz")
    monkeypatch.setattr(bench.driver_images, "images", lambda _: good)
    for minutes, rounds, wrong in ((60.0, 3, ["a leak", "late"]), (-1.0, 1, [])):
        monkeypatch.setattr(bench.driver_images, "campaign", lambda *_, **__: nullcontext(iter(ends)))
        rows, found = run_spoiled(tmp_path, 6 * SHARE, 1, How(), minutes)
        right = rounds - len(wrong) // 2
        expected = [str(n) for n in (rounds * SHARE, right * 9, right * 7, right * 14, len(wrong) // 2)]
        assert rows == [[name, *expected] for name in good]
        assert found == wrong
