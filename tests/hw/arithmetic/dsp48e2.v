// DSP48E2 as UG579 describes it, as far as sums of products need it: the adder before the multiplier takes D, and A or B, or
// one of them; the product is registered; then the sum of the product (or of A and B side by side) and C, PCIN, PCIN >> 17, P or
// P >> 17, or of the product alone, registered or not, and whether the sum is the pattern where the mask is 0.
module DSP48E2 #(
  parameter AREG = 1, ACASCREG = 1, BREG = 1, BCASCREG = 1, MREG = 1, PREG = 1, ADREG = 1, DREG = 1, CREG = 1,
  parameter ALUMODEREG = 1, CARRYINREG = 1, CARRYINSELREG = 1, INMODEREG = 1, OPMODEREG = 1,
  parameter USE_PATTERN_DETECT = "NO_PATDET", SEL_PATTERN = "PATTERN", SEL_MASK = "MASK",
  parameter [47:0] PATTERN = 48'd0, parameter [47:0] MASK = 48'h3FFFFFFFFFFF,
  parameter USE_MULT = "MULTIPLY", AMULTSEL = "A", BMULTSEL = "B", PREADDINSEL = "A"
) (
  input CLK, input signed [29:0] A, input signed [17:0] B, input signed [47:0] C, input signed [26:0] D,
  input signed [47:0] PCIN,
  input [8:0] OPMODE, input [3:0] ALUMODE, input [4:0] INMODE, input [2:0] CARRYINSEL, input CARRYIN,
  input CEA1, CEA2, CEB1, CEB2, CEM, CEP, CEAD, CEALUMODE, CEC, CECARRYIN, CECTRL, CED, CEINMODE,
  input RSTA, RSTALLCARRYIN, RSTALUMODE, RSTB, RSTC, RSTCTRL, RSTD, RSTINMODE, RSTM, RSTP,
  output signed [47:0] P, output signed [47:0] PCOUT, output PATTERNDETECT
);
  reg signed [26:0] a1, a2, d, ad;
  reg signed [17:0] b1, b2;
  reg [4:0] inmode;
  reg [8:0] opmode;
  reg signed [44:0] m;
  reg signed [47:0] p, c;
  reg detected;
  wire [4:0] mode = INMODEREG ? inmode : INMODE;
  wire signed [26:0] a = AREG == 0 ? A[26:0] : a2;
  wire signed [17:0] b = BREG == 0 ? B : b2;
  wire signed [26:0] from_d = DREG ? d : D;
  wire signed [26:0] from_ab = PREADDINSEL == "A" ? a : {{9{b[17]}}, b};
  wire signed [26:0] added = (mode[2] ? from_d : 27'sd0) + (mode[1] ? 27'sd0 : from_ab);
  wire signed [26:0] shown = ADREG ? ad : added;
  wire signed [26:0] factor = AMULTSEL == "AD" ? shown : a;
  wire signed [17:0] other = BMULTSEL == "AD" ? shown[17:0] : b;
  wire [8:0] op = OPMODEREG ? opmode : OPMODE;
  wire signed [47:0] z = op[6:4] == 3'b011 ? (CREG ? c : C) : op[6:4] == 3'b001 ? PCIN : op[6:4] == 3'b101 ? PCIN >>> 17
    : op[6:4] == 3'b110 ? p >>> 17 : op[6:4] == 3'b010 ? p : 48'sd0;
  wire multiplies = USE_MULT == "MULTIPLY";
  wire known = op[3:0] == (multiplies ? 4'b0101 : 4'b0011) && ALUMODE == 4'd0 && !mode[0] && mode[4:3] == 2'd0 && op[8:7] == 2'd0
    && ((op[6:4] != 3'b110 && op[6:4] != 3'b010) || PREG == 1);
  wire signed [47:0] added_to_z = multiplies ? m : $signed({A, B});
  wire signed [47:0] sum = known ? z + added_to_z + $signed({1'b0, CARRYIN}) : 48'sd0;
  initial begin
    if (MREG != multiplies || ALUMODEREG != 0 || CARRYINREG != 0 || CARRYINSELREG != 0
        || (!multiplies && (USE_MULT != "NONE" || AREG != 0 || BREG != 0)) || SEL_PATTERN != "PATTERN" || SEL_MASK != "MASK"
        || ACASCREG != AREG || BCASCREG != BREG
        || (PREADDINSEL != "A" && PREADDINSEL != "B") || (AMULTSEL == "AD" && BMULTSEL == "AD")) begin
      $display("DSP48E2: registers that this model does not know");
      $finish;
    end
  end
  always @(posedge CLK) begin
    if (CEA1) a1 <= A[26:0];
    if (CEA2) a2 <= AREG == 2 ? a1 : A[26:0];
    if (CEB1) b1 <= B;
    if (CEB2) b2 <= BREG == 2 ? b1 : B;
    if (CED) d <= D;
    if (CEAD) ad <= added;
    if (CEINMODE) inmode <= INMODE;
    if (CECTRL) opmode <= OPMODE;
    if (CEC) c <= C;
    if (RSTM) m <= 0;
    else if (CEM) m <= factor * other;
    if (CEP) p <= sum;
    if (CEP) detected <= &((sum ~^ PATTERN) | MASK);
  end
  assign P = PREG ? p : sum;
  assign PCOUT = P;
  assign PATTERNDETECT = PREG ? detected : &((sum ~^ PATTERN) | MASK);
endmodule
