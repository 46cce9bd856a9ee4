// Watches the AXI4 master port and counts what the protocol forbids, one bit of `broken` for each rule;
// each first violation is also written out with its cycle. It costs simulation time, so it is built on request.
// Nothing counts during reset, where registers may hold anything.
//
//   0  a valid signal fell before its ready            5  WLAST missing or early
//   1  address or data changed while valid waited      6  write data without a burst that asks for it
//   2  a burst crosses 4 KB, or is too long            7  B or R without an outstanding burst, or too many of R
//   3  not an INCR burst of full-width beats           8  RLAST missing or early (a bug of the memory model)
//   4  an address that is not a multiple of the beat   9  a valid or ready signal is unknown after reset
`timescale 1ns / 1ps
module tilewright_axi_checker #(
  parameter DATA_BITS = 128,
  parameter ADDR_BITS = 40,
  parameter MAX_BEATS = 256,
  parameter MAX_READS = 256,
  parameter ID_BITS   = 2
) (
  input                   clk,
  input                   rst,
  output reg        [9:0] broken,
  output reg       [31:0] read_bursts,
  output reg       [31:0] write_bursts,
  output reg       [31:0] responses,
  output                  quiet,

  input     [ID_BITS-1:0] arid,
  input     [ID_BITS-1:0] rid,
  input   [ADDR_BITS-1:0] araddr,
  input             [7:0] arlen,
  input             [2:0] arsize,
  input             [1:0] arburst,
  input                   arvalid,
  input                   arready,
  input                   rvalid,
  input                   rready,
  input                   rlast,
  input   [ADDR_BITS-1:0] awaddr,
  input             [7:0] awlen,
  input             [2:0] awsize,
  input             [1:0] awburst,
  input                   awvalid,
  input                   awready,
  input   [DATA_BITS-1:0] wdata,
  input [DATA_BITS/8-1:0] wstrb,
  input                   wlast,
  input                   wvalid,
  input                   wready,
  input                   bvalid,
  input                   bready
);
  localparam BYTES = DATA_BITS / 8;
  localparam [2:0] SIZE = $clog2(BYTES);
  localparam DEPTH = 256;
  localparam AX_BITS = ADDR_BITS + 13;

  wire      [AX_BITS-1:0] ar = {araddr, arlen, arsize, arburst};
  wire      [AX_BITS-1:0] aw = {awaddr, awlen, awsize, awburst};
  wire [DATA_BITS+BYTES:0] w = {wdata, wstrb, wlast};
  reg       [AX_BITS-1:0] ar_old, aw_old;
  reg  [DATA_BITS+BYTES:0] w_old;
  reg                     ar_held, aw_held, w_held;

  // Lengths of the bursts whose beats are still to come, of reads for each id, as only those of one id stay in order;
  // W bursts may finish before their address is taken.
  localparam IDS = 1 << ID_BITS;
  reg [7:0] r_len [0:IDS*DEPTH-1];
  reg [7:0] r_asked [0:IDS-1];
  reg [7:0] r_ended [0:IDS-1];
  reg [7:0] r_beat [0:IDS-1];
  reg [7:0] w_len [0:DEPTH-1];
  reg [7:0] aw_len [0:DEPTH-1];
  reg [31:0] r_bursts, w_bursts;
  reg  [7:0] w_beat;
  reg [31:0] cycle;
  wire       asked = w_bursts < write_bursts || (w_bursts == write_bursts && awvalid && awready);
  wire [7:0] asked_len = w_bursts < write_bursts ? aw_len[w_bursts % DEPTH] : awlen;

  // No burst is under way.
  assign quiet = r_bursts == read_bursts && w_bursts == write_bursts && responses == write_bursts;

  function crosses(input [ADDR_BITS-1:0] address, input [7:0] len);
    crosses = {1'b0, address[11:0]} + ({5'd0, len} + 13'd1) * BYTES > 13'd4096 || len >= MAX_BEATS;
  endfunction

  task report(input integer rule);
    begin
      if (!rst && !broken[rule]) $display("AXI rule %0d broken in cycle %0d", rule, cycle);
      broken[rule] <= 1'b1;
    end
  endtask

  integer clear;
  always @(posedge clk) begin
    cycle <= cycle + 1;
    ar_held <= arvalid && !arready;
    aw_held <= awvalid && !awready;
    w_held  <= wvalid && !wready;
    ar_old <= ar;
    aw_old <= aw;
    w_old  <= w;
    if ((ar_held && !arvalid) || (aw_held && !awvalid) || (w_held && !wvalid)) report(0);
    if ((ar_held && ar !== ar_old) || (aw_held && aw !== aw_old) || (w_held && w !== w_old)) report(1);
    if ((arvalid && crosses(araddr, arlen)) || (awvalid && crosses(awaddr, awlen))) report(2);
    if ((arvalid && (arburst != 2'b01 || arsize != SIZE)) || (awvalid && (awburst != 2'b01 || awsize != SIZE))) report(3);
    if ((arvalid && araddr % BYTES != 0) || (awvalid && awaddr % BYTES != 0)) report(4);
    if (^{arvalid, awvalid, wvalid, rready, bready} === 1'bx) report(9);

    if (arvalid && arready) begin
      r_len[{arid, r_asked[arid]}] <= arlen;
      r_asked[arid] <= r_asked[arid] + 8'd1;
      if (read_bursts - r_bursts >= MAX_READS) report(7);
      read_bursts <= read_bursts + 1;
    end
    if (rvalid && rready) begin
      if (r_bursts == read_bursts || r_asked[rid] == r_ended[rid]) report(7);
      else if (rlast != (r_beat[rid] == r_len[{rid, r_ended[rid]}])) report(8);
      r_beat[rid] <= rlast ? 8'd0 : r_beat[rid] + 8'd1;
      if (rlast) begin
        r_ended[rid] <= r_ended[rid] + 8'd1;
        r_bursts <= r_bursts + 1;
      end
    end

    if (awvalid && awready) begin
      aw_len[write_bursts % DEPTH] <= awlen;
      if (w_bursts > write_bursts && w_len[write_bursts % DEPTH] != awlen) report(5);
      if (w_bursts == write_bursts && w_beat > awlen) report(5);
      write_bursts <= write_bursts + 1;
    end
    if (wvalid && wready) begin
      if (w_bursts - write_bursts == DEPTH) report(6);
      if (asked && wlast != (w_beat == asked_len)) report(5);
      if (wlast) w_len[w_bursts % DEPTH] <= w_beat;
      w_beat <= wlast ? 8'd0 : w_beat + 8'd1;
      if (wlast) w_bursts <= w_bursts + 1;
    end
    if (bvalid && bready) begin
      if (responses == write_bursts || responses == w_bursts) report(7);
      responses <= responses + 1;
    end

    if (rst) begin
      broken <= 0;
      {ar_held, aw_held, w_held} <= 0;
      {read_bursts, write_bursts, responses, r_bursts, w_bursts, w_beat, cycle} <= 0;
      for (clear = 0; clear < IDS; clear = clear + 1) {r_asked[clear], r_ended[clear], r_beat[clear]} <= 0;
    end
  end
endmodule
