"""Standard cells: what is counted of them, on a design that is counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from hw.emit_memory import MemoryShape
from sim.synthesis.asic import FLIP_FLOP, GATE, asic_of_design, cell_areas, liberty, path_of, sram_bits
from sim.synthesis.design import split_design
from sim.synthesis.size import REST
from sim.synthesis.tools import SynthesisError
from tests.tools import needs, needs_cells

SRAM = MemoryShape(256, 16, 1, True)
SMALL = MemoryShape(4, 8, 1, False)
DESIGN = f"""\
module top(clk, en, addr, d, q);
  input clk;
  input en;
  input [7:0] addr;
  input [15:0] d;
  output [15:0] q;
  wire [15:0] words;
  wire [7:0] few;
  {SRAM.name} sram (
    .clk(clk), .write_en(en), .write_addr(addr), .write_data(d), .read_en(en), .read_addr(addr), .read_data(words)
  );
  {SMALL.name} few_words (
    .clk(clk), .write_en(en), .write_addr(addr[1:0]), .write_data(d[7:0]), .read_en(en), .read_addr(addr[1:0]), .read_data(few)
  );
  register held (
    .clk(clk), .d(words ^ {{2{{few}}}}), .q(q)
  );
endmodule

module register(clk, d, q);
  input clk;
  input [15:0] d;
  output [15:0] q;
  reg [15:0] one;
  reg [15:0] q;
  always @(posedge clk) begin
    one <= d;
    q <= ~one;
  end
endmodule

{SRAM.verilog()}
{SMALL.verilog()}"""


@needs_cells
@needs("sta")
def test_cells_are_counted_and_srams_are_not_cells(tmp_path: Path) -> None:
    areas = cell_areas(liberty().read_text())
    found = asic_of_design(split_design(DESIGN), {"clk": 10.0}, report=lambda line: None, cache=tmp_path)
    assert found.sram_bits == 256 * 16
    assert found.flip_flops == 2 * 16 + 4 * 8, "two registers, and the words that are read within a cycle"
    assert set(found.gates) == {"sram", "few_words", "held", REST}
    assert found.gates["sram"] == 0
    flip_flops = 32 * areas[FLIP_FLOP]
    assert flip_flops + 16 * areas["INVX1"] == found.gates["held"] * areas[GATE]
    assert found.gates["few_words"] * areas[GATE] > 32 * areas[FLIP_FLOP]
    assert found == asic_of_design(split_design(DESIGN), {"clk": 10.0}, report=lambda line: None, cache=tmp_path)


@needs_cells
@needs("sta")
def test_the_slowest_path_is_that_of_the_words(tmp_path: Path) -> None:
    found = asic_of_design(split_design(DESIGN), {"clk": 10.0}, report=lambda line: None, cache=tmp_path)
    assert found.period_ns is not None
    assert 0.3 < found.period_ns < 5
    assert found.path[0].startswith("few_words/")
    assert found.path[-1].startswith("held/")


@pytest.mark.parametrize(
    ("module", "bits"),
    [("memory_512x8", 4096), ("npu_memory_63x32_block", 2016), ("memory_16x32_async", None), ("memory_64x24_by_12", 1536),
     ("tilewright_core_conv", None)],
)  # fmt: skip
def test_which_modules_are_srams(module: str, bits: int | None) -> None:
    assert sram_bits(module) == bits


def test_areas_of_a_liberty_file() -> None:
    text = """library (a) {\ncell (INVX1) {\n  cell_footprint : "x";\n  area : 16;\n  pin(A) { area_of : 3; }\n}
    cell(TWO) { area : 2.5 ; }\n}"""
    assert cell_areas(text) == {"INVX1": 16.0, "TWO": 2.5}


def test_cells_of_a_path() -> None:
    report = """\
  Delay    Time   Description
   0.00    0.00   clock clk (rise edge)
   0.00    0.00 ^ a/_1_/CLK (DFFPOSX1)
   0.21    0.21 v a/_1_/Q (DFFPOSX1)
   0.10    0.31 ^ _2_/Y (INVX1)
           0.31   data arrival time
   9.00    9.00 ^ b/_3_/CLK (DFFPOSX1)
"""
    assert path_of(report) == ("a/_1_/CLK (DFFPOSX1)", "a/_1_/Q (DFFPOSX1)", "_2_/Y (INVX1)")


def test_a_library_that_is_not_there_is_told_how_to_get(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_LIBERTY", "/nowhere/cells.lib")
    with pytest.raises(SynthesisError, match=r"cells osu018: no file /nowhere/cells\.lib; install it with apt-get install"):
        liberty()
