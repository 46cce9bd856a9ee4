"""A small design in the form of the emitted Verilog, and the tools that map it."""

from __future__ import annotations

from sim.synthesis.tools import Tool, find_tool

LEAF = """\
module leaf(clk, rst, a, b, q);
  input [7:0] a;
  wire [7:0] a;
  input [7:0] b;
  wire [7:0] b;
  input clk;
  input rst;
  output [7:0] q;
  reg [7:0] q = 8'h00;
  always @(posedge clk) begin
    q <= a + b;
    if (rst) q <= 8'h00;
  end
endmodule
"""
ODD = """\
module odd$1(a, y);
  input [7:0] a;
  output y;
  assign y = ^a;
endmodule
"""
TOP = """\
module top(clk, rst, a, b, y);
  input [7:0] a;
  input [7:0] b;
  input clk;
  input rst;
  output y;
  wire [7:0] one;
  wire [7:0] two;
  leaf first (
    .clk(clk), .rst(rst), .a(a), .b(b), .q(one)
  );
  leaf \\second.leaf  (
    .clk(clk), .rst(rst), .a(one), .b(one & b), .q(two)
  );
  odd$1 \\odd$1  (
    .a(two), .y(y)
  );
endmodule
"""
VERILOG = f"// a header\n\n{TOP}\n{LEAF}\n{ODD}"


def yosys() -> Tool:
    """The one from PyPI, or a native one where TILEWRIGHT_NATIVE asks for it."""
    return find_tool("yosys")
