// Seeded random stalls for the five AXI channels: while an output bit is high, its channel holds back.
// Seed 0 never stalls. Every 64 cycles each channel draws anew how often it stalls: never, 1/4, 1/2 or 7/8.
// `jitter` is a random number of 0 to 63 extra cycles of read latency (0 with seed 0).
`timescale 1ns / 1ps
module tilewright_stalls (
  input             clk,
  input             rst,
  input      [31:0] seed,
  output reg  [4:0] stall,
  output      [5:0] jitter
);
  wire [31:0] noise, c;
  reg  [9:0] level;
  reg  [5:0] age;
  wire       enabled = seed != 0;

  tilewright_noise random (.clk(clk), .rst(rst), .seed(seed), .noise(noise), .next(c));

  function held(input [1:0] how_often, input [2:0] draw);
    case (how_often)
      2'd0: held = 1'b0;
      2'd1: held = draw < 3'd2;
      2'd2: held = draw < 3'd4;
      2'd3: held = draw < 3'd7;
    endcase
  endfunction

  assign jitter = enabled ? noise[31:26] : 6'd0;

  always @(posedge clk) begin
    if (rst) begin
      level <= 10'd0;
      age   <= 6'd0;
      stall <= 5'd0;
    end else if (enabled) begin
      age   <= age + 6'd1;
      if (age == 6'd0) level <= c[25:16];
      stall <= {held(level[9:8], c[14:12]), held(level[7:6], c[11:9]), held(level[5:4], c[8:6]),
                held(level[3:2], c[5:3]), held(level[1:0], c[2:0])};
    end
  end
endmodule

// A random number in every cycle after reset, and the one after it: xorshift32 (Marsaglia), which is never 0 once seeded.
// Seed 0 stays 0.
module tilewright_noise (
  input             clk,
  input             rst,
  input      [31:0] seed,
  output reg [31:0] noise,
  output     [31:0] next
);
  wire [31:0] a = noise ^ (noise << 13);
  wire [31:0] b = a ^ (a >> 17);
  assign next = b ^ (b << 5);
  always @(posedge clk) noise <= rst ? seed : next;
endmodule
