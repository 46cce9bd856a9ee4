"""A small design placed and routed, and what is made of nextpnr's report."""

from __future__ import annotations

import pytest

from sim.synthesis.design import split_design
from sim.synthesis.place import Placed, estimated, place, point_of, wrapper
from sim.synthesis.timing import Point
from sim.synthesis.tools import SynthesisError
from tests.sim.synthesis.designs import VERILOG

TWO_SUMS = VERILOG.replace("one & b", "(one + {one[0], one[7:1]}) ^ {8{one[7]}}")
"""The longest path begins at the first leaf: two sums are behind it, one is before it. That holds where what is small is
placed close together, as ``heap`` does."""


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Placed, list[str]]:
    said: list[str] = []
    folder = tmp_path_factory.mktemp("placed") / "new"
    found = place(
        TWO_SUMS, {"first.q": "here.v:3"}, device="25k", mhz=120, report=said.append, placer="heap", folder=folder
    )  # fmt: skip
    assert (folder / "report.json").exists()
    return found, said


@pytest.mark.slow
def test_cells_and_clock(placed: tuple[Placed, list[str]]) -> None:
    found, said = placed
    feeding, keeping = 1 + 8 + 8, 1 + 1
    assert found.cells["TRELLIS_FF"] == (16 + feeding + keeping, 24288)
    assert found.cells["TRELLIS_IO"][0] == 4
    assert found.mhz > 50
    assert (found.routed, found.asked_mhz, found.device) == (True, 120, "25k")
    assert any(line.startswith("nextpnr-ecp5 ") for line in said)


@pytest.mark.slow
def test_the_critical_path_is_told_by_signals(placed: tuple[Placed, list[str]]) -> None:
    path = placed[0].path
    assert [path[0].kind, path[-1].kind] == ["clk-to-q", "setup"]
    assert path[0].point == Point("first.q", "here.v:3")
    assert path[-1].point.signal == "second.leaf.q"
    delays = [step.nanoseconds for step in path]
    assert delays == sorted(delays)
    assert delays[-1] == pytest.approx(1000 / placed[0].mhz, rel=0.01)


@pytest.mark.slow
def test_without_routes_the_clock_is_estimated_and_no_path_is_told() -> None:
    found = place(VERILOG, {}, device="25k", mhz=120, report=lambda line: None, placer="static", route=False)
    assert found.mhz > 50
    assert (found.routed, found.path) == (False, ())


def test_the_estimate_is_the_last_one_of_each_clock() -> None:
    log = "Info: Max frequency for clock 'a': 40.00 MHz (FAIL)\nInfo: Max frequency for clock 'b': 70 MHz\n"
    assert estimated(f"{log}Info: Max frequency for clock 'a': 50.25 MHz (PASS)\n") == {"a": 50.25, "b": 70.0}
    assert estimated("Info: Program finished normally.") == {}


@pytest.mark.parametrize(
    ("cell", "signal"),
    [
        ("dut.load.packer.kept_TRELLIS_FF_Q_12", "load.packer.kept"),
        ("dut.load.packer.next_LUT4_Z_3_D_PFUMX_Z", "load.packer.next"),
        ("dut.conv.sum_CCU2C_S0_1$CCU2_COMB0", "conv.sum"),
        ("dut.bank0.words.0.0", "bank0.words.0.0"),
        ("feed[3]", "feed"),
    ],
)
def test_a_cell_is_named_after_its_signal(cell: str, signal: str) -> None:
    assert point_of(cell, {"conv.sum": "hw/conv/array.py:8"}) == Point(
        signal, "hw/conv/array.py:8" if signal == "conv.sum" else ""
    )


def test_the_wrapper_reaches_every_bit() -> None:
    text = wrapper(split_design(VERILOG).modules["top"])
    assert "reg [16:0] feed;" in text
    assert "reg [0:0] kept;" in text
    assert all(f".{port} (feed[" in text for port in ("rst", "a", "b"))


def test_a_design_without_a_clock_is_refused() -> None:
    top = split_design("module top(a, y);\n  input a;\n  output y;\n  assign y = a;\nendmodule\n").modules["top"]
    with pytest.raises(SynthesisError, match="module top: expected ports clk, inputs and outputs to place it with"):
        wrapper(top)
