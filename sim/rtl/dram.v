// DRAM behind one AXI4 slave port (INCR bursts of full-width beats; ids are returned, everything stays in order).
//
// A read burst's first beat is offered `latency` cycles after its address was taken; after that the memory port
// moves one data beat in every cycle, read or write, in turn when both want it. Up to QUEUE bursts of each
// direction are outstanding. B follows in the cycle after the last beat of a burst was written.
// Two windows answer: data at `base` (`bytes` long, first in the array) and the program at `program_base`
// (`program_bytes` long, after the data). Beats elsewhere are answered with DECERR and change nothing.
`timescale 1ns / 1ps
module tilewright_dram #(
  parameter DATA_BITS = 128,
  parameter ADDR_BITS = 40,
  parameter ID_BITS   = 2,
  parameter WORDS     = 65536,
  parameter QUEUE     = 16
) (
  input                      clk,
  input                      rst,
  input               [31:0] seed,
  input               [31:0] latency,
  input      [ADDR_BITS-1:0] base,
  input      [ADDR_BITS-1:0] bytes,
  input      [ADDR_BITS-1:0] program_base,
  input      [ADDR_BITS-1:0] program_bytes,

  input        [ID_BITS-1:0] s_axi_arid,
  input      [ADDR_BITS-1:0] s_axi_araddr,
  input                [7:0] s_axi_arlen,
  input                      s_axi_arvalid,
  output                     s_axi_arready,
  output reg   [ID_BITS-1:0] s_axi_rid,
  output reg [DATA_BITS-1:0] s_axi_rdata,
  output reg           [1:0] s_axi_rresp,
  output reg                 s_axi_rlast,
  output reg                 s_axi_rvalid,
  input                      s_axi_rready,

  input        [ID_BITS-1:0] s_axi_awid,
  input      [ADDR_BITS-1:0] s_axi_awaddr,
  input                      s_axi_awvalid,
  output                     s_axi_awready,
  input      [DATA_BITS-1:0] s_axi_wdata,
  input    [DATA_BITS/8-1:0] s_axi_wstrb,
  input                      s_axi_wlast,
  input                      s_axi_wvalid,
  output                     s_axi_wready,
  output reg   [ID_BITS-1:0] s_axi_bid,
  output reg           [1:0] s_axi_bresp,
  output reg                 s_axi_bvalid,
  input                      s_axi_bready
);
  localparam BEAT_SHIFT = $clog2(DATA_BITS / 8);
  localparam INDEX_BITS = WORDS > 1 ? $clog2(WORDS) : 1;
  localparam QUEUE_BITS = $clog2(QUEUE);
  localparam [1:0] OKAY = 2'b00, DECERR = 2'b11;

  reg [DATA_BITS-1:0] memory [0:WORDS-1] /* verilator public_flat_rw */;

  wire [4:0] stall;
  wire [5:0] jitter;
  tilewright_stalls stalls (.clk(clk), .rst(rst), .seed(seed), .stall(stall), .jitter(jitter));

  reg [31:0] now;
  always @(posedge clk) now <= rst ? 32'd0 : now + 32'd1;

  // Read bursts: the queue holds beat address, beats left and the first cycle in which data may be fetched.
  reg [ADDR_BITS-1:0] ar_addr [0:QUEUE-1];
  reg           [7:0] ar_len  [0:QUEUE-1];
  reg   [ID_BITS-1:0] ar_id   [0:QUEUE-1];
  reg          [31:0] ar_due  [0:QUEUE-1];
  reg  [QUEUE_BITS:0] ar_head, ar_tail;
  reg           [7:0] r_done;
  wire [QUEUE_BITS:0] ar_count = ar_tail - ar_head;
  wire [QUEUE_BITS-1:0] ar_slot = ar_head[QUEUE_BITS-1:0];
  wire         [31:0] r_early = now - ar_due[ar_slot];
  wire [ADDR_BITS-1:0] r_addr = {ar_addr[ar_slot][ADDR_BITS-1:BEAT_SHIFT], {BEAT_SHIFT{1'b0}}}
                                + ({{ADDR_BITS-8{1'b0}}, r_done} << BEAT_SHIFT);
  wire [ADDR_BITS-1:0] r_in_data = r_addr - base;
  wire [ADDR_BITS-1:0] r_in_code = r_addr - program_base;
  wire [ADDR_BITS-1:0] r_offset = r_in_data < bytes ? r_in_data : r_in_code + bytes;
  wire                r_inside = r_in_data < bytes || r_in_code < program_bytes;
  wire                r_final = r_done == ar_len[ar_slot];
  wire                r_want = ar_count != 0 && !r_early[31] && (!s_axi_rvalid || s_axi_rready) && !stall[2];

  // Write bursts: addresses, data and responses each have their queue.
  reg [ADDR_BITS-1:0] aw_addr [0:QUEUE-1];
  reg   [ID_BITS-1:0] aw_id   [0:QUEUE-1];
  reg  [QUEUE_BITS:0] aw_head, aw_tail;
  reg [DATA_BITS-1:0] w_data [0:QUEUE-1];
  reg [DATA_BITS/8-1:0] w_strb [0:QUEUE-1];
  reg     [QUEUE-1:0] w_last;
  reg  [QUEUE_BITS:0] w_head, w_tail;
  reg     [QUEUE-1:0] b_error;
  reg   [ID_BITS-1:0] b_id [0:QUEUE-1];
  reg  [QUEUE_BITS:0] b_head, b_tail;
  reg           [7:0] w_done;
  reg                 w_failed;
  wire [QUEUE_BITS:0] aw_count = aw_tail - aw_head;
  wire [QUEUE_BITS:0] w_count = w_tail - w_head;
  wire [QUEUE_BITS:0] b_count = b_tail - b_head;
  wire [QUEUE_BITS-1:0] aw_slot = aw_head[QUEUE_BITS-1:0];
  wire [QUEUE_BITS-1:0] w_slot = w_head[QUEUE_BITS-1:0];
  wire [ADDR_BITS-1:0] w_addr = {aw_addr[aw_slot][ADDR_BITS-1:BEAT_SHIFT], {BEAT_SHIFT{1'b0}}}
                                + ({{ADDR_BITS-8{1'b0}}, w_done} << BEAT_SHIFT);
  wire [ADDR_BITS-1:0] w_in_data = w_addr - base;
  wire [ADDR_BITS-1:0] w_in_code = w_addr - program_base;
  wire [ADDR_BITS-1:0] w_offset = w_in_data < bytes ? w_in_data : w_in_code + bytes;
  wire                w_inside = w_in_data < bytes || w_in_code < program_bytes;
  wire                w_want = aw_count != 0 && w_count != 0 && !b_count[QUEUE_BITS];

  // The shared data port.
  reg  write_next;
  wire read  = r_want && !(w_want && write_next);
  wire write = w_want && !read;

  assign s_axi_arready = !ar_count[QUEUE_BITS] && !stall[0];
  assign s_axi_awready = !aw_count[QUEUE_BITS] && !stall[1];
  assign s_axi_wready  = !w_count[QUEUE_BITS] && !stall[3];

  wire [INDEX_BITS-1:0] r_index = r_offset[BEAT_SHIFT +: INDEX_BITS];
  wire [INDEX_BITS-1:0] w_index = w_offset[BEAT_SHIFT +: INDEX_BITS];

  function [DATA_BITS-1:0] merge(input [DATA_BITS-1:0] old, input [DATA_BITS-1:0] data, input [DATA_BITS/8-1:0] strobe);
    integer lane;
    for (lane = 0; lane < DATA_BITS / 8; lane = lane + 1)
      merge[8*lane +: 8] = strobe[lane] ? data[8*lane +: 8] : old[8*lane +: 8];
  endfunction

  // The image in a file for simulators without a C++ main: words in binary, most significant byte first.
  task load(input [8*1024-1:0] path);
    integer file, count;
    begin
      file = $fopen(path, "rb");
      count = $fread(memory, file);
      $fclose(file);
      if (count == 0) $display("memory image %0s is empty", path);
    end
  endtask

  // The first `count` words as lines of hexadecimal digits.
  task dump(input [8*1024-1:0] path, input integer count);
    integer file, index;
    begin
      file = $fopen(path, "w");
      for (index = 0; index < count; index = index + 1) $fwrite(file, "%h\n", memory[index]);
      $fclose(file);
    end
  endtask

  always @(posedge clk) begin
    if (s_axi_rvalid && s_axi_rready) s_axi_rvalid <= 1'b0;
    if (s_axi_arvalid && s_axi_arready) begin
      ar_addr[ar_tail[QUEUE_BITS-1:0]] <= s_axi_araddr;
      ar_len[ar_tail[QUEUE_BITS-1:0]]  <= s_axi_arlen;
      ar_id[ar_tail[QUEUE_BITS-1:0]]   <= s_axi_arid;
      ar_due[ar_tail[QUEUE_BITS-1:0]]  <= now + latency - 1 + {26'd0, jitter};
      ar_tail <= ar_tail + 1'b1;
    end
    if (read) begin
      s_axi_rvalid <= 1'b1;
      s_axi_rid    <= ar_id[ar_slot];
      s_axi_rdata  <= r_inside ? memory[r_index] : {DATA_BITS{1'b0}};
      s_axi_rresp  <= r_inside ? OKAY : DECERR;
      s_axi_rlast  <= r_final;
      r_done       <= r_final ? 8'd0 : r_done + 8'd1;
      if (r_final) ar_head <= ar_head + 1'b1;
    end

    if (s_axi_awvalid && s_axi_awready) begin
      aw_addr[aw_tail[QUEUE_BITS-1:0]] <= s_axi_awaddr;
      aw_id[aw_tail[QUEUE_BITS-1:0]]   <= s_axi_awid;
      aw_tail <= aw_tail + 1'b1;
    end
    if (s_axi_wvalid && s_axi_wready) begin
      w_data[w_tail[QUEUE_BITS-1:0]] <= s_axi_wdata;
      w_strb[w_tail[QUEUE_BITS-1:0]] <= s_axi_wstrb;
      w_last[w_tail[QUEUE_BITS-1:0]] <= s_axi_wlast;
      w_tail <= w_tail + 1'b1;
    end
    if (write) begin
      if (w_inside)
        memory[w_index] <= &w_strb[w_slot] ? w_data[w_slot] : merge(memory[w_index], w_data[w_slot], w_strb[w_slot]);
      w_head <= w_head + 1'b1;
      w_done <= w_last[w_slot] ? 8'd0 : w_done + 8'd1;
      w_failed <= !w_last[w_slot] && (w_failed || !w_inside);
      if (w_last[w_slot]) begin
        b_error[b_tail[QUEUE_BITS-1:0]] <= w_failed || !w_inside;
        b_id[b_tail[QUEUE_BITS-1:0]]    <= aw_id[aw_slot];
        b_tail  <= b_tail + 1'b1;
        aw_head <= aw_head + 1'b1;
      end
    end
    if (s_axi_bvalid && s_axi_bready) s_axi_bvalid <= 1'b0;
    if (b_count != 0 && (!s_axi_bvalid || s_axi_bready) && !stall[4]) begin
      s_axi_bvalid <= 1'b1;
      s_axi_bid    <= b_id[b_head[QUEUE_BITS-1:0]];
      s_axi_bresp  <= b_error[b_head[QUEUE_BITS-1:0]] ? DECERR : OKAY;
      b_head <= b_head + 1'b1;
    end
    if (read) write_next <= 1'b1;
    else if (write) write_next <= 1'b0;

    if (rst) begin
      {ar_head, ar_tail, aw_head, aw_tail, w_head, w_tail, b_head, b_tail} <= 0;
      {r_done, w_done, w_failed, write_next} <= 0;
      s_axi_rvalid <= 1'b0;
      s_axi_bvalid <= 1'b0;
    end
  end
endmodule
