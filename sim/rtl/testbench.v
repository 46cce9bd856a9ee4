// The generated machine with its memory and its host. `clk` comes from outside: C++, tilewright_icarus or cocotb;
// so does `clk2x`, twice that clock, for machines that have it (TILEWRIGHT_CLK2X).
//
// Plusargs: +script= and +result= (see host.v), +limit= (cycles until the host gives up waiting),
// +memory_base=, +memory_bytes=, +program_base= and +program_bytes= (hexadecimal: where DRAM answers),
// +stall_seed= (0: no stalls), +latency= (of a read, in cycles), +trace= (file for the start and finish of every instruction),
// +memory_seed=, +disorder=, +late=, +bad= and +bad_bytes= (see dram.v),
// +image= and +dump= (see dram.v, too; not with the C++ main). Defines: TILEWRIGHT_NO_POOL, TILEWRIGHT_NO_MISC and
// TILEWRIGHT_NO_ROW for machines without these units. `broken` and `quiet` come from the AXI4 checker (CHECK).
`timescale 1ns / 1ps
module tilewright_bench #(
  parameter DATA_BITS    = 128,
  parameter ADDR_BITS    = 40,
  parameter MEMORY_WORDS = 65536,
  parameter LATENCY      = 64,
  parameter QUEUE        = 16,
  parameter HDL_IMAGE    = 0,
  parameter CHECK        = 0,
  parameter MAX_BEATS    = 256,
  parameter MAX_READS    = 256
) (
  input        clk /* verilator public_flat_rw */,
  input        clk2x /* verilator public_flat_rw */,
  output       finished /* verilator public_flat_rw */,
  output [9:0] broken /* verilator public_flat_rw */,
  output       quiet /* verilator public_flat_rw */
);
  localparam LITE_BITS = 12;
  localparam ID_BITS = 2;
  localparam UNITS = 6;

  wire rst, irq, running, timeout;
  wire [ADDR_BITS-1:0] araddr, awaddr;
  wire [ID_BITS-1:0] arid, awid, rid, bid;
  wire [7:0] arlen, awlen;
  wire [2:0] arsize, awsize;
  wire [1:0] arburst, awburst, rresp, bresp;
  wire arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  wire [DATA_BITS-1:0] rdata, wdata;
  wire [DATA_BITS/8-1:0] wstrb;

  wire [LITE_BITS-1:0] l_awaddr, l_araddr;
  wire l_awvalid, l_awready, l_wvalid, l_wready, l_bvalid, l_bready, l_arvalid, l_arready, l_rvalid, l_rready;
  wire [31:0] l_wdata, l_rdata;
  wire [3:0] l_wstrb;
  wire [1:0] l_bresp, l_rresp;

  wire [UNITS-1:0] trace_start, trace_finish;
  wire [32*UNITS-1:0] trace_pc;

  reg [63:0] limit, memory_base, memory_bytes, program_base, program_bytes;
  reg [31:0] stall_seed, latency;
  reg [8*1024-1:0] path;
  integer trace;
  initial begin
    if (!$value$plusargs("limit=%d", limit)) limit = 64'd1000000000;
    if (!$value$plusargs("memory_base=%h", memory_base)) memory_base = 0;
    if (!$value$plusargs("memory_bytes=%h", memory_bytes)) memory_bytes = MEMORY_WORDS * (DATA_BITS / 8);
    if (!$value$plusargs("program_base=%h", program_base)) program_base = 0;
    if (!$value$plusargs("program_bytes=%h", program_bytes)) program_bytes = 0;
    if (!$value$plusargs("stall_seed=%d", stall_seed)) stall_seed = 0;
    if (!$value$plusargs("latency=%d", latency)) latency = LATENCY;
    trace = 0;
    if ($value$plusargs("trace=%s", path)) trace = $fopen(path, "w");
  end

  tilewright_host #(.ADDR_BITS(LITE_BITS)) host (
    .clk(clk), .rst(rst), .irq(irq), .running(running), .finished(finished), .timeout(timeout), .limit(limit),
    .m_axil_awaddr(l_awaddr), .m_axil_awvalid(l_awvalid), .m_axil_awready(l_awready),
    .m_axil_wdata(l_wdata), .m_axil_wstrb(l_wstrb), .m_axil_wvalid(l_wvalid), .m_axil_wready(l_wready),
    .m_axil_bresp(l_bresp), .m_axil_bvalid(l_bvalid), .m_axil_bready(l_bready),
    .m_axil_araddr(l_araddr), .m_axil_arvalid(l_arvalid), .m_axil_arready(l_arready),
    .m_axil_rdata(l_rdata), .m_axil_rresp(l_rresp), .m_axil_rvalid(l_rvalid), .m_axil_rready(l_rready)
  );

  tilewright_core core (
`ifdef TILEWRIGHT_CLK2X
    .clk2x(clk2x),
