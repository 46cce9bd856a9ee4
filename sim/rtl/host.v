// The host on the AXI4-Lite bus: plays a script of register accesses, so that no software runs per cycle.
//
// Each script word is {operation[7:0], offset[15:0], value[31:0]} (56 bits, hexadecimal, one in a line):
//   1  write `value` to the register at `offset`
//   2  wait for the interrupt, at most `limit` cycles
//   3  read the register at `offset` and write the line "offset value" (hexadecimal) to the result file
//   4  reset the machine for `value` cycles
//   5  do nothing for `value` cycles
//   6  read the register at `offset` until it has all bits of `value`, at most `limit` cycles
//   0  end
// The last line of the result is "end", or "timeout" when the interrupt never came.
`timescale 1ns / 1ps
module tilewright_host #(
  parameter ADDR_BITS = 12,
  parameter SCRIPT    = 2048
) (
  input                      clk,
  output reg                 rst,
  input                      irq,
  output reg                 running,
  output reg                 finished,
  output reg                 timeout,
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
  localparam [15:0] CONTROL = 16'h000c;
  localparam [7:0] WRITE = 1, WAIT = 2, READ = 3, RESET = 4, DELAY = 5, POLL = 6;

  reg  [55:0] script [0:SCRIPT-1];
  reg [8*1024-1:0] script_path, result_path;
  integer result;
  integer step;
  reg         issued;
  reg  [63:0] waited;
  wire  [7:0] operation = script[step][55:48];
  wire [15:0] offset = script[step][47:32];
  wire [31:0] value = script[step][31:0];

  initial begin
    if (!$value$plusargs("script=%s", script_path)) script_path = "script.hex";
    if (!$value$plusargs("result=%s", result_path)) result_path = "result.txt";
    $readmemh(script_path, script);
    result = $fopen(result_path, "w");
    {m_axil_awvalid, m_axil_wvalid, m_axil_arvalid, running, finished, timeout, issued} = 0;
    step = 0;
    rst = 1'b1;
    waited = 0;
  end

  assign m_axil_wstrb = 4'hf;
  assign m_axil_bready = 1'b1;
  assign m_axil_rready = 1'b1;

  task next;
    begin
      step   <= step + 1;
      issued <= 1'b0;
      waited <= 0;
    end
  endtask

  task finish;
    begin
      finished <= 1'b1;
      $fclose(result);
    end
  endtask

  task give_up;
    begin
      $fwrite(result, "timeout\n");
      timeout <= 1'b1;
      finish;
    end
  endtask

  always @(posedge clk) if (!finished) begin
    if (m_axil_awready) m_axil_awvalid <= 1'b0;
    if (m_axil_wready) m_axil_wvalid <= 1'b0;
    if (m_axil_arready) m_axil_arvalid <= 1'b0;
    running <= operation == WAIT || (operation == WRITE && offset == CONTROL);
    rst <= operation == RESET;
    case (operation)
      RESET: begin
        waited <= waited + 1;
        if (waited[31:0] == value) next;
      end
      WRITE: begin
        issued <= 1'b1;
        if (!issued) begin
          m_axil_awaddr  <= offset[ADDR_BITS-1:0];
          m_axil_awvalid <= 1'b1;
          m_axil_wdata   <= value;
          m_axil_wvalid  <= 1'b1;
        end else if (m_axil_bvalid) begin
          if (m_axil_bresp != 0) $fwrite(result, "refused %h\n", offset);
          next;
        end
      end
      READ: begin
        issued <= 1'b1;
        if (!issued) begin
          m_axil_araddr  <= offset[ADDR_BITS-1:0];
          m_axil_arvalid <= 1'b1;
        end else if (m_axil_rvalid) begin
          if (m_axil_rresp != 0) $fwrite(result, "refused %h\n", offset);
          else $fwrite(result, "%h %h\n", offset, m_axil_rdata);
          next;
        end
      end
      DELAY: begin
        waited <= waited + 1;
        if (waited[31:0] >= value) next;
      end
      POLL: begin
        waited <= waited + 1;
        issued <= 1'b1;
        if (!issued) begin
          m_axil_araddr  <= offset[ADDR_BITS-1:0];
          m_axil_arvalid <= 1'b1;
        end else if (m_axil_rvalid) begin
          issued <= 1'b0;
          if ((m_axil_rdata & value) == value) next;
          else if (waited >= limit) give_up;
        end
      end
      WAIT: begin
        waited <= waited + 1;
        if (irq) next;
        else if (waited == limit) give_up;
      end
      default: begin
        $fwrite(result, "end\n");
        finish;
      end
    endcase
  end
endmodule
