// DRAM behind some AXI4 slave ports (INCR bursts of full-width beats; ids are returned).
//
// A read burst's first beat is offered `latency` cycles after its address was taken; after that a port
// moves one data beat in every cycle, read or write, in turn when both want it. Up to QUEUE bursts of each
// direction are outstanding. B follows in the cycle after the last beat of a burst was written.
// Two windows answer: data at `base` (`bytes` long, first in the array) and the program at `program_base`
// (`program_bytes` long, after the data). Beats elsewhere are answered with DECERR and change nothing.
//
// Everything stays in order, unless plusargs ask for what AXI4 allows besides:
//   +memory_seed=  not 0: the seed of what is random here
//   +disorder=1    read bursts of different ids overtake each other, and their beats are interleaved at random
//   +late=         (2^n - 1) a read burst or a B comes up to so many cycles later, each by a random number
//   +total=  not 0: ports have beats of reads and of writes apart, and share so many bytes in a cycle
//   +bad=, +bad_bytes=  (hexadecimal) beats in this window are answered with SLVERR, after random data, and change nothing
`timescale 1ns / 1ps
module tilewright_dram_port #(
  parameter DATA_BITS = 128,
  parameter ADDR_BITS = 40,
  parameter ID_BITS   = 2,
  parameter INDEX_BITS = 16,
  parameter NUMBER     = 0,
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

  input                      apart,
  input                      may_read,
  input                      may_write,
  output                     r_want,
  output                     w_want,
  output    [INDEX_BITS-1:0] r_index,
  input      [DATA_BITS-1:0] r_word,
  output                     stores,
  output    [INDEX_BITS-1:0] w_index,
  output     [DATA_BITS-1:0] w_word,
  output   [DATA_BITS/8-1:0] w_lanes,

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
  localparam QUEUE_BITS = $clog2(QUEUE);
  localparam [1:0] OKAY = 2'b00, SLVERR = 2'b10, DECERR = 2'b11;

  wire [4:0] stall;
  wire [5:0] jitter;
  tilewright_stalls stalls (.clk(clk), .rst(rst), .seed(seed), .stall(stall), .jitter(jitter));

  reg  [31:0] memory_seed, late;
  reg         disorder;
  reg  [63:0] bad, bad_bytes;
  wire [31:0] noise;
  initial begin
    if (!$value$plusargs("memory_seed=%d", memory_seed)) memory_seed = 0;
    if (!$value$plusargs("disorder=%d", disorder)) disorder = 0;
    if (!$value$plusargs("late=%d", late)) late = 0;
    if (!$value$plusargs("bad=%h", bad)) bad = 0;
    if (!$value$plusargs("bad_bytes=%h", bad_bytes)) bad_bytes = 0;
  end
  tilewright_noise random (.clk(clk), .rst(rst), .seed(memory_seed == 0 ? 32'd0 : memory_seed ^ (NUMBER << 16)), .noise(noise), .next());

  reg [31:0] now;
  always @(posedge clk) now <= rst ? 32'd0 : now + 32'd1;

  // Read bursts: for each id a queue of addresses, lengths and first cycles in which data may be fetched, and one queue of
  // the ids in the order in which they came.
  localparam IDS = 1 << ID_BITS;
  reg [ADDR_BITS-1:0] ar_addr [0:IDS*QUEUE-1];
  reg           [7:0] ar_len  [0:IDS*QUEUE-1];
  reg          [31:0] ar_due  [0:IDS*QUEUE-1];
  reg  [QUEUE_BITS:0] ar_head [0:IDS-1];
  reg  [QUEUE_BITS:0] ar_tail [0:IDS-1];
  reg           [7:0] r_done  [0:IDS-1];
  reg   [ID_BITS-1:0] order   [0:QUEUE-1];
  reg  [QUEUE_BITS:0] order_head, order_tail;
  wire [QUEUE_BITS:0] ar_count = order_tail - order_head;
  wire                ar_taken = s_axi_arvalid && s_axi_arready;

  // Whose turn it is: the oldest burst's, or, in disorder, that of any id whose oldest burst is due.
  wire     [IDS-1:0] due;
  wire [2*IDS-1:0]   rotated = {due, due} >> noise[ID_BITS-1:0];
  reg  [ID_BITS-1:0] first;
  integer            place;
  always @* begin
    first = 0;
    for (place = IDS - 1; place >= 0; place = place - 1)
      if (rotated[place]) first = place[ID_BITS-1:0];
  end
  genvar number;
  generate for (number = 0; number < IDS; number = number + 1) begin : ids
    wire [ID_BITS+QUEUE_BITS-1:0] head = {number[ID_BITS-1:0], ar_head[number][QUEUE_BITS-1:0]};
    wire                   [31:0] since = now - ar_due[head];
    assign due[number] = ar_head[number] != ar_tail[number] && !since[31];
  end endgenerate
  // With a latency of one cycle a burst that finds nobody before it does not wait in a queue.
  wire                at_once = ar_taken && ar_count == 0 && latency < 2 && late == 0 && jitter == 0;
  wire  [ID_BITS-1:0] r_id = at_once ? s_axi_arid : disorder ? first + noise[ID_BITS-1:0] : order[order_head[QUEUE_BITS-1:0]];
  wire [ID_BITS+QUEUE_BITS-1:0] ar_slot = {r_id, ar_head[r_id][QUEUE_BITS-1:0]};
  wire [ADDR_BITS-1:0] r_start = at_once ? s_axi_araddr : ar_addr[ar_slot];
  wire          [7:0] r_len = at_once ? s_axi_arlen : ar_len[ar_slot];
  wire [ADDR_BITS-1:0] r_addr = {r_start[ADDR_BITS-1:BEAT_SHIFT], {BEAT_SHIFT{1'b0}}}
                                + ({{ADDR_BITS-8{1'b0}}, r_done[r_id]} << BEAT_SHIFT);
  wire [ADDR_BITS-1:0] r_in_data = r_addr - base;
  wire [ADDR_BITS-1:0] r_in_code = r_addr - program_base;
  wire [ADDR_BITS-1:0] r_in_bad = r_addr - bad[ADDR_BITS-1:0];
  wire [ADDR_BITS-1:0] r_offset = r_in_data < bytes ? r_in_data : r_in_code + bytes;
  wire                r_inside = r_in_data < bytes || r_in_code < program_bytes;
  wire                r_bad = r_in_bad < bad_bytes;
  wire                r_final = r_done[r_id] == r_len;
  assign              r_want = (at_once || (ar_count != 0 && due[r_id])) && (!s_axi_rvalid || s_axi_rready) && !stall[2];

  // Write bursts: addresses, data and responses each have their queue.
  reg [ADDR_BITS-1:0] aw_addr [0:QUEUE-1];
  reg   [ID_BITS-1:0] aw_id   [0:QUEUE-1];
  reg  [QUEUE_BITS:0] aw_head, aw_tail;
  reg [DATA_BITS-1:0] w_data [0:QUEUE-1];
  reg [DATA_BITS/8-1:0] w_strb [0:QUEUE-1];
  reg     [QUEUE-1:0] w_last;
  reg  [QUEUE_BITS:0] w_head, w_tail;
  reg           [1:0] b_resp [0:QUEUE-1];
  reg          [31:0] b_due [0:QUEUE-1];
  reg   [ID_BITS-1:0] b_id [0:QUEUE-1];
  reg  [QUEUE_BITS:0] b_head, b_tail;
  reg           [7:0] w_done;
  reg           [1:0] w_failed;
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
  wire [ADDR_BITS-1:0] w_in_bad = w_addr - bad[ADDR_BITS-1:0];
  wire                w_inside = w_in_data < bytes || w_in_code < program_bytes;
  wire          [1:0] w_resp = !w_inside ? DECERR : w_in_bad < bad_bytes ? SLVERR : OKAY;
  wire          [1:0] w_worst = w_failed != OKAY ? w_failed : w_resp;
  wire         [31:0] b_early = now - b_due[b_head[QUEUE_BITS-1:0]];
  assign              w_want = aw_count != 0 && w_count != 0 && !b_count[QUEUE_BITS];

  // One beat of either direction in a cycle, or, where reads and writes are apart, one of each.
  reg  write_next;
  wire read  = r_want && may_read && (apart || !(w_want && write_next));
  wire write = w_want && may_write && (apart || !read);

  assign s_axi_arready = !ar_count[QUEUE_BITS] && !stall[0];
  assign s_axi_awready = !aw_count[QUEUE_BITS] && !stall[1];
  assign s_axi_wready  = !w_count[QUEUE_BITS] && !stall[3];

  assign r_index = r_offset[BEAT_SHIFT +: INDEX_BITS];
  assign w_index = w_offset[BEAT_SHIFT +: INDEX_BITS];
  assign stores = write && w_resp == OKAY;
  assign w_word = w_data[w_slot];
  assign w_lanes = w_strb[w_slot];

  integer clear;
  always @(posedge clk) begin
    if (s_axi_rvalid && s_axi_rready) s_axi_rvalid <= 1'b0;
    if (ar_taken) begin
      ar_addr[{s_axi_arid, ar_tail[s_axi_arid][QUEUE_BITS-1:0]}] <= s_axi_araddr;
      ar_len[{s_axi_arid, ar_tail[s_axi_arid][QUEUE_BITS-1:0]}]  <= s_axi_arlen;
      ar_due[{s_axi_arid, ar_tail[s_axi_arid][QUEUE_BITS-1:0]}]  <= now + latency - 1 + {26'd0, jitter} + (noise & late);
      ar_tail[s_axi_arid] <= ar_tail[s_axi_arid] + 1'b1;
      order[order_tail[QUEUE_BITS-1:0]] <= s_axi_arid;
      order_tail <= order_tail + 1'b1;
    end
    if (read) begin
      s_axi_rvalid <= 1'b1;
      s_axi_rid    <= r_id;
      s_axi_rdata  <= !r_inside ? {DATA_BITS{1'b0}} : r_bad ? {(DATA_BITS+31)/32{noise}} : r_word;
      s_axi_rresp  <= !r_inside ? DECERR : r_bad ? SLVERR : OKAY;
      s_axi_rlast  <= r_final;
      r_done[r_id] <= r_final ? 8'd0 : r_done[r_id] + 8'd1;
      if (r_final) begin
        ar_head[r_id] <= ar_head[r_id] + 1'b1;
        order_head    <= order_head + 1'b1;
      end
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
      w_head <= w_head + 1'b1;
      w_done <= w_last[w_slot] ? 8'd0 : w_done + 8'd1;
      w_failed <= w_last[w_slot] ? OKAY : w_worst;
      if (w_last[w_slot]) begin
        b_resp[b_tail[QUEUE_BITS-1:0]]  <= w_worst;
        b_due[b_tail[QUEUE_BITS-1:0]]   <= now + (noise & late);
        b_id[b_tail[QUEUE_BITS-1:0]]    <= aw_id[aw_slot];
        b_tail  <= b_tail + 1'b1;
        aw_head <= aw_head + 1'b1;
      end
    end
    if (s_axi_bvalid && s_axi_bready) s_axi_bvalid <= 1'b0;
    if (b_count != 0 && !b_early[31] && (!s_axi_bvalid || s_axi_bready) && !stall[4]) begin
      s_axi_bvalid <= 1'b1;
      s_axi_bid    <= b_id[b_head[QUEUE_BITS-1:0]];
      s_axi_bresp  <= b_resp[b_head[QUEUE_BITS-1:0]];
      b_head <= b_head + 1'b1;
    end
    if (read) write_next <= 1'b1;
    else if (write) write_next <= 1'b0;

    if (rst) begin
      for (clear = 0; clear < IDS; clear = clear + 1) begin
        ar_head[clear] <= 0;
        ar_tail[clear] <= 0;
        r_done[clear]  <= 8'd0;
      end
      {order_head, order_tail, aw_head, aw_tail, w_head, w_tail, b_head, b_tail} <= 0;
      {w_done, w_failed, write_next} <= 0;
      s_axi_rvalid <= 1'b0;
      s_axi_bvalid <= 1'b0;
    end
  end
endmodule

module tilewright_dram #(
  parameter DATA_BITS = 128,
  parameter ADDR_BITS = 40,
  parameter ID_BITS   = 2,
  parameter WORDS     = 65536,
  parameter QUEUE     = 16,
  parameter PORTS     = 1
) (
  input                           clk,
  input                           rst,
  input                    [31:0] seed,
  input                    [31:0] latency,
  input           [ADDR_BITS-1:0] base,
  input           [ADDR_BITS-1:0] bytes,
  input           [ADDR_BITS-1:0] program_base,
  input           [ADDR_BITS-1:0] program_bytes,

  input      [PORTS*ID_BITS-1:0] s_axi_arid,
  input    [PORTS*ADDR_BITS-1:0] s_axi_araddr,
  input            [PORTS*8-1:0] s_axi_arlen,
  input              [PORTS-1:0] s_axi_arvalid,
  output             [PORTS-1:0] s_axi_arready,
  output     [PORTS*ID_BITS-1:0] s_axi_rid,
  output   [PORTS*DATA_BITS-1:0] s_axi_rdata,
  output           [PORTS*2-1:0] s_axi_rresp,
  output             [PORTS-1:0] s_axi_rlast,
  output             [PORTS-1:0] s_axi_rvalid,
  input              [PORTS-1:0] s_axi_rready,
  input      [PORTS*ID_BITS-1:0] s_axi_awid,
  input    [PORTS*ADDR_BITS-1:0] s_axi_awaddr,
  input              [PORTS-1:0] s_axi_awvalid,
  output             [PORTS-1:0] s_axi_awready,
  input    [PORTS*DATA_BITS-1:0] s_axi_wdata,
  input  [PORTS*(DATA_BITS/8)-1:0] s_axi_wstrb,
  input              [PORTS-1:0] s_axi_wlast,
  input              [PORTS-1:0] s_axi_wvalid,
  output             [PORTS-1:0] s_axi_wready,
  output     [PORTS*ID_BITS-1:0] s_axi_bid,
  output           [PORTS*2-1:0] s_axi_bresp,
  output             [PORTS-1:0] s_axi_bvalid,
  input              [PORTS-1:0] s_axi_bready
);
  localparam INDEX_BITS = WORDS > 1 ? $clog2(WORDS) : 1;

  reg [DATA_BITS-1:0] memory [0:WORDS-1] /* verilator public_flat_rw */;

  wire [PORTS-1:0] r_want, w_want, stores;
  wire [PORTS*INDEX_BITS-1:0] w_index;
  wire [PORTS*DATA_BITS-1:0] w_word;
  wire [PORTS*(DATA_BITS/8)-1:0] w_lanes;

  // What all ports may move together: bytes that no beat has taken are kept for the next cycle, but no more than a beat of
  // each direction of each port. The port that goes first, and its direction, change with every cycle.
  localparam BEAT = DATA_BITS / 8, USERS = 2 * PORTS;
  reg [31:0] total, saved, left;
  reg [USERS-1:0] want, may;
  reg [$clog2(USERS)-1:0] turn;
  integer place, user;
  initial begin
    if (!$value$plusargs("total=%d", total)) total = 0;
    saved = 0;
    turn = 0;
  end
  always @* begin
    want = {w_want, r_want};
    may = 0;
    left = saved + total;
    for (place = 0; place < USERS; place = place + 1) begin
      user = (place + {{32-$clog2(USERS){1'b0}}, turn}) % USERS;
      if (total == 0) may[user] = 1'b1;
      else if (want[user] && left >= BEAT) begin
        may[user] = 1'b1;
        left = left - BEAT;
      end
    end
  end
  always @(posedge clk) begin
    turn <= turn == USERS - 1 ? 0 : turn + 1'b1;
    saved <= rst || total == 0 ? 0 : left < USERS * BEAT ? left : USERS * BEAT;
  end

  genvar port;
  generate for (port = 0; port < PORTS; port = port + 1) begin : ports
    wire [INDEX_BITS-1:0] r_index;
    tilewright_dram_port #(
      .DATA_BITS(DATA_BITS), .ADDR_BITS(ADDR_BITS), .ID_BITS(ID_BITS), .INDEX_BITS(INDEX_BITS), .NUMBER(port), .QUEUE(QUEUE)
    ) dram_port (
      .clk(clk), .rst(rst), .seed(seed == 0 ? 32'd0 : seed ^ (port << 16)), .latency(latency), .base(base), .bytes(bytes),
      .program_base(program_base), .program_bytes(program_bytes),
      .apart(total != 0), .may_read(may[port]), .may_write(may[PORTS + port]), .r_want(r_want[port]), .w_want(w_want[port]),
      .r_index(r_index), .r_word(memory[r_index]), .stores(stores[port]), .w_index(w_index[port*INDEX_BITS +: INDEX_BITS]),
      .w_word(w_word[port*DATA_BITS +: DATA_BITS]), .w_lanes(w_lanes[port*BEAT +: BEAT]),
      .s_axi_arid(s_axi_arid[port*(ID_BITS) +: ID_BITS]), .s_axi_araddr(s_axi_araddr[port*(ADDR_BITS) +: ADDR_BITS]), 
      .s_axi_arlen(s_axi_arlen[port*(8) +: 8]), .s_axi_arvalid(s_axi_arvalid[port]), .s_axi_arready(s_axi_arready[port]), 
      .s_axi_rid(s_axi_rid[port*(ID_BITS) +: ID_BITS]), .s_axi_rdata(s_axi_rdata[port*(DATA_BITS) +: DATA_BITS]), 
      .s_axi_rresp(s_axi_rresp[port*(2) +: 2]), .s_axi_rlast(s_axi_rlast[port]), .s_axi_rvalid(s_axi_rvalid[port]), 
      .s_axi_rready(s_axi_rready[port]), .s_axi_awid(s_axi_awid[port*(ID_BITS) +: ID_BITS]), 
      .s_axi_awaddr(s_axi_awaddr[port*(ADDR_BITS) +: ADDR_BITS]), .s_axi_awvalid(s_axi_awvalid[port]), 
      .s_axi_awready(s_axi_awready[port]), .s_axi_wdata(s_axi_wdata[port*(DATA_BITS) +: DATA_BITS]), 
      .s_axi_wstrb(s_axi_wstrb[port*(DATA_BITS/8) +: (DATA_BITS/8)]), .s_axi_wlast(s_axi_wlast[port]), 
      .s_axi_wvalid(s_axi_wvalid[port]), .s_axi_wready(s_axi_wready[port]), 
      .s_axi_bid(s_axi_bid[port*(ID_BITS) +: ID_BITS]), .s_axi_bresp(s_axi_bresp[port*(2) +: 2]), 
      .s_axi_bvalid(s_axi_bvalid[port]), .s_axi_bready(s_axi_bready[port])
    );
  end endgenerate

  integer writer;
  always @(posedge clk)
    for (writer = 0; writer < PORTS; writer = writer + 1)
      if (stores[writer])
        memory[w_index[writer*INDEX_BITS +: INDEX_BITS]] <= merge(
          memory[w_index[writer*INDEX_BITS +: INDEX_BITS]], w_word[writer*DATA_BITS +: DATA_BITS], w_lanes[writer*BEAT +: BEAT]);

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

endmodule
