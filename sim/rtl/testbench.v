// The generated machine with its memory and its host. `clk` comes from outside: C++, tilewright_icarus or cocotb;
// so does `clk2x`, twice that clock, for machines that have it (TILEWRIGHT_CLK2X).
//
// Plusargs: +script= and +result= (see host.v), +limit= (cycles until the host gives up waiting),
// +memory_base=, +memory_bytes=, +program_base= and +program_bytes= (hexadecimal: where DRAM answers),
// +stall_seed= (0: no stalls), +latency= (of a read, in cycles), +trace= (file for the start and finish of every instruction),
// +memory_seed=, +disorder=, +late=, +total=, +bad= and +bad_bytes= (see dram.v),
// +image= and +dump= (see dram.v, too; not with the C++ main). Defines: TILEWRIGHT_NO_POOL, TILEWRIGHT_NO_MISC and
// TILEWRIGHT_NO_ROW for machines without these units; TILEWRIGHT_PORTS_2 and so on to 8 for as many ports to memory and more;
// TILEWRIGHT_CORES for several machines (CORES), which have no trace. `broken` and `quiet` come from the AXI4 checker (CHECK).
`timescale 1ns / 1ps

// Connects the machine's port P (nothing if there is one) to part N of the wires whose names begin with W.
`define TILEWRIGHT_AXI(P, N, W) \
    .m_axi``P``_arid(W``arid[N*ID_BITS +: ID_BITS]), .m_axi``P``_araddr(W``araddr[N*ADDR_BITS +: ADDR_BITS]), \
    .m_axi``P``_arlen(W``arlen[N*8 +: 8]), .m_axi``P``_arsize(W``arsize[N*3 +: 3]), \
    .m_axi``P``_arburst(W``arburst[N*2 +: 2]), .m_axi``P``_arlock(), .m_axi``P``_arcache(), .m_axi``P``_arprot(), \
    .m_axi``P``_arvalid(W``arvalid[N]), .m_axi``P``_arready(W``arready[N]), \
    .m_axi``P``_rid(W``rid[N*ID_BITS +: ID_BITS]), .m_axi``P``_rdata(W``rdata[N*DATA_BITS +: DATA_BITS]), \
    .m_axi``P``_rresp(W``rresp[N*2 +: 2]), .m_axi``P``_rlast(W``rlast[N]), .m_axi``P``_rvalid(W``rvalid[N]), \
    .m_axi``P``_rready(W``rready[N]), .m_axi``P``_awid(W``awid[N*ID_BITS +: ID_BITS]), \
    .m_axi``P``_awaddr(W``awaddr[N*ADDR_BITS +: ADDR_BITS]), .m_axi``P``_awlen(W``awlen[N*8 +: 8]), \
    .m_axi``P``_awsize(W``awsize[N*3 +: 3]), .m_axi``P``_awburst(W``awburst[N*2 +: 2]), .m_axi``P``_awlock(), \
    .m_axi``P``_awcache(), .m_axi``P``_awprot(), .m_axi``P``_awvalid(W``awvalid[N]), \
    .m_axi``P``_awready(W``awready[N]), .m_axi``P``_wdata(W``wdata[N*DATA_BITS +: DATA_BITS]), \
    .m_axi``P``_wstrb(W``wstrb[N*(DATA_BITS/8) +: (DATA_BITS/8)]), .m_axi``P``_wlast(W``wlast[N]), .m_axi``P``_wvalid(W``wvalid[N]), \
    .m_axi``P``_wready(W``wready[N]), .m_axi``P``_bid(W``bid[N*ID_BITS +: ID_BITS]), \
    .m_axi``P``_bresp(W``bresp[N*2 +: 2]), .m_axi``P``_bvalid(W``bvalid[N]), .m_axi``P``_bready(W``bready[N]),

module tilewright_bench #(
  parameter DATA_BITS    = 128,
  parameter ADDR_BITS    = 40,
  parameter MEMORY_WORDS = 65536,
  parameter LATENCY      = 64,
  parameter QUEUE        = 16,
  parameter HDL_IMAGE    = 0,
  parameter CHECK        = 0,
  parameter MAX_BEATS    = 256,
  parameter MAX_READS    = 256,
  parameter PORTS        = 1,
  parameter CORES        = 1
) (
  input        clk /* verilator public_flat_rw */,
  input        clk2x /* verilator public_flat_rw */,
  output       finished /* verilator public_flat_rw */,
  output [9:0] broken /* verilator public_flat_rw */,
  output       quiet /* verilator public_flat_rw */
);
  localparam LITE_BITS = 12 + $clog2(CORES);
  localparam ID_BITS = 2;
  localparam UNITS = 6;

  wire rst, irq, running, timeout;
  wire [PORTS*ADDR_BITS-1:0] araddr, awaddr;
  wire [PORTS*ID_BITS-1:0] arid, awid, rid, bid;
  wire [PORTS*8-1:0] arlen, awlen;
  wire [PORTS*3-1:0] arsize, awsize;
  wire [PORTS*2-1:0] arburst, awburst, rresp, bresp;
  wire [PORTS-1:0] arvalid, arready, rvalid, rready, rlast, awvalid, awready, wvalid, wready, wlast, bvalid, bready;
  wire [PORTS*DATA_BITS-1:0] rdata, wdata;
  wire [PORTS*(DATA_BITS/8)-1:0] wstrb;

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
`ifdef TILEWRIGHT_PORTS_2
    `TILEWRIGHT_AXI(0, 0,)
    `TILEWRIGHT_AXI(1, 1,)
`else
    `TILEWRIGHT_AXI(, 0,)
`endif
`ifdef TILEWRIGHT_PORTS_3
    `TILEWRIGHT_AXI(2, 2,)
