// Memory with two ports: AXI4 for the machine, as the benches have it (sim/rtl/dram.v), and Wishbone for the processor, which
// takes a cycle per access and never gets in the machine's way. So the machine takes as many cycles as in the benches.
`timescale 1ns / 1ps
module shared_memory #(
  parameter DATA_BITS = 64,
  parameter ADDR_BITS = 32,
  parameter WORDS     = 65536,
  parameter LATENCY   = 64,
  parameter [ADDR_BITS-1:0] BASE = 0
) (
  input                    clk,
  input                    rst,

  input                    wb_cyc,
  input                    wb_stb,
  input                    wb_we,
  input             [29:0] wb_adr,
  input              [3:0] wb_sel,
  input             [31:0] wb_dat_w,
  output reg        [31:0] wb_dat_r,
  output reg               wb_ack,

  input              [1:0] s_axi_arid,
  input    [ADDR_BITS-1:0] s_axi_araddr,
  input              [7:0] s_axi_arlen,
  input                    s_axi_arvalid,
  output                   s_axi_arready,
  output             [1:0] s_axi_rid,
  output   [DATA_BITS-1:0] s_axi_rdata,
  output             [1:0] s_axi_rresp,
  output                   s_axi_rlast,
  output                   s_axi_rvalid,
  input                    s_axi_rready,
  input              [1:0] s_axi_awid,
  input    [ADDR_BITS-1:0] s_axi_awaddr,
  input                    s_axi_awvalid,
  output                   s_axi_awready,
  input    [DATA_BITS-1:0] s_axi_wdata,
  input  [DATA_BITS/8-1:0] s_axi_wstrb,
  input                    s_axi_wlast,
  input                    s_axi_wvalid,
  output                   s_axi_wready,
  output             [1:0] s_axi_bid,
  output             [1:0] s_axi_bresp,
  output                   s_axi_bvalid,
  input                    s_axi_bready
);
  localparam LANE_BITS = $clog2(DATA_BITS / 32);
  localparam INDEX_BITS = $clog2(WORDS);

  tilewright_dram #(.DATA_BITS(DATA_BITS), .ADDR_BITS(ADDR_BITS), .WORDS(WORDS)) dram (
    .clk(clk), .rst(rst), .seed(32'd0), .latency(LATENCY),
    .base(BASE), .bytes(WORDS * (DATA_BITS / 8)), .program_base({ADDR_BITS{1'b0}}), .program_bytes({ADDR_BITS{1'b0}}),
    .s_axi_arid(s_axi_arid), .s_axi_araddr(s_axi_araddr), .s_axi_arlen(s_axi_arlen), .s_axi_arvalid(s_axi_arvalid),
    .s_axi_arready(s_axi_arready), .s_axi_rid(s_axi_rid), .s_axi_rdata(s_axi_rdata), .s_axi_rresp(s_axi_rresp),
    .s_axi_rlast(s_axi_rlast), .s_axi_rvalid(s_axi_rvalid), .s_axi_rready(s_axi_rready),
    .s_axi_awid(s_axi_awid), .s_axi_awaddr(s_axi_awaddr), .s_axi_awvalid(s_axi_awvalid), .s_axi_awready(s_axi_awready),
    .s_axi_wdata(s_axi_wdata), .s_axi_wstrb(s_axi_wstrb), .s_axi_wlast(s_axi_wlast), .s_axi_wvalid(s_axi_wvalid),
    .s_axi_wready(s_axi_wready), .s_axi_bid(s_axi_bid), .s_axi_bresp(s_axi_bresp), .s_axi_bvalid(s_axi_bvalid),
    .s_axi_bready(s_axi_bready)
  );

  wire [INDEX_BITS-1:0] index = wb_adr[LANE_BITS +: INDEX_BITS];
  wire [LANE_BITS-1:0]  lane = wb_adr[LANE_BITS-1:0];
  wire                  access = wb_cyc && wb_stb && !wb_ack;
  integer byte_;

  always @(posedge clk) begin
    wb_ack <= access && !rst;
    wb_dat_r <= dram.memory[index][32*lane +: 32];
    if (access && wb_we)
      for (byte_ = 0; byte_ < 4; byte_ = byte_ + 1)
        if (wb_sel[byte_]) dram.memory[index][32*lane + 8*byte_ +: 8] <= wb_dat_w[8*byte_ +: 8];
  end
endmodule