`endif
    .clk(clk), .rst(rst), .irq(irq),
    .m_axi_arid(arid), .m_axi_araddr(araddr), .m_axi_arlen(arlen), .m_axi_arsize(arsize), .m_axi_arburst(arburst),
    .m_axi_arlock(), .m_axi_arcache(), .m_axi_arprot(), .m_axi_arvalid(arvalid), .m_axi_arready(arready),
    .m_axi_rid(rid), .m_axi_rdata(rdata), .m_axi_rresp(rresp), .m_axi_rlast(rlast), .m_axi_rvalid(rvalid), .m_axi_rready(rready),
    .m_axi_awid(awid), .m_axi_awaddr(awaddr), .m_axi_awlen(awlen), .m_axi_awsize(awsize), .m_axi_awburst(awburst),
    .m_axi_awlock(), .m_axi_awcache(), .m_axi_awprot(), .m_axi_awvalid(awvalid), .m_axi_awready(awready),
    .m_axi_wdata(wdata), .m_axi_wstrb(wstrb), .m_axi_wlast(wlast), .m_axi_wvalid(wvalid), .m_axi_wready(wready),
    .m_axi_bid(bid), .m_axi_bresp(bresp), .m_axi_bvalid(bvalid), .m_axi_bready(bready),
    .s_axil_awaddr(l_awaddr), .s_axil_awprot(3'b000), .s_axil_awvalid(l_awvalid), .s_axil_awready(l_awready),
    .s_axil_wdata(l_wdata), .s_axil_wstrb(l_wstrb), .s_axil_wvalid(l_wvalid), .s_axil_wready(l_wready),
    .s_axil_bresp(l_bresp), .s_axil_bvalid(l_bvalid), .s_axil_bready(l_bready),
    .s_axil_araddr(l_araddr), .s_axil_arprot(3'b000), .s_axil_arvalid(l_arvalid), .s_axil_arready(l_arready),
    .s_axil_rdata(l_rdata), .s_axil_rresp(l_rresp), .s_axil_rvalid(l_rvalid), .s_axil_rready(l_rready),
`ifdef TILEWRIGHT_NO_POOL
`else
    .trace_pool_start(trace_start[3]), .trace_pool_start_pc(trace_pc[96 +: 32]),
    .trace_pool_finish(trace_finish[3]), .trace_pool_finish_pc(),
`endif
`ifdef TILEWRIGHT_NO_MISC
`else
    .trace_misc_start(trace_start[4]), .trace_misc_start_pc(trace_pc[128 +: 32]),
    .trace_misc_finish(trace_finish[4]), .trace_misc_finish_pc(),
`endif
`ifdef TILEWRIGHT_NO_ROW
`else
    .trace_row_start(trace_start[5]), .trace_row_start_pc(trace_pc[160 +: 32]),
    .trace_row_finish(trace_finish[5]), .trace_row_finish_pc(),
`endif
    .trace_load_start(trace_start[0]), .trace_load_start_pc(trace_pc[0 +: 32]),
    .trace_load_finish(trace_finish[0]), .trace_load_finish_pc(),
    .trace_save_start(trace_start[1]), .trace_save_start_pc(trace_pc[32 +: 32]),
    .trace_save_finish(trace_finish[1]), .trace_save_finish_pc(),
    .trace_conv_start(trace_start[2]), .trace_conv_start_pc(trace_pc[64 +: 32]),
    .trace_conv_finish(trace_finish[2]), .trace_conv_finish_pc()
  );
