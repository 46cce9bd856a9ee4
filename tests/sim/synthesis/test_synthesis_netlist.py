"""A netlist of ECP5 cells computes what the Verilog does: a small one here, a whole machine by `python -m bench.netlist`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sim.synthesis.netlist import ecp5_netlist
from tests.tools import needs

DESIGN = """
module dut (input clk, input rst, input we, input [3:0] be, input [8:0] wa, input [8:0] ra, input [31:0] wd,
            input signed [17:0] a, input signed [15:0] b, input [3:0] la,
            output reg [31:0] rd, output reg [7:0] byte_rd, output reg signed [33:0] p, output [7:0] ld, output reg [15:0] sum);
  (* no_rw_check *) reg [31:0] words [0:511];
  (* no_rw_check *) reg [7:0] bytes [0:511];
  reg [7:0] few [0:15];
  integer i;
  initial begin
    for (i = 0; i < 512; i = i + 1) begin words[i] = 77 * i; bytes[i] = 13 * i; end
    for (i = 0; i < 16; i = i + 1) few[i] = i;
    sum = 3;
  end
  always @(posedge clk) begin
    for (i = 0; i < 4; i = i + 1) if (we & be[i]) words[wa][8*i +: 8] <= wd[8*i +: 8];
    if (we) begin bytes[wa] <= wd[7:0]; few[la] <= wd[15:8]; end
    rd <= words[ra];
    byte_rd <= bytes[ra];
    p <= a * b;
    if (rst) sum <= 5; else if (we) sum <= sum + wd[15:0];
  end
  assign ld = few[ra[3:0]];
endmodule
"""
BENCH = """
module bench;
  reg clk = 0;
  always #5 clk = ~clk;
  integer n, seed = 7;
  reg we, rst;
  reg [3:0] be, la;
  reg [8:0] wa, ra;
  reg [31:0] wd;
  reg [17:0] a;
  reg [15:0] b;
  wire [31:0] rd;
  wire [33:0] p;
  wire [7:0] byte_rd, ld;
  wire [15:0] sum;
  dut dut (clk, rst, we, be, wa, ra, wd, a, b, la, rd, byte_rd, p, ld, sum);
  initial begin
    for (n = 0; n < 1000; n = n + 1) begin
      we = $random(seed); rst = ($random(seed) & 31) == 0; be = $random(seed); la = $random(seed);
      wa = $random(seed) & 15; ra = (n < 500 ? $random(seed) & 15 : $random(seed)); wd = $random(seed);
      a = $random(seed); b = $random(seed);
      if (ra == wa) ra = ra ^ 16;
      @(posedge clk); #1 $display("%h %h %h %h %h", rd, byte_rd, p, ld, sum);
    end
    $finish;
  end
endmodule
"""


def simulated(text: str, folder: Path) -> list[str]:
    folder.mkdir()
    (folder / "all.v").write_text(text + BENCH)
    subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", "sim", "all.v"], cwd=folder, check=True)
    return subprocess.run(["vvp", "-n", "sim"], cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.fixture(scope="module")
def netlist() -> str:
    return ecp5_netlist(DESIGN, "dut", report=lambda line: None)


def test_memories_and_multipliers_stay_cells_and_the_rest_is_spelled_out(netlist: str) -> None:
    mapped = netlist.partition("// Cells of the ECP5")[0]
    for cell in ("DP16KD #", "MULT18X18D ", "TRELLIS_DPR16X4 #"):
        assert cell in mapped, cell
    for cell in ("LUT4", "CCU2C", "TRELLIS_FF"):
        assert f" {cell} " not in mapped, cell


@needs("iverilog")
def test_memories_multiplier_carries_and_registers(netlist: str, tmp_path: Path) -> None:
    expected = simulated(DESIGN, tmp_path / "design")
    assert len(expected) == 1000
    assert simulated(netlist, tmp_path / "netlist") == expected