`endif
`ifdef TILEWRIGHT_PORTS_4
    `TILEWRIGHT_AXI(3, 3,)
`endif
`ifdef TILEWRIGHT_PORTS_5
    `TILEWRIGHT_AXI(4, 4,)
`endif
`ifdef TILEWRIGHT_PORTS_6
    `TILEWRIGHT_AXI(5, 5,)
`endif
`ifdef TILEWRIGHT_PORTS_7
    `TILEWRIGHT_AXI(6, 6,)
`endif
`ifdef TILEWRIGHT_PORTS_8
    `TILEWRIGHT_AXI(7, 7,)
`endif
`ifdef TILEWRIGHT_CORES
`else
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
    .trace_conv_finish(trace_finish[2]), .trace_conv_finish_pc(),
`endif
    .s_axil_awaddr(l_awaddr), .s_axil_awprot(3'b000), .s_axil_awvalid(l_awvalid), .s_axil_awready(l_awready),
    .s_axil_wdata(l_wdata), .s_axil_wstrb(l_wstrb), .s_axil_wvalid(l_wvalid), .s_axil_wready(l_wready),
    .s_axil_bresp(l_bresp), .s_axil_bvalid(l_bvalid), .s_axil_bready(l_bready),
    .s_axil_araddr(l_araddr), .s_axil_arprot(3'b000), .s_axil_arvalid(l_arvalid), .s_axil_arready(l_arready),
    .s_axil_rdata(l_rdata), .s_axil_rresp(l_rresp), .s_axil_rvalid(l_rvalid), .s_axil_rready(l_rready)
  );
`ifdef TILEWRIGHT_CORES
  assign {trace_start, trace_finish, trace_pc} = 0;
`endif
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
    .DATA_BITS(DATA_BITS), .ADDR_BITS(ADDR_BITS), .ID_BITS(ID_BITS), .WORDS(MEMORY_WORDS), .QUEUE(QUEUE), .PORTS(PORTS)
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
      wire [PORTS*10-1:0] found;
      wire [PORTS-1:0] quiets;
      reg [9:0] all;
      integer checked;
      always @* begin
        all = 10'd0;
        for (checked = 0; checked < PORTS; checked = checked + 1) all = all | found[checked*10 +: 10];
      end
      assign broken = all;
      assign quiet = &quiets;
      genvar port;
      for (port = 0; port < PORTS; port = port + 1) begin : ports
        wire [31:0] read_bursts, write_bursts, responses;
        tilewright_axi_checker #(
          .DATA_BITS(DATA_BITS), .ADDR_BITS(ADDR_BITS), .MAX_BEATS(MAX_BEATS), .MAX_READS(MAX_READS), .ID_BITS(ID_BITS)
        ) checker_i (
          .clk(clk), .rst(rst), .broken(found[port*10 +: 10]), .read_bursts(read_bursts), .write_bursts(write_bursts),
          .responses(responses), .quiet(quiets[port]), .arid(arid[port*ID_BITS +: ID_BITS]), .rid(rid[port*ID_BITS +: ID_BITS]),
          .araddr(araddr[port*ADDR_BITS +: ADDR_BITS]), .arlen(arlen[port*8 +: 8]), .arsize(arsize[port*3 +: 3]),
          .arburst(arburst[port*2 +: 2]), .arvalid(arvalid[port]), .arready(arready[port]),
          .rvalid(rvalid[port]), .rready(rready[port]), .rlast(rlast[port]),
          .awaddr(awaddr[port*ADDR_BITS +: ADDR_BITS]), .awlen(awlen[port*8 +: 8]), .awsize(awsize[port*3 +: 3]),
          .awburst(awburst[port*2 +: 2]), .awvalid(awvalid[port]), .awready(awready[port]),
          .wdata(wdata[port*DATA_BITS +: DATA_BITS]), .wstrb(wstrb[port*(DATA_BITS/8) +: (DATA_BITS/8)]),
          .wlast(wlast[port]), .wvalid(wvalid[port]), .wready(wready[port]), .bvalid(bvalid[port]), .bready(bready[port])
        );
        always @(posedge finished)
          if (found[port*10 +: 10] != 0 || (!quiets[port] && !timeout))
            $display("AXI checker: rules %b, quiet %b, %0d read and %0d write bursts, %0d responses",
                     found[port*10 +: 10], quiets[port], read_bursts, write_bursts, responses);
      end
    end else begin : unchecked
      assign broken = 10'd0;
      assign quiet = 1'b1;
    end
  endgenerate
endmodule
