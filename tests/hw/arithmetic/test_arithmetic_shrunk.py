"""LEAKY's product and its rounding inside a DSP48E2: every int16, at one clock and by turns at twice the clock."""

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
from hw.arithmetic.doubled import FAST, doubled_cascades, halves_of_a_cycle
from hw.arithmetic.dsp48e2 import Enables
from tests.tools import needs

MODEL = Path(__file__).parent / "dsp48e2.v"
FACTORS = (0, 1, 3, 6554, 1 << 15, 0xC000, 0xFFFF)
"""Half of an odd number is a tie, and so is three quarters of one that is even and no multiple of four."""
BENCH = """
module bench;
  reg clk = 0, fast_clk = 0;
  reg signed [15:0] value = -16'sd32768;
  reg [15:0] factor;
  reg chosen = 0;
  wire signed [15:0] first, second;
  wire [1:0] taken = {~chosen, chosen};
  integer left = 65536 + LATENCY, shown = -LATENCY;
  top dut (.clk(clk), .fast_clk(fast_clk), .value(value), .other(~value), .factor(factor), .chosen(taken),
           .first(first), .second(second));
  initial begin
    if (!$value$plusargs("factor=%d", factor) || !$value$plusargs("chosen=%b", chosen)) $finish;
    while (left > 0) begin
      #1 fast_clk = 0;
      #1 begin clk = 1; fast_clk = 1; end
      #1 fast_clk = 0;
      if (shown >= 0) $display("%0d %0d", first, second);
      value = value + 1; shown = shown + 1; left = left - 1;
      #1 begin clk = 0; fast_clk = 1; end
    end
  end
endmodule
"""


class Lanes(Elaboratable):
    """Two lanes, one of which is scaled and the other is not."""

    def __init__(self, *, by_turns: bool) -> None:
        self.by_turns = by_turns
        self.sync, self.fast = ClockDomain("sync", reset_less=True), ClockDomain(FAST, reset_less=True)
        self.value, self.other = (Signal(signed(16), name=name) for name in ("value", "other"))
        self.factor, self.chosen = Signal(16, name="factor"), Signal(2, name="chosen")
        self.first, self.second = (Signal(signed(16), name=name) for name in ("first", "second"))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains += [self.sync, self.fast]
        held = [Signal(signed(16), name=f"held_{n}") for n in range(2)]
        m.d.sync += [to.eq(value) for to, value in zip(held, (self.value, self.other), strict=True)]
        dsps = SimpleNamespace(cascades=Dsp48Cascades())
        if self.by_turns:
            kind = doubled_cascades(dsps, halves_of_a_cycle(m))
            found = kind.shrunk(m, held, self.factor, list(self.chosen), 1)
        else:
            always = Enables.all(Signal(init=1))
            cascades = dsps.cascades
            found = [cascades.shrunk(m, held[n], self.factor, self.chosen[n], always, str(n)) for n in range(2)]
        m.d.comb += [self.first.eq(found[0].whole), self.second.eq(found[1].whole)]
        return m


def shrunk(value: int, factor: int) -> int:
    """``value * factor / 2^16``, ties to even."""
    floor, rest = divmod(value * factor, 1 << 16)
    return floor + (rest > 1 << 15 or (rest == 1 << 15 and floor % 2))


@needs("iverilog")
@pytest.mark.parametrize("by_turns", [False, True])
def test_every_value_is_scaled_and_rounded_as_leaky_says(by_turns: bool, tmp_path: Path) -> None:
    lanes = Lanes(by_turns=by_turns)
    clocks = [lanes.sync.clk, lanes.fast.clk]
    ports = [*clocks, lanes.value, lanes.other, lanes.factor, lanes.chosen, lanes.first, lanes.second]
    bench = BENCH.replace("LATENCY", "4" if by_turns else "2")
    (tmp_path / "all.v").write_text(verilog.convert(lanes, name="top", ports=ports) + MODEL.read_text() + bench)
    subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", "sim", "all.v"], cwd=tmp_path, check=True)
    for number, factor in enumerate(FACTORS):
        chosen = number % 2
        command = ["vvp", "-n", "sim", f"+factor={factor}", f"+chosen={chosen}"]
        out = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        rows = np.array([line.split() for line in out.splitlines()], int)
        values = np.arange(-(1 << 15), 1 << 15)
        scaled = [np.array([shrunk(int(v), factor) for v in way]) for way in (values, ~values)]
        plain = [values, ~values]
        np.testing.assert_array_equal(rows[:, 0], scaled[0] if chosen else plain[0])
        np.testing.assert_array_equal(rows[:, 1], plain[1] if chosen else scaled[1])