`ifdef TILEWRIGHT_NO_POOL
  assign {trace_start[3], trace_finish[3], trace_pc[96 +: 32]} = 0;
`endif
`ifdef TILEWRIGHT_NO_MISC
  assign {trace_start[4], trace_finish[4], trace_pc[128 +: 32]} = 0;
`endif
`ifdef TILEWRIGHT_NO_ROW
  assign {trace_start[5], trace_finish[5], trace_pc[160 +: 32]} = 0;
`endif

  tilewright_dram #(
    .DATA_BITS(DATA_BITS), .ADDR_BITS(ADDR_BITS), .ID_BITS(ID_BITS), .WORDS(MEMORY_WORDS), .QUEUE(QUEUE)
  ) dram (
    .clk(clk), .rst(rst), .seed(stall_seed), .latency(latency),
    .base(memory_base[ADDR_BITS-1:0]), .bytes(memory_bytes[ADDR_BITS-1:0]),
    .program_base(program_base[ADDR_BITS-1:0]), .program_bytes(program_bytes[ADDR_BITS-1:0]),
    .s_axi_arid(arid), .s_axi_araddr(araddr), .s_axi_arlen(arlen), .s_axi_arvalid(arvalid), .s_axi_arready(arready),
    .s_axi_rid(rid), .s_axi_rdata(rdata), .s_axi_rresp(rresp), .s_axi_rlast(rlast), .s_axi_rvalid(rvalid), .s_axi_rready(rready),
    .s_axi_awid(awid), .s_axi_awaddr(awaddr), .s_axi_awvalid(awvalid), .s_axi_awready(awready),
    .s_axi_wdata(wdata), .s_axi_wstrb(wstrb), .s_axi_wlast(wlast), .s_axi_wvalid(wvalid), .s_axi_wready(wready),
    .s_axi_bid(bid), .s_axi_bresp(bresp), .s_axi_bvalid(bvalid), .s_axi_bready(bready)
  );

  // Cycle 0 is the one after the host has offered the write that starts the machine.
  reg [31:0] cycle;
  integer unit;
  always @(posedge clk) begin
    cycle <= running ? cycle + 1 : 0;
    if (trace != 0 && running && (trace_start != 0 || trace_finish != 0))
      for (unit = 0; unit < UNITS; unit = unit + 1) begin
        if (trace_finish[unit]) $fwrite(trace, "F %0d %0d\n", unit, cycle);
        if (trace_start[unit]) $fwrite(trace, "S %0d %0d %0d\n", unit, cycle, trace_pc[32*unit +: 32]);
      end
  end

  generate
    if (HDL_IMAGE) begin : image
      reg [8*1024-1:0] image_path;
      initial if ($value$plusargs("image=%s", image_path)) dram.load(image_path);
      always @(posedge finished)
        if ($value$plusargs("dump=%s", image_path)) dram.dump(image_path, memory_bytes / (DATA_BITS / 8));
    end
    if (CHECK) begin : check
      wire [31:0] read_bursts, write_bursts, responses;
      tilewright_axi_checker #(
        .DATA_BITS(DATA_BITS), .ADDR_BITS(ADDR_BITS), .MAX_BEATS(MAX_BEATS), .MAX_READS(MAX_READS), .ID_BITS(ID_BITS)
      ) checker_i (
        .clk(clk), .rst(rst), .broken(broken), .read_bursts(read_bursts), .write_bursts(write_bursts),
        .responses(responses), .quiet(quiet), .arid(arid), .rid(rid),
        .araddr(araddr), .arlen(arlen), .arsize(arsize), .arburst(arburst), .arvalid(arvalid), .arready(arready),
        .rvalid(rvalid), .rready(rready), .rlast(rlast),
        .awaddr(awaddr), .awlen(awlen), .awsize(awsize), .awburst(awburst), .awvalid(awvalid), .awready(awready),
        .wdata(wdata), .wstrb(wstrb), .wlast(wlast), .wvalid(wvalid), .wready(wready), .bvalid(bvalid), .bready(bready)
      );
      always @(posedge finished)
        if (broken != 0 || (!quiet && !timeout))
          $display("AXI checker: rules %b, quiet %b, %0d read and %0d write bursts, %0d responses",
                   broken, quiet, read_bursts, write_bursts, responses);
    end else begin : unchecked
      assign broken = 10'd0;
      assign quiet = 1'b1;
    end
  endgenerate
endmodule
