"""Resets of many flip-flops go by global lines; nothing else of a netlist changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sim.synthesis.ecp5 import script
from sim.synthesis.global_lines import MOST_LINES, RESETS, use_global_lines
from sim.synthesis.tools import find_tool

WIDE, NARROW = 2, 3


def netlist(resets: dict[int, int]) -> dict[str, Any]:
    """A netlist of as many flip-flops a reset as told, and a LUT that reads each reset."""
    cells: dict[str, Any] = {}
    for net, count in resets.items():
        for number in range(count):
            cells[f"q{net}_{number}"] = {"type": "TRELLIS_FF", "connections": {"LSR": [net], "CLK": [1]}}
        cells[f"reads_{net}"] = {"type": "LUT4", "connections": {"A": [net]}}
    cells["never"] = {"type": "TRELLIS_FF", "connections": {"LSR": ["0"], "CLK": [1]}}
    cells["none"] = {"type": "TRELLIS_FF", "connections": {"CLK": [1]}}
    names = {f"n{net}": {"hide_name": 0, "bits": [net], "attributes": {}} for net in (1, *resets)}
    top = {"attributes": {"top": f"{1:032b}"}, "cells": cells, "netnames": names}
    return {"modules": {"DCCA": {"attributes": {}, "cells": {}, "netnames": {}}, "design": top}}


def changed(tmp_path: Path, resets: dict[int, int]) -> tuple[list[int], dict[str, Any]]:
    path = tmp_path / "netlist.json"
    path.write_text(json.dumps(netlist(resets)))
    found = use_global_lines(path)
    return found, json.loads(path.read_text())["modules"]["design"]["cells"]


def test_a_wide_reset_gets_a_line_and_a_narrow_one_does_not(tmp_path: Path) -> None:
    found, cells = changed(tmp_path, {WIDE: RESETS, NARROW: RESETS - 1})
    assert found == [RESETS]
    (line,) = (cell["connections"] for cell in cells.values() if cell["type"] == "DCCA")
    assert line["CLKI"] == [WIDE]
    assert {tuple(cells[f"q{WIDE}_{n}"]["connections"]["LSR"]) for n in range(RESETS)} == {tuple(line["CLKO"])}
    assert cells[f"q{NARROW}_0"]["connections"]["LSR"] == [NARROW]


def test_what_else_reads_a_reset_and_other_flip_flops_stay(tmp_path: Path) -> None:
    _, cells = changed(tmp_path, {WIDE: RESETS})
    before = netlist({WIDE: RESETS})["modules"]["design"]["cells"]
    kept = [name for name in before if not name.startswith("q")]
    assert {name: cells[name] for name in kept} == {name: before[name] for name in kept}


def test_clocks_keep_their_lines(tmp_path: Path) -> None:
    found, cells = changed(tmp_path, {net: RESETS + net for net in range(2, 4 + MOST_LINES)})
    assert found == sorted(found, reverse=True)
    assert sum(cell["type"] == "DCCA" for cell in cells.values()) == len(found) == MOST_LINES


@pytest.mark.slow
def test_nextpnr_routes_the_line_as_a_global(tmp_path: Path) -> None:
    width = RESETS + 100
    (tmp_path / "wide.v").write_text(
        f"module wide (input clk, input rst, input d, output q);\n  reg held;\n  reg [{width - 1}:0] s;\n"
        "  always @(posedge clk) held <= rst;\n"
        f"  always @(posedge clk) if (held) s <= 0; else s <= {{s[{width - 2}:0], d ^ s[5]}};\n"
        f"  assign q = s[{width - 1}];\nendmodule\n"
    )
    find_tool("yosys").run(["-q", "-p", f"read_verilog wide.v; {script('wide')}; write_json wide.json"], tmp_path)
    assert use_global_lines(tmp_path / "wide.json") == [width]
    chip = ["--25k", "--package", "CABGA381", "--lpf-allow-unconstrained"]
    find_tool("nextpnr-ecp5").run(["--quiet", *chip, "--json", "wide.json", "--log", "log"], tmp_path)
    assert "promoting clock net reset_line_" in (tmp_path / "log").read_text()
