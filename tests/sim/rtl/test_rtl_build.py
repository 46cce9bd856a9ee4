"""What builds share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sim.rtl.build import Build, runtime_objects

BUILD = Build("verilator", "module tilewright_bench; endmodule", {})


def given(directory: Path, objects: Path, build: Build) -> list[str]:
    """What a build finds that would compile two files."""
    with runtime_objects(directory, objects, build):
        found = sorted(file.name for file in objects.iterdir())
        for name in ("verilated.o", "Vtilewright_bench.o"):
            (objects / name).write_bytes(b"code")
    return found


def test_verilators_own_objects_are_kept_for_builds_of_the_same_kind(tmp_path: Path) -> None:
    assert given(tmp_path, tmp_path / "first", BUILD) == []
    assert given(tmp_path, tmp_path / "second", replace(BUILD, verilog="module other; endmodule")) == ["verilated.o"]
    assert given(tmp_path, tmp_path / "counting", replace(BUILD, coverage=True)) == []
    assert given(tmp_path, tmp_path / "shared", replace(BUILD, library=True)) == []


def failing(directory: Path, objects: Path) -> None:
    with runtime_objects(directory, objects, BUILD):
        (objects / "verilated.o").write_bytes(b"half")
        raise RuntimeError


def test_a_build_that_fails_leaves_none(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        failing(tmp_path, tmp_path / "failed")
    assert given(tmp_path, tmp_path / "next", BUILD) == []
