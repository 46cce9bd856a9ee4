"""Modules taken apart and put together with their ports in the header."""

from __future__ import annotations

from hw.delivery.modules import split_modules
from hw.delivery.uninitialised import without_initial_values

EMITTED = """\
// A machine.

module m(clk, \\odd.name , q, \\odd$q , bits, r);
  input clk;
  wire clk;
  input [3:0] \\odd.name ;
  wire [3:0] \\odd.name ;
  (* init = 4'h5 *)
  wire [3:0] inner;
  output [3:0] q;
  reg [3:0] q = 4'h5;
  output \\odd$q ;
  (* init = 1'h0 *)
  wire \\odd$q ;
  output [0:0] bits;
  reg \\begin  = 1'h1;
  reg kickstart;
  initial kickstart = 0;
  always @* begin
    if (kickstart) begin end
    inner = q;
  end
  output r;
  reg r;
  initial r = 1'd0;
endmodule
"""
ANSI = """\
// A machine.

module m (
  input  wire clk,
  input  wire [3:0] \\odd.name ,
  output reg [3:0] q = 4'h5,
  (* init = 1'h0 *)
  output wire \\odd$q ,
  output wire [0:0] bits,
  output reg r
);
  (* init = 4'h5 *)
  wire [3:0] inner;
  reg \\begin  = 1'h1;
  reg kickstart;
  initial kickstart = 0;
  always @* begin
    if (kickstart) begin end
    inner = q;
  end
  initial r = 1'd0;
endmodule
"""
UNINITIALISED = """\
// A machine.

module m (
  input  wire clk,
  input  wire [3:0] \\odd.name ,
  output reg [3:0] q,
  output wire \\odd$q ,
  output wire [0:0] bits,
  output reg r
);
  wire [3:0] inner;
  reg \\begin ;
  always_comb begin
    inner = q;
  end
endmodule
"""


def test_ports_are_declared_once_in_the_header() -> None:
    head, modules = split_modules(EMITTED)
    (module,) = modules
    assert head + module.text == ANSI
    assert [port.name for port in module.ports] == ["clk", "\\odd.name", "q", "\\odd$q", "bits", "r"]


def test_nothing_is_said_of_the_time_before_reset() -> None:
    assert without_initial_values(ANSI) == UNINITIALISED
    assert without_initial_values(UNINITIALISED) == UNINITIALISED
