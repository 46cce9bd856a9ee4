// The generated machine with its memory, and the AXI4-Lite bus as ports: for benches that drive the registers themselves.
`timescale 1ns / 1ps
module tilewright_lite_bench #(
  parameter DATA_BITS    = 128,
  parameter ADDR_BITS    = 40,
  parameter MEMORY_WORDS = 65536,
  parameter LATENCY      = 64,
  parameter PORTS        = 1
) (
  input         clk /* verilator public_flat_rw */,
  input         clk2x /* verilator public_flat_rw */,
  input         rst /* verilator public_flat_rw */,
  output        irq /* verilator public_flat_rw */,
  input  [11:0] awaddr /* verilator public_flat_rw */,
  input         awvalid /* verilator public_flat_rw */,
  output        awready /* verilator public_flat_rw */,
  input  [31:0] wdata /* verilator public_flat_rw */,
  input   [3:0] wstrb /* verilator public_flat_rw */,
  input         wvalid /* verilator public_flat_rw */,
  output        wready /* verilator public_flat_rw */,
  output  [1:0] bresp /* verilator public_flat_rw */,
  output        bvalid /* verilator public_flat_rw */,
  input         bready /* verilator public_flat_rw */,
  input  [11:0] araddr /* verilator public_flat_rw */,
  input         arvalid /* verilator public_flat_rw */,
  output        arready /* verilator public_flat_rw */,
  output [31:0] rdata /* verilator public_flat_rw */,
  output  [1:0] rresp /* verilator public_flat_rw */,
  output        rvalid /* verilator public_flat_rw */,
  input         rready /* verilator public_flat_rw */
);
  localparam ID_BITS = 2;
  localparam [63:0] BYTES = MEMORY_WORDS * (DATA_BITS / 8);

  wire [PORTS*ADDR_BITS-1:0] m_araddr, m_awaddr;
  wire [PORTS*ID_BITS-1:0] m_arid, m_awid, m_rid, m_bid;
  wire [PORTS*8-1:0] m_arlen, m_awlen;
  wire [PORTS*3-1:0] m_arsize, m_awsize;
  wire [PORTS*2-1:0] m_arburst, m_awburst, m_rresp, m_bresp;
  wire [PORTS-1:0] m_arvalid, m_arready, m_rlast, m_rvalid, m_rready, m_awvalid, m_awready, m_wlast, m_wvalid, m_wready;
  wire [PORTS-1:0] m_bvalid, m_bready;
  wire [PORTS*DATA_BITS-1:0] m_rdata, m_wdata;
  wire [PORTS*(DATA_BITS/8)-1:0] m_wstrb;

  tilewright_core core (
`ifdef TILEWRIGHT_CLK2X
    .clk2x(clk2x),
`endif
    .clk(clk), .rst(rst), .irq(irq),
`ifdef TILEWRIGHT_PORTS_2
    `TILEWRIGHT_AXI(0, 0, m_)
    `TILEWRIGHT_AXI(1, 1, m_)
`else
    `TILEWRIGHT_AXI(, 0, m_)
`endif
    .s_axil_awaddr(awaddr), .s_axil_awprot(3'b000), .s_axil_awvalid(awvalid), .s_axil_awready(awready),
    .s_axil_wdata(wdata), .s_axil_wstrb(wstrb), .s_axil_wvalid(wvalid), .s_axil_wready(wready),
    .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(bready),
    .s_axil_araddr(araddr), .s_axil_arprot(3'b000), .s_axil_arvalid(arvalid), .s_axil_arready(arready),
    .s_axil_rdata(rdata), .s_axil_rresp(rresp), .s_axil_rvalid(rvalid), .s_axil_rready(rready)
  );

  tilewright_dram #(
    .DATA_BITS(DATA_BITS), .ADDR_BITS(ADDR_BITS), .ID_BITS(ID_BITS), .WORDS(MEMORY_WORDS), .PORTS(PORTS)
  ) dram (
    .clk(clk), .rst(rst), .seed(32'd0), .latency(LATENCY), .base({ADDR_BITS{1'b0}}), .bytes(BYTES[ADDR_BITS-1:0]),
    .program_base({ADDR_BITS{1'b0}}), .program_bytes({ADDR_BITS{1'b0}}),
    .s_axi_arid(m_arid), .s_axi_araddr(m_araddr), .s_axi_arlen(m_arlen), .s_axi_arvalid(m_arvalid), .s_axi_arready(m_arready),
    .s_axi_rid(m_rid), .s_axi_rdata(m_rdata), .s_axi_rresp(m_rresp), .s_axi_rlast(m_rlast), .s_axi_rvalid(m_rvalid),
    .s_axi_rready(m_rready),
    .s_axi_awid(m_awid), .s_axi_awaddr(m_awaddr), .s_axi_awvalid(m_awvalid), .s_axi_awready(m_awready),
    .s_axi_wdata(m_wdata), .s_axi_wstrb(m_wstrb), .s_axi_wlast(m_wlast), .s_axi_wvalid(m_wvalid), .s_axi_wready(m_wready),
    .s_axi_bid(m_bid), .s_axi_bresp(m_bresp), .s_axi_bvalid(m_bvalid), .s_axi_bready(m_bready)
  );

  reg [8*1024-1:0] image_path;
  initial if ($value$plusargs("image=%s", image_path)) dram.load(image_path);
endmodule
