"""Copies of a signal: what they hold, what each of them drives, and that synthesis keeps them."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from amaranth import Elaboratable, Module, Mux, Signal
from amaranth.back import verilog as backend
from amaranth.hdl import Fragment, Value
from amaranth.sim import Simulator, SimulatorContext

from hw.copies import PINS, Spread
from sim.synthesis.tools import find_tool

COUNT = 5
BITS = PINS // 2 + 10
"""Of which a copy enables no second register."""


class Held(Elaboratable):
    """Registers that take a number when all of ``asked`` is high, enabled by copies of one signal or by that signal alone."""

    def __init__(self, *, spread: bool, domain: str = "comb") -> None:
        self._spread, self._domain = spread, domain
        self.asked = Signal(2)
        self.number = Signal(BITS)
        self.out = [Signal(BITS, name=f"out{n}") for n in range(COUNT)]
        self.told: list[Value] = []

    def elaborate(self, platform: object) -> Module:
        m = Module()
        goes = Signal()
        spread = Spread(m, goes, self.asked.all(), self._domain)
        for out in self.out:
            self.told.append(spread.of(BITS) if self._spread else goes)
            with m.If(self.told[-1]):
                m.d.sync += out.eq(self.number)
        return m


@pytest.mark.parametrize("domain", ["comb", "sync"])
def test_copies_do_what_the_signal_does(domain: str) -> None:
    dut = Held(spread=True, domain=domain)
    asked = [0b11, 0b01, 0b11, 0b11, 0b00, 0b10, 0b11]

    async def script(ctx: SimulatorContext) -> None:
        held = 0
        for number, (before, now) in enumerate(pairwise([0, *asked]), start=1):
            ctx.set(dut.asked, now)
            ctx.set(dut.number, number)
            await ctx.tick()
            if (now if domain == "comb" else before) == 0b11:
                held = number
            assert [ctx.get(out) for out in dut.out] == [held] * COUNT

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()
    assert len({id(told) for told in dut.told}) == COUNT


def test_a_signal_drives_itself_what_it_can() -> None:
    m, signal = Module(), Signal()
    spread = Spread(m, signal, Signal(), elsewhere=PINS // 4)
    first, second, third, fourth = (spread.of(PINS // 4) for _ in range(4))
    assert first is second is third is signal
    assert fourth is not signal
    whole, other = spread.of(2 * PINS), spread.of(1)
    assert whole is not fourth
    assert other is not whole
    assert len(Fragment.get(m, None).subfragments) == 3


def test_a_long_register_is_enabled_in_parts() -> None:
    asked, long, number = Signal(), Signal(5 * PINS // 2), Signal(5 * PINS // 2)
    m, goes = Module(), Signal()
    Spread(m, goes, asked).enable(long, number)

    async def script(ctx: SimulatorContext) -> None:
        value = (1 << len(long)) - 1
        ctx.set(number, value)
        await ctx.tick()
        assert ctx.get(long) == 0
        ctx.set(asked, 1)
        await ctx.tick()
        assert ctx.get(long) == value

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()


def test_a_register_may_depend_on_itself() -> None:
    m, held, load, number = Module(), Signal(4, init=9), Signal(), Signal(4)
    spread = Spread(m, held, Mux(load, number, held), "sync", elsewhere=PINS)
    copy = spread.of(1)

    async def script(ctx: SimulatorContext) -> None:
        assert ctx.get(copy) == 9
        for value, loads, expected in ((3, 1, 3), (5, 0, 3), (6, 1, 6)):
            ctx.set(number, value)
            ctx.set(load, loads)
            await ctx.tick()
            assert ctx.get(held) == ctx.get(copy) == expected

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(script)
    simulator.run()


@pytest.mark.parametrize("spread", [True, False])
def test_synthesis_keeps_copies_and_makes_equal_registers_one(spread: bool, tmp_path: Path) -> None:
    dut = Held(spread=spread, domain="sync")
    (tmp_path / "held.v").write_text(backend.convert(dut, name="held", ports=[dut.asked, dut.number, *dut.out]))
    script = "read_verilog held.v; synth -top held; tee -o stat.json stat -json"
    find_tool("yosys").run(["-q", "-p", script], tmp_path)
    cells = json.loads((tmp_path / "stat.json").read_text())["design"]["num_cells_by_type"]
    registers = sum(count for kind, count in cells.items() if "DFF" in kind)
    assert registers == (COUNT * (1 + BITS) if spread else 1 + BITS)
