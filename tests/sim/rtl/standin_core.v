// A stand-in for the generated machine, for tests of the bench alone: copies PROGRAM_WORDS 32-bit words, one beat at
// a time, from the program address to the base of region OUTPUT, then raises the interrupt. A response with
// an error stops it with FETCH_ERROR or WRITE_ERROR and the word offset.
module tilewright_core (
  input         clk,
  input         rst,
  output        irq,
  output  [1:0] m_axi_arid,
  output        m_axi_arlock,
  output  [3:0] m_axi_arcache,
  output  [2:0] m_axi_arprot,
  output [31:0] m_axi_araddr,
  output  [7:0] m_axi_arlen,
  output  [2:0] m_axi_arsize,
  output  [1:0] m_axi_arburst,
  output reg    m_axi_arvalid,
  input         m_axi_arready,
  input   [1:0] m_axi_rid,
  input  [63:0] m_axi_rdata,
  input   [1:0] m_axi_rresp,
  input         m_axi_rlast,
  input         m_axi_rvalid,
  output        m_axi_rready,
  output  [1:0] m_axi_awid,
  output        m_axi_awlock,
  output  [3:0] m_axi_awcache,
  output  [2:0] m_axi_awprot,
  output [31:0] m_axi_awaddr,
  output  [7:0] m_axi_awlen,
  output  [2:0] m_axi_awsize,
  output  [1:0] m_axi_awburst,
  output reg    m_axi_awvalid,
  input         m_axi_awready,
  output reg [63:0] m_axi_wdata,
  output  [7:0] m_axi_wstrb,
  output        m_axi_wlast,
  output reg    m_axi_wvalid,
  input         m_axi_wready,
  input   [1:0] m_axi_bid,
  input   [1:0] m_axi_bresp,
  input         m_axi_bvalid,
  output        m_axi_bready,
  input   [2:0] s_axil_awprot,
  input  [11:0] s_axil_awaddr,
  input         s_axil_awvalid,
  output        s_axil_awready,
  input  [31:0] s_axil_wdata,
  input   [3:0] s_axil_wstrb,
  input         s_axil_wvalid,
  output        s_axil_wready,
  output  [1:0] s_axil_bresp,
  output reg    s_axil_bvalid,
  input         s_axil_bready,
  input   [2:0] s_axil_arprot,
  input  [11:0] s_axil_araddr,
  input         s_axil_arvalid,
  output        s_axil_arready,
  output reg [31:0] s_axil_rdata,
  output  [1:0] s_axil_rresp,
  output reg    s_axil_rvalid,
  input         s_axil_rready,
  output        trace_load_start,
  output        trace_load_finish,
  output [31:0] trace_load_start_pc,
  output [31:0] trace_load_finish_pc,
  output        trace_save_start,
  output        trace_save_finish,
  output [31:0] trace_save_start_pc,
  output [31:0] trace_save_finish_pc,
  output        trace_conv_start,
  output        trace_conv_finish,
  output [31:0] trace_conv_start_pc,
  output [31:0] trace_conv_finish_pc
);
  localparam IDLE = 0, ADDRESS = 1, DATA = 2, WRITE = 3, RESPONSE = 4;
  reg [31:0] program_base, program_words, output_base, done_words, cycles, code;
  reg  [2:0] state;
  reg        done;

  assign {m_axi_arid, m_axi_awid, m_axi_arlock, m_axi_awlock, m_axi_arcache, m_axi_awcache, m_axi_arprot, m_axi_awprot} = 0;
  assign irq = done;
  assign {m_axi_arlen, m_axi_awlen} = 0;
  assign {m_axi_arsize, m_axi_awsize} = {3'd3, 3'd3};
  assign {m_axi_arburst, m_axi_awburst} = {2'd1, 2'd1};
  assign m_axi_araddr = program_base + 4 * done_words;
  assign m_axi_awaddr = output_base + 4 * done_words;
  assign m_axi_wstrb = program_words - done_words == 1 ? 8'h0f : 8'hff;
  assign m_axi_wlast = 1'b1;
  assign m_axi_rready = state == DATA;
  assign m_axi_bready = state == RESPONSE;
  assign s_axil_awready = s_axil_wvalid && !s_axil_bvalid;
  assign s_axil_wready = s_axil_awvalid && !s_axil_bvalid;
  assign s_axil_arready = !s_axil_rvalid;
  assign {s_axil_bresp, s_axil_rresp} = 0;
  assign trace_load_start = m_axi_arvalid && m_axi_arready;
  assign trace_load_finish = m_axi_bvalid && m_axi_bready;
  assign {trace_load_start_pc, trace_load_finish_pc} = {2{done_words}};
  assign {trace_save_start, trace_save_finish, trace_save_start_pc, trace_save_finish_pc} = 0;
  assign {trace_conv_start, trace_conv_finish, trace_conv_start_pc, trace_conv_finish_pc} = 0;

  always @(posedge clk) begin
    if (s_axil_bready) s_axil_bvalid <= 1'b0;
    if (s_axil_rready) s_axil_rvalid <= 1'b0;
    if (s_axil_awvalid && s_axil_awready) begin
      s_axil_bvalid <= 1'b1;
      case (s_axil_awaddr)
        12'h00c: begin
          state <= ADDRESS;
          m_axi_arvalid <= 1'b1;
          {done_words, cycles, done, code} <= 0;
        end
        12'h030: program_base <= s_axil_wdata;
        12'h02c: program_words <= s_axil_wdata;
        12'h058: output_base <= s_axil_wdata;
        default: ;
      endcase
    end
    if (s_axil_arvalid && s_axil_arready) begin
      s_axil_rvalid <= 1'b1;
      case (s_axil_araddr)
        12'h010: s_axil_rdata <= {28'd0, state == IDLE, code != 0, done, state != IDLE};
        12'h01c: s_axil_rdata <= code;
        12'h020: s_axil_rdata <= done_words;
        12'h080: s_axil_rdata <= cycles;
        default: s_axil_rdata <= 0;
      endcase
    end
    if (state != IDLE) cycles <= cycles + 1;
    case (state)
      ADDRESS: if (m_axi_arready) begin
        m_axi_arvalid <= 1'b0;
        state <= DATA;
      end
      DATA: if (m_axi_rvalid) begin
        m_axi_wdata <= m_axi_rdata;
        code <= m_axi_rresp != 0 ? 8 : 0;
        done <= m_axi_rresp != 0;
        {m_axi_awvalid, m_axi_wvalid} <= {2{m_axi_rresp == 0}};
        state <= m_axi_rresp != 0 ? IDLE : WRITE;
      end
      WRITE: begin
        if (m_axi_awready) m_axi_awvalid <= 1'b0;
        if (m_axi_wready) m_axi_wvalid <= 1'b0;
        if ((!m_axi_awvalid || m_axi_awready) && (!m_axi_wvalid || m_axi_wready)) state <= RESPONSE;
      end
      RESPONSE: if (m_axi_bvalid) begin
        code <= m_axi_bresp != 0 ? 7 : 0;
        if (m_axi_bresp != 0 || done_words + 2 >= program_words) begin
          done <= 1'b1;
          state <= IDLE;
        end else begin
          done_words <= done_words + 2;
          m_axi_arvalid <= 1'b1;
          state <= ADDRESS;
        end
      end
      default: ;
    endcase
    if (rst) {state, done, code, m_axi_arvalid, m_axi_awvalid, m_axi_wvalid, s_axil_bvalid, s_axil_rvalid} <= 0;
  end
endmodule
