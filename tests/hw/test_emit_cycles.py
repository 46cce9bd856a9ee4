"""The quick search for combinational cycles finds none where the back end finds none, and leaves those that are to it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Elaboratable, Module, Mux, Signal, Value
from amaranth.hdl._ir import Fragment, build_netlist
from amaranth.hdl._nir import CombinationalCycle, Netlist

from hw.emit_cycles import in_or_between_cycles, may_have_cycle, quick_cycle_check


class Drawn(Elaboratable):
    """Random expressions of random signals, some of them of themselves; some signals are registers."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.a, self.b = Signal(8), Signal(8)
        self.signals = [Signal(8, name=f"s{n}") for n in range(6)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for signal in self.signals:
            domain = m.d.sync if self.rng.random() < 0.4 else m.d.comb
            with m.If(self.operand().any()):
                domain += signal[:4].eq(self.expression())
            domain += signal[4:].eq(self.expression())
        return m

    def operand(self) -> Signal:
        return self.rng.choice([self.a, self.b, self.a, self.b, *self.signals])

    def expression(self) -> Value:
        x, y = self.operand(), self.operand()
        return self.rng.choice([x + y, x & y, Cat(y[2:], x), Mux(x[0], x, y), x.bit_select(y[:3], 2), x == y, ~x])


def test_no_cycle_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    thorough: Callable[[Netlist], None] = Netlist.check_comb_cycles
    found: set[tuple[bool, bool]] = set()

    def both(netlist: Netlist) -> None:
        try:
            thorough(netlist)
            found.add((False, may_have_cycle(netlist)))
        except CombinationalCycle:
            found.add((True, may_have_cycle(netlist)))

    monkeypatch.setattr(Netlist, "check_comb_cycles", both)
    for seed in range(200):
        design = Drawn(seed)
        build_netlist(Fragment.get(design, None), ports=[design.a, design.b])
    assert {(True, True), (False, False)} <= found <= {(True, True), (False, False), (False, True)}


def test_only_cells_in_or_between_cycles_are_followed_bit_by_bit() -> None:
    before, one, other, between, last, behind = range(6)
    sources = {before: set(), one: {before, other}, other: {one}, between: {other}, last: {between, last}, behind: {last}}
    assert in_or_between_cycles(sources) == {one, other, between, last}


def test_a_cycle_is_told_in_the_back_ends_words() -> None:
    m = Module()
    a, b = Signal(), Signal()
    m.d.comb += [a.eq(~b), b.eq(a)]
    with quick_cycle_check(), pytest.raises(CombinationalCycle, match="Combinational cycle detected"):
        rtlil.convert(m, ports=[a])


def test_what_only_seems_to_be_a_cycle_passes() -> None:
    """The first of two cases decides the second: the bits of one priority cell, in order."""
    m = Module()
    a, b, o = Signal(), Signal(), Signal()
    with m.If(a):
        m.d.comb += b.eq(1)
    with m.If(o):
        m.d.comb += b.eq(1)
    m.d.comb += o.eq(a)
    with quick_cycle_check():
        assert "module" in rtlil.convert(m, ports=[a, b])
