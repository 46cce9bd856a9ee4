"""Registers and memories of the emitted Verilog: what is rewritten, what is left alone, and that a memory is one."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from hw.emit_memory import MemoryShape
from hw.emit_registers import fold_registers
from tests.tools import needs

ALONE = r"""module counter(clk, rst, en, count);
  reg kickstart = 0;
  reg [3:0] \$1 ;
  reg [3:0] count = 4'h0;
  wire [4:0] \$2 ;
  assign \$2  = count + 1'h1;
  always @(posedge clk)
    count <= \$1 ;
  always @* begin
    if (kickstart) begin end
    \$1  = count;
    if (en) begin
      \$1 [1:0] = \$2 [1:0];
    end
    if (rst) begin
      \$1  = 4'h0;
    end
  end
endmodule
"""
FOLDED = r"""module counter(clk, rst, en, count);
  reg [3:0] count = 4'h0;
  wire [4:0] \$2 ;
  assign \$2  = count + 1'h1;
  always @(posedge clk) begin
    if (en) begin
      count[1:0] <= \$2 [1:0];
    end
    if (rst) begin
      count <= 4'h0;
    end
  end
endmodule
"""


def test_a_next_value_that_nobody_else_reads_moves_into_the_register() -> None:
    assert fold_registers(ALONE).replace("count [", "count[") == FOLDED


def test_a_default_other_than_the_register_itself_stays() -> None:
    module = ALONE.replace("    \\$1  = count;", "    \\$1  = limit;")
    assert "    count <= limit;\n    if (en)" in fold_registers(module)


def test_a_next_value_that_others_read_stays_a_wire() -> None:
    module = ALONE.replace("endmodule", "  assign peek = \\$1 ;\nendmodule")
    assert fold_registers(module) == module


def test_names_that_need_escaping() -> None:
    folded = fold_registers(ALONE.replace(" count", " \\count$7 "))
    assert "      \\count$7 [1:0] <= \\$2 [1:0];" in folded
    assert "      \\count$7  <= 4'h0;" in folded


def test_what_is_combinational_stays_combinational() -> None:
    lines = ["if (kickstart) begin end", "ready = 1'h0;", "if (en) begin", "  ready = 1'h1;", "end"]
    other = "  always @* begin\n" + "".join(f"    {line}\n" for line in lines) + "  end\n"
    folded = fold_registers(ALONE.replace("endmodule", other + "endmodule"))
    assert other in folded
    assert "  reg kickstart = 0;\n" in folded


MEMORIES = [MemoryShape(5, 12, 3, True), MemoryShape(8, 7, 1, True), MemoryShape(3, 6, 2, False)]


@needs("iverilog")
@pytest.mark.parametrize("shape", MEMORIES, ids=[shape.name for shape in MEMORIES])
def test_a_memory_keeps_what_is_written(shape: MemoryShape, tmp_path: Path) -> None:
    """Random traffic in Icarus against a list of words."""
    rng = random.Random(4)
    words = [0] * shape.depth
    held = 0
    step = shape.width // shape.parts
    lines = []
    for _ in range(200):
        enables, to, data = rng.getrandbits(shape.parts), rng.randrange(shape.depth), rng.getrandbits(shape.width)
        read, at = rng.getrandbits(1), rng.randrange(shape.depth)
        if read:
            held = words[at]
        for part in range(shape.parts):
            if enables >> part & 1:
                mask = (1 << step) - 1 << part * step
                words[to] = words[to] & ~mask | data & mask
        expected = held if shape.registered else words[at]
        lines.append(f"we = {enables}; wa = {to}; wd = {data}; re = {read}; ra = {at}; #1 clk = 1; #1 clk = 0;")
        lines.append(f'#1 if (rd !== {expected}) $display("read %0d, expected {expected}", rd);')
    bits = (shape.depth - 1).bit_length()
    bench = f"""module bench;
  reg clk = 0, re; reg [{shape.parts - 1}:0] we; reg [{bits - 1}:0] wa, ra; reg [{shape.width - 1}:0] wd;
  wire [{shape.width - 1}:0] rd;
  {shape.name} dut (.clk(clk), .write_en(we), .write_addr(wa), .write_data(wd), .read_en(re), .read_addr(ra), .read_data(rd));
  initial begin
    {chr(10).join(lines)}
    $display("end");
  end
endmodule
"""
    (tmp_path / "bench.v").write_text(shape.verilog() + bench)
    subprocess.run(["iverilog", "-g2005", "-o", "bench", "bench.v"], cwd=tmp_path, check=True)
    result = subprocess.run(["vvp", "bench"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert result.stdout == "end\n"
