"""What builds share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from isa.config import preset
from sim.random.engines import rtl_machine
from sim.rtl import machine
from sim.rtl.build import Build, runtime_objects, verilator_environment
from sim.rtl.machine import RtlMachine

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


def test_a_build_for_short_programs_is_one_of_its_own_and_optimised_less() -> None:
    assert replace(BUILD, brief=True).key != BUILD.key
    levels = [verilator_environment(brief)[1]["MAKEFLAGS"].rpartition("OPT_FAST=")[2] for brief in (False, True)]
    assert levels == ["-O3", "-O1"]


def test_random_programs_run_on_such_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Build] = []

    def seen(build: Build, cache: object) -> Path:
        built.append(build)
        return Path("sim")

    monkeypatch.setattr(machine, "executable", seen)
    monkeypatch.setattr(machine, "core_verilog", lambda *_: "")
    RtlMachine(preset("nano")).build()
    rtl_machine.__wrapped__(preset("nano")).build()
    assert [build.brief for build in built] == [False, True]
