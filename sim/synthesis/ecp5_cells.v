// Cells of the ECP5 for which yosys has no model, or one that it cannot write out, as `synth_ecp5` uses them. What it does not
// use ends the simulation.

// 2048 bytes of nine bits. Of 36 bits port A writes with the data of both ports, and port B reads with both; otherwise each
// port has 1, 2, 4, 9 or 18. Of words of 18 and 36 bits the lowest address bits are the byte enables of writes.
module DP16KD (
  input DIA0, DIA1, DIA2, DIA3, DIA4, DIA5, DIA6, DIA7, DIA8, DIA9, DIA10, DIA11, DIA12, DIA13, DIA14, DIA15, DIA16, DIA17,
  ADA0, ADA1, ADA2, ADA3, ADA4, ADA5, ADA6, ADA7, ADA8, ADA9, ADA10, ADA11, ADA12, ADA13, CEA, OCEA, CLKA, WEA, RSTA, CSA2,
  CSA1, CSA0,
  output DOA0, DOA1, DOA2, DOA3, DOA4, DOA5, DOA6, DOA7, DOA8, DOA9, DOA10, DOA11, DOA12, DOA13, DOA14, DOA15, DOA16, DOA17,
  input DIB0, DIB1, DIB2, DIB3, DIB4, DIB5, DIB6, DIB7, DIB8, DIB9, DIB10, DIB11, DIB12, DIB13, DIB14, DIB15, DIB16, DIB17,
  ADB0, ADB1, ADB2, ADB3, ADB4, ADB5, ADB6, ADB7, ADB8, ADB9, ADB10, ADB11, ADB12, ADB13, CEB, OCEB, CLKB, WEB, RSTB, CSB2,
  CSB1, CSB0,
  output DOB0, DOB1, DOB2, DOB3, DOB4, DOB5, DOB6, DOB7, DOB8, DOB9, DOB10, DOB11, DOB12, DOB13, DOB14, DOB15, DOB16, DOB17
);
  parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18;
  parameter REGMODE_A = "NOREG", REGMODE_B = "NOREG", RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC";
  parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000", WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL";
  parameter CLKAMUX = "CLKA", CLKBMUX = "CLKB", GSR = "AUTO";
  parameter [319:0] INITVAL_00 = 320'd0, INITVAL_01 = 320'd0, INITVAL_02 = 320'd0, INITVAL_03 = 320'd0, INITVAL_04 = 320'd0,
  INITVAL_05 = 320'd0, INITVAL_06 = 320'd0, INITVAL_07 = 320'd0;
  parameter [319:0] INITVAL_08 = 320'd0, INITVAL_09 = 320'd0, INITVAL_0A = 320'd0, INITVAL_0B = 320'd0, INITVAL_0C = 320'd0,
  INITVAL_0D = 320'd0, INITVAL_0E = 320'd0, INITVAL_0F = 320'd0;
  parameter [319:0] INITVAL_10 = 320'd0, INITVAL_11 = 320'd0, INITVAL_12 = 320'd0, INITVAL_13 = 320'd0, INITVAL_14 = 320'd0,
  INITVAL_15 = 320'd0, INITVAL_16 = 320'd0, INITVAL_17 = 320'd0;
  parameter [319:0] INITVAL_18 = 320'd0, INITVAL_19 = 320'd0, INITVAL_1A = 320'd0, INITVAL_1B = 320'd0, INITVAL_1C = 320'd0,
  INITVAL_1D = 320'd0, INITVAL_1E = 320'd0, INITVAL_1F = 320'd0;
  parameter [319:0] INITVAL_20 = 320'd0, INITVAL_21 = 320'd0, INITVAL_22 = 320'd0, INITVAL_23 = 320'd0, INITVAL_24 = 320'd0,
  INITVAL_25 = 320'd0, INITVAL_26 = 320'd0, INITVAL_27 = 320'd0;
  parameter [319:0] INITVAL_28 = 320'd0, INITVAL_29 = 320'd0, INITVAL_2A = 320'd0, INITVAL_2B = 320'd0, INITVAL_2C = 320'd0,
  INITVAL_2D = 320'd0, INITVAL_2E = 320'd0, INITVAL_2F = 320'd0;
  parameter [319:0] INITVAL_30 = 320'd0, INITVAL_31 = 320'd0, INITVAL_32 = 320'd0, INITVAL_33 = 320'd0, INITVAL_34 = 320'd0,
  INITVAL_35 = 320'd0, INITVAL_36 = 320'd0, INITVAL_37 = 320'd0;
  parameter [319:0] INITVAL_38 = 320'd0, INITVAL_39 = 320'd0, INITVAL_3A = 320'd0, INITVAL_3B = 320'd0, INITVAL_3C = 320'd0,
  INITVAL_3D = 320'd0, INITVAL_3E = 320'd0, INITVAL_3F = 320'd0;

  localparam [64*320-1:0] FIRST = {
    INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38, INITVAL_37, INITVAL_36,
    INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30, INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C,
    INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28, INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24, INITVAL_23, INITVAL_22,
    INITVAL_21, INITVAL_20, INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C, INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18,
    INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10, INITVAL_0F, INITVAL_0E,
    INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08, INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04,
    INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00
  };
  reg [8:0] bytes [0:2047];
  reg [35:0] shown_a, shown_b;
  wire [35:0] data = {
    DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
    DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0
  };
  wire [13:0] address_a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  wire [13:0] address_b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  wire [17:0] low = DATA_WIDTH_B == 36 ? shown_b[17:0] : shown_a[17:0];
  wire [17:0] high = DATA_WIDTH_B == 36 ? shown_b[35:18] : shown_b[17:0];
  assign {
    DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0
  } = low;
  assign {
    DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0
  } = high;

  integer n;
  initial begin
    for (n = 0; n < 1024; n = n + 1) begin
      bytes[2 * n] = FIRST[20 * n +: 9];
      bytes[2 * n + 1] = FIRST[20 * n + 9 +: 9];
    end
    shown_a = 0;
    shown_b = 0;
    if (REGMODE_A != "NOREG" || REGMODE_B != "NOREG" || CLKAMUX != "CLKA" || CLKBMUX != "CLKB"
        || CSDECODE_A != "0b000" || CSDECODE_B != "0b000") begin
      $display("DP16KD: a mode that is not modelled");
      $finish;
    end
  end

  function [35:0] word(input integer width, input [13:0] at);
    reg [8:0] one;
    begin
      one = bytes[at[13:3]];
      case (width)
        36: word = {bytes[{at[13:5], 2'd3}], bytes[{at[13:5], 2'd2}], bytes[{at[13:5], 2'd1}], bytes[{at[13:5], 2'd0}]};
        18: word = {18'd0, bytes[{at[13:4], 1'd1}], bytes[{at[13:4], 1'd0}]};
        9: word = {27'd0, one};
        4: word = {32'd0, one[4 * at[2] +: 4]};
        2: word = {34'd0, one[2 * at[2:1] +: 2]};
        default: word = {35'd0, one[at[2:0]]};
      endcase
    end
  endfunction

  // What a port writes into the byte that it touches first, the others beside it as they are.
  function [8:0] merged(input integer width, input [13:0] at, input [8:0] value);
    begin
      merged = bytes[at[13:3]];
      case (width)
        4: merged[4 * at[2] +: 4] = value[3:0];
        2: merged[2 * at[2:1] +: 2] = value[1:0];
        1: merged[at[2:0]] = value[0];
        default: merged = value;
      endcase
    end
  endfunction

  always @(posedge CLKA) begin
    if (RESETMODE != "SYNC" && (RSTA | RSTB)) begin
      $display("DP16KD: a reset that does not wait for the clock is not modelled");
      $finish;
    end
    if (CEA & WEA) begin
      if (DATA_WIDTH_A == 36) begin
        if (ADA0) bytes[{address_a[13:5], 2'd0}] <= data[8:0];
        if (ADA1) bytes[{address_a[13:5], 2'd1}] <= data[17:9];
        if (ADA2) bytes[{address_a[13:5], 2'd2}] <= data[26:18];
        if (ADA3) bytes[{address_a[13:5], 2'd3}] <= data[35:27];
      end else if (DATA_WIDTH_A == 18) begin
        if (ADA0) bytes[{address_a[13:4], 1'd0}] <= data[8:0];
        if (ADA1) bytes[{address_a[13:4], 1'd1}] <= data[17:9];
      end else bytes[address_a[13:3]] <= merged(DATA_WIDTH_A, address_a, data[8:0]);
    end
    if (RSTA) shown_a <= 0;
    else if (CEA & ~WEA) shown_a <= word(DATA_WIDTH_A, address_a);
  end

  always @(posedge CLKB) begin
    if (CEB & WEB) begin
      if (DATA_WIDTH_B == 18) begin
        if (ADB0) bytes[{address_b[13:4], 1'd0}] <= data[26:18];
        if (ADB1) bytes[{address_b[13:4], 1'd1}] <= data[35:27];
      end else bytes[address_b[13:3]] <= merged(DATA_WIDTH_B, address_b, data[26:18]);
    end
    if (RSTB) shown_b <= 0;
    else if (CEB & ~WEB) shown_b <= word(DATA_WIDTH_B, address_b);
  end
endmodule

module MULT18X18D (
  input A0, A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13, A14, A15, A16, A17, B0, B1, B2, B3, B4, B5, B6, B7, B8,
  B9, B10, B11, B12, B13, B14, B15, B16, B17, C0, C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13, C14, C15, C16, C17,
  SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
  output P0, P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12, P13, P14, P15, P16, P17, P18, P19, P20, P21, P22, P23, P24,
  P25, P26, P27, P28, P29, P30, P31, P32, P33, P34, P35
);
  parameter REG_INPUTA_CLK = "NONE", REG_INPUTB_CLK = "NONE", REG_PIPELINE_CLK = "NONE", REG_OUTPUT_CLK = "NONE";
  wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
  wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
  wire signed [36:0] product = $signed({SIGNEDA & A17, a}) * $signed({SIGNEDB & B17, b});
  assign {
    P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15, P14, P13, P12,
    P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
  } = product[35:0];
  wire plain = REG_INPUTA_CLK == "NONE" && REG_INPUTB_CLK == "NONE" && REG_PIPELINE_CLK == "NONE" && REG_OUTPUT_CLK == "NONE";
  initial if (!plain) begin
    $display("MULT18X18D: a register that is not modelled");
    $finish;
  end
endmodule

module TRELLIS_DPR16X4 (input [3:0] DI, input [3:0] WAD, input WRE, input WCK, input [3:0] RAD, output [3:0] DO);
  parameter WCKMUX = "WCK", WREMUX = "WRE";
  parameter [63:0] INITVAL = 64'd0;
  reg [3:0] words [0:15];
  integer n;
  initial begin
    for (n = 0; n < 16; n = n + 1) words[n] = INITVAL[4 * n +: 4];
    if (WCKMUX != "WCK" || WREMUX != "WRE") begin
      $display("TRELLIS_DPR16X4: a mode that is not modelled");
      $finish;
    end
  end
  always @(posedge WCK) if (WRE) words[WAD] <= DI;
  assign DO = words[RAD];
endmodule
