// Clock and end of simulation for Icarus, where no C++ main drives the bench.
`timescale 1ns / 1ps
module tilewright_icarus #(
  parameter DATA_BITS    = 128,
  parameter ADDR_BITS    = 40,
  parameter MEMORY_WORDS = 65536,
  parameter LATENCY      = 64,
  parameter CHECK        = 0,
  parameter MAX_BEATS    = 256,
  parameter MAX_READS    = 256,
  parameter PORTS        = 1
);
  reg clk = 1'b0;
  reg clk2x = 1'b0;
  wire finished;
  tilewright_bench #(
    .DATA_BITS(DATA_BITS), .ADDR_BITS(ADDR_BITS), .MEMORY_WORDS(MEMORY_WORDS), .LATENCY(LATENCY),
    .HDL_IMAGE(1), .CHECK(CHECK), .MAX_BEATS(MAX_BEATS), .MAX_READS(MAX_READS), .PORTS(PORTS)
  ) bench (.clk(clk), .clk2x(clk2x), .finished(finished));
`ifdef TILEWRIGHT_CLK2X
  // One process drives both clocks, so that no register sees one edge before the other.
  always begin
    #1 clk = 1'b1; clk2x = 1'b1;
    #1 clk2x = 1'b0;
    #1 clk = 1'b0; clk2x = 1'b1;
    #1 clk2x = 1'b0;
  end
`else
  always #1 clk = !clk;
`endif
  always @(negedge clk) if (finished) $finish;
endmodule
