"""Copies of registers: a cycle late, and as many after synthesis as were asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from amaranth import Elaboratable, Module, Signal
from amaranth.back import verilog as backend
from amaranth.sim import Simulator, SimulatorContext

from hw.copies import copies
from sim.synthesis.tools import find_tool

COUNT = 5


class Copied(Elaboratable):
    """A number, in copies of a register or in plain ones."""

    def __init__(self, *, apart: bool) -> None:
        self._apart = apart
        self.number = Signal(3)
        self.out = [Signal(3, name=f"out{n}") for n in range(COUNT)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self._apart:
            m.d.comb += [out.eq(copy) for out, copy in zip(self.out, copies(m, self.number, COUNT, "copy"), strict=True)]
        else:
            m.d.sync += [out.eq(self.number) for out in self.out]
        return m


def test_a_copy_is_a_cycle_late() -> None:
    dut = Copied(apart=True)

    async def script(ctx: SimulatorContext) -> None:
        for number in (5, 2, 7, 0):
            ctx.set(dut.number, number)
            await ctx.tick()
            assert [ctx.get(out) for out in dut.out] == [number] * COUNT

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()


@pytest.mark.parametrize("apart", [True, False])
def test_synthesis_keeps_copies_and_makes_equal_registers_one(apart: bool, tmp_path: Path) -> None:
    dut = Copied(apart=apart)
    (tmp_path / "copied.v").write_text(backend.convert(dut, name="copied", ports=[dut.number, *dut.out]))
    script = "read_verilog copied.v; synth -top copied; tee -o stat.json stat -json"
    find_tool("yosys").run(["-q", "-p", script], tmp_path)
    cells = json.loads((tmp_path / "stat.json").read_text())["design"]["num_cells_by_type"]
    registers = sum(count for kind, count in cells.items() if "DFF" in kind)
    assert registers == (COUNT * 3 if apart else 3)
