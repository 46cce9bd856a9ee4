// DSP48E2 as UG579 describes it, as far as sums of products need it: A registered, or A + D; B and the product registered;
// the sum of the product and C, PCIN or PCIN >> 17, registered or not.
module DSP48E2 #(
  parameter AREG = 1, ACASCREG = 1, BREG = 1, BCASCREG = 1, MREG = 1, PREG = 1, ADREG = 1, DREG = 1, CREG = 1,
  parameter ALUMODEREG = 1, CARRYINREG = 1, CARRYINSELREG = 1, INMODEREG = 1, OPMODEREG = 1,
  parameter USE_MULT = "MULTIPLY", AMULTSEL = "A"
) (
  input CLK, input signed [29:0] A, input signed [17:0] B, input signed [47:0] C, input [26:0] D, input signed [47:0] PCIN,
  input [8:0] OPMODE, input [3:0] ALUMODE, input [4:0] INMODE, input [2:0] CARRYINSEL, input CARRYIN,
  input CEA1, CEA2, CEB1, CEB2, CEM, CEP, CEAD, CEALUMODE, CEC, CECARRYIN, CECTRL, CED, CEINMODE,
  input RSTA, RSTALLCARRYIN, RSTALUMODE, RSTB, RSTC, RSTCTRL, RSTD, RSTINMODE, RSTM, RSTP,
  output signed [47:0] P, output signed [47:0] PCOUT
);
  reg signed [26:0] a;
  reg signed [17:0] b;
  reg signed [44:0] m;
  reg signed [47:0] p;
  wire added = INMODE == 5'b00100;
  wire signed [26:0] factor = added ? A[26:0] + D : A[26:0];
  wire enable = added ? CEAD : CEA2;
  wire signed [47:0] z = OPMODE[6:4] == 3'b011 ? C : OPMODE[6:4] == 3'b001 ? PCIN : OPMODE[6:4] == 3'b101 ? PCIN >>> 17 : 48'sd0;
  wire known = OPMODE[3:0] == 4'b0101 && ALUMODE == 4'd0 && (added || INMODE == 5'd0) && OPMODE[8:7] == 2'd0;
  wire signed [47:0] sum = known ? z + m : 48'sd0;
  initial begin
    if (AREG + ADREG != 1 || DREG != 0 || BREG != 1 || MREG != 1 || CREG != 0 || OPMODEREG != 0 || ALUMODEREG != 0
        || INMODEREG != 0 || CARRYINREG != 0 || CARRYINSELREG != 0 || USE_MULT != "MULTIPLY"
        || ADREG != (AMULTSEL == "AD")) begin
      $display("DSP48E2: registers that this model does not know");
      $finish;
    end
  end
  always @(posedge CLK) begin
    if (enable) a <= factor;
    if (CEB2) b <= B;
    if (CEM) m <= a * b;
    if (CEP) p <= sum;
  end
  assign P = PREG ? p : sum;
  assign PCOUT = P;
endmodule
