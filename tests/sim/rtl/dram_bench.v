// Reads of two ids and writes against the memory model; every answer is a line: cycle, channel, id, response, data, last.
`timescale 1ns / 1ps
module dram_bench;
  localparam BURSTS = 6;
  reg clk = 1'b0, rst = 1'b1;
  always #1 clk = !clk;
  integer latency, cycle, burst, beat, wrote;
  reg arvalid = 1'b0, awvalid = 1'b0, wvalid = 1'b0;
  wire arready, rvalid, rlast, awready, wready, bvalid;
  wire [1:0] rid, rresp, bid, bresp;
  wire [63:0] rdata;
  tilewright_dram #(.DATA_BITS(64), .ADDR_BITS(32), .WORDS(256)) dram (
    .clk(clk), .rst(rst), .seed(32'd0), .latency(latency), .base(32'h1000), .bytes(32'd2048),
    .program_base(32'd0), .program_bytes(32'd0),
    .s_axi_arid({1'b0, burst[0]}), .s_axi_araddr(32'h1000 + 64 * burst), .s_axi_arlen(8'd3), .s_axi_arvalid(arvalid),
    .s_axi_arready(arready), .s_axi_rid(rid), .s_axi_rdata(rdata), .s_axi_rresp(rresp), .s_axi_rlast(rlast),
    .s_axi_rvalid(rvalid), .s_axi_rready(1'b1),
    .s_axi_awid(2'd0), .s_axi_awaddr(32'h1400 + 16 * wrote), .s_axi_awvalid(awvalid), .s_axi_awready(awready),
    .s_axi_wdata(64'd7), .s_axi_wstrb(8'hff), .s_axi_wlast(beat[0]), .s_axi_wvalid(wvalid), .s_axi_wready(wready),
    .s_axi_bid(bid), .s_axi_bresp(bresp), .s_axi_bvalid(bvalid), .s_axi_bready(1'b1)
  );
  integer word;
  initial begin
    if (!$value$plusargs("latency=%d", latency)) latency = 64;
    for (word = 0; word < 256; word = word + 1) dram.memory[word] = word;
    {burst, beat, wrote, cycle} = 0;
    repeat (4) @(posedge clk);
    rst <= 1'b0;
    {arvalid, awvalid, wvalid} <= 3'b111;
    repeat (1500) @(posedge clk);
    for (word = 128; word < 140; word = word + 1) $display("M %0d %0d", word, dram.memory[word]);
    $finish;
  end
  always @(posedge clk) if (!rst) begin
    cycle <= cycle + 1;
    if (arvalid && arready) begin
      $display("A %0d %0d", cycle, burst);
      burst <= burst + 1;
      arvalid <= burst + 1 < BURSTS;
    end
    if (awvalid && awready) begin
      wrote <= wrote + 1;
      awvalid <= wrote + 1 < BURSTS;
    end
    if (wvalid && wready) begin
      if (beat[0]) $display("W %0d", cycle);
      beat <= beat + 1;
      wvalid <= beat + 1 < 2 * BURSTS;
    end
    if (rvalid) $display("R %0d %0d %0d %0d %0d", cycle, rid, rresp, rdata, rlast);
    if (bvalid) $display("B %0d %0d", cycle, bresp);
  end
endmodule
