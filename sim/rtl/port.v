// The host on the AXI4-Lite bus as software is one: C++ asks for one access after the other (see board.cpp).
//
// An access begins when `asked` differs from `answered`, and ends when they are equal again; `value` then holds what was read,
// `refused` whether the response was an error. `reset` is the machine's.
`timescale 1ns / 1ps
module tilewright_host #(
  parameter ADDR_BITS = 12
) (
  input                      clk,
  output reg                 rst,
  input                      irq,
  output                     running,
  output                     finished,
  output                     timeout,
  input               [63:0] limit,

  output reg [ADDR_BITS-1:0] m_axil_awaddr,
  output reg                 m_axil_awvalid,
  input                      m_axil_awready,
  output reg          [31:0] m_axil_wdata,
  output               [3:0] m_axil_wstrb,
  output reg                 m_axil_wvalid,
  input                      m_axil_wready,
  input                [1:0] m_axil_bresp,
  input                      m_axil_bvalid,
  output                     m_axil_bready,
  output reg [ADDR_BITS-1:0] m_axil_araddr,
  output reg                 m_axil_arvalid,
  input                      m_axil_arready,
  input               [31:0] m_axil_rdata,
  input                [1:0] m_axil_rresp,
  input                      m_axil_rvalid,
  output                     m_axil_rready
);
  reg        reset /* verilator public_flat_rw */;
  reg        asked /* verilator public_flat_rw */;
  reg        answered /* verilator public_flat_rw */;
  reg        writes /* verilator public_flat_rw */;
  reg [15:0] offset /* verilator public_flat_rw */;
  reg [31:0] value /* verilator public_flat_rw */;
  reg        refused /* verilator public_flat_rw */;
  reg        interrupt /* verilator public_flat_rw */;
  reg        issued;

  initial begin
    {asked, answered, writes, refused, interrupt, issued} = 0;
    {m_axil_awvalid, m_axil_wvalid, m_axil_arvalid} = 0;
    reset = 1'b1;
    rst = 1'b1;
  end

  assign {running, finished, timeout} = 3'b000;
  assign m_axil_wstrb = 4'hf;
  assign m_axil_bready = 1'b1;
  assign m_axil_rready = 1'b1;

  always @(posedge clk) begin
    rst <= reset;
    interrupt <= irq;
    if (m_axil_awready) m_axil_awvalid <= 1'b0;
    if (m_axil_wready) m_axil_wvalid <= 1'b0;
    if (m_axil_arready) m_axil_arvalid <= 1'b0;
    if (asked != answered) begin
      issued <= 1'b1;
      if (!issued) begin
        m_axil_awaddr  <= offset[ADDR_BITS-1:0];
        m_axil_araddr  <= offset[ADDR_BITS-1:0];
        m_axil_wdata   <= value;
        m_axil_awvalid <= writes;
        m_axil_wvalid  <= writes;
        m_axil_arvalid <= !writes;
      end else if (writes ? m_axil_bvalid : m_axil_rvalid) begin
        if (!writes) value <= m_axil_rdata;
        refused  <= (writes ? m_axil_bresp : m_axil_rresp) != 0;
        answered <= asked;
        issued   <= 1'b0;
      end
    end
  end
endmodule
