"""LEAKY, zero-point and clamp where a DSP48E2 scales and rounds: every int16, against whole numbers."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from amaranth import ClockDomain, Module, Signal, signed
from amaranth.back import verilog
from amaranth.hdl import Elaboratable

from hw.arithmetic.cascade import Dsp48Cascades
from hw.post.activation import Activate
from isa.config import preset
from isa.instructions import Activation
from sim.rtl.build import Build, cache_directory, runtime_objects
from sim.rtl.verilator import Toolchain
from tests.tools import needs

MODEL = Path(__file__).parents[1] / "arithmetic" / "dsp48e2.v"
CONFIG = preset("base")
DSPS = SimpleNamespace(cascades=Dsp48Cascades())
BENCH = """
module bench;
  reg clk = 0;
  reg signed [15:0] r = -16'sd32768;
  reg [15:0] alpha;
  reg signed [7:0] zp, lo, hi;
  wire signed [7:0] y [0:%(turns)d - 1];
  wire there;
  integer shown = 0, cycle = 0, n;
  wire valid = cycle %% %(turns)d == 0;
  top dut (.clk(clk), .valid(valid), .r(r), .alpha(alpha), .zp(zp), .lo(lo), .hi(hi), .there(there), %(ports)s);
  initial begin
    if (!$value$plusargs("alpha=%%d", alpha) || !$value$plusargs("zp=%%d", zp)) $finish;
    if (!$value$plusargs("lo=%%d", lo) || !$value$plusargs("hi=%%d", hi)) $finish;
    while (shown < 65536) begin
      #1 if (there) for (n = 0; n < %(turns)d; n = n + 1) begin
        $display("%%0d", y[n]);
        shown = shown + 1;
      end
      clk = 1;
      #1 cycle = cycle + 1;
      if (cycle %% %(turns)d == 0) r = r + %(turns)d;
      clk = 0;
    end
  end
endmodule
"""
VERILATOR = (
    "--cc", "--exe", "-Mdir", ".", "-O3", "--no-timing", "--x-initial", "unique", "-Wno-lint", "-Wno-style",
    "-CFLAGS", "-std=c++20",
)  # fmt: skip
MAIN = """
#include <cstdio>
#include <cstdlib>
#include "Vtop.h"
static int shown = 0;
static void put(int y) {
    std::putchar(y & 0xFF);
    shown++;
}
int main(int, char** given) {
    static Vtop top;
    top.alpha = std::atoi(given[1]);
    top.zp = std::atoi(given[2]);
    top.lo = std::atoi(given[3]);
    top.hi = std::atoi(given[4]);
    for (int cycle = 0; shown < 65536 && cycle < 1 << 19; cycle++) {
        top.valid = cycle %% %(turns)d == 0;
        top.r = cycle / %(turns)d * %(turns)d - 32768;
        top.clk = 0;
        top.eval();
        if (top.there) { %(outputs)s }
        top.clk = 1;
        top.eval();
    }
}
"""
"""What BENCH does, for Verilator, which takes a hundredth of the time but knows no unknown bits."""
CASES = [
    (alpha, zp, lo, hi)
    for alpha in (1 << 15, 0xC000, 0xFFFF)
    for zp, lo, hi in ((0, -128, 127), (3, -5, -2), (-128, -128, 127), (127, -128, 127), (0, -4, -3), (-1, 5, -6))
]
"""Half and three quarters make ties, some of which lie on a bound or beside one; of bounds that cross the upper one counts."""


class Lanes(Elaboratable):
    """Lanes that share a multiplier, to which a vector of neighbouring numbers comes in as many cycles."""

    def __init__(self, turns: int) -> None:
        self.sync = ClockDomain("sync", reset_less=True)
        self.valid, self.there = Signal(name="valid"), Signal(name="there")
        self.r, self.alpha = Signal(signed(16), name="r"), Signal(16, name="alpha")
        self.zp, self.lo, self.hi = (Signal(signed(8), name=name) for name in ("zp", "lo", "hi"))
        self.y = [Signal(signed(8), name=f"y{n}") for n in range(turns)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains += self.sync
        turns = len(self.y)
        part = Activate(CONFIG, turns, turns)
        m.submodules.part = part
        m.d.comb += [part.i.p.act.eq(Activation.LEAKY.value), self.there.eq(part.o.valid)]
        m.d.comb += [part.i.p[name].eq(getattr(self, name)) for name in ("alpha", "zp", "lo", "hi")]
        m.d.sync += part.i.valid.eq(self.valid)
        for n, y in enumerate(self.y):
            m.d.comb += y.eq(part.o.p[n])
            with m.If(self.valid):
                m.d.sync += part.i.p.r[n].eq(self.r + n)
        return m


def finished(r: int, alpha: int, zp: int, lo: int, hi: int) -> int:
    if r < 0:
        floor, rest = divmod(r * alpha, 1 << 16)
        r = floor + (rest > 1 << 15 or (rest == 1 << 15 and floor % 2))
    return min(max(r + zp, lo), hi)


def written(turns: int) -> str:
    """The lanes in Verilog, with a model of the DSPs that they name."""
    lanes = Lanes(turns)
    ports = [lanes.sync.clk, lanes.valid, lanes.r, lanes.alpha, lanes.zp, lanes.lo, lanes.hi, lanes.there, *lanes.y]
    text: str = verilog.convert(lanes, name="top", ports=ports, platform=DSPS)
    return text + MODEL.read_text()


def expected(case: tuple[int, int, int, int]) -> list[int]:
    return [finished(r, *case) for r in range(-(1 << 15), 1 << 15)]


@pytest.mark.parametrize("turns", [1, 2, 4])
def test_every_value_is_clamped_after_it_is_rounded(turns: int, tmp_path: Path) -> None:
    (tmp_path / "all.v").write_text(written(turns))
    outputs = " ".join(f"put(top.y{n});" for n in range(turns))
    (tmp_path / "main.cpp").write_text(MAIN % {"turns": turns, "outputs": outputs})
    tools = Toolchain(brief=True)
    objects = tools.prepared(tmp_path)
    tools.verilate(objects, [*VERILATOR, "--top-module", "top", "../all.v", "../main.cpp"])
    with runtime_objects(cache_directory() / "rtl", objects, Build("verilator", "", {}, brief=True)):
        tools.compile(objects, "Vtop", [tmp_path / "main.cpp"])
    for case in CASES:
        made = subprocess.run([objects / "Vtop", *map(str, case)], check=True, capture_output=True).stdout
        np.testing.assert_array_equal(np.frombuffer(made, np.int8), expected(case))


@needs("iverilog")
@pytest.mark.parametrize("turns", [1, 2, 4])
def test_nothing_unknown_at_first_comes_out(turns: int, tmp_path: Path) -> None:
    bench = BENCH % {"turns": turns, "ports": ", ".join(f".y{n}(y[{n}])" for n in range(turns))}
    (tmp_path / "all.v").write_text(written(turns) + bench)
    subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", "sim", "all.v"], cwd=tmp_path, check=True)
    alpha, zp, lo, hi = case = CASES[7]
    command = ["vvp", "-n", "sim", f"+alpha={alpha}", f"+zp={zp}", f"+lo={lo}", f"+hi={hi}"]
    out = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    np.testing.assert_array_equal(np.array(out.split(), int), expected(case))
