"""The netlist that is made in less time beside Amaranth's own."""

from __future__ import annotations

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal
from amaranth.hdl import _nir as nir

from hw.conv.unit import ConvUnit
from hw.emit_netlist import quick_values, shared_operators, short_operators
from isa.config import preset


def test_the_netlist_is_the_same() -> None:
    thorough = rtlil.convert(ConvUnit(preset("nano")))
    with quick_values():
        assert rtlil.convert(ConvUnit(preset("nano"))) == thorough


def test_what_it_leaves_out_is_back_afterwards() -> None:
    with quick_values():
        assert nir.Value(nir.Net.from_const(1)) == (1,)
        assert nir.Net.from_cell(3, 5) == (3 << 16) + 5
    with pytest.raises(AssertionError):
        nir.Value([7])
    with pytest.raises(AssertionError):
        nir.Net.from_cell(3, 1 << 16)


def test_late_nets_are_resolved() -> None:
    netlist = nir.Netlist()
    late = netlist.alloc_late_value(Signal(2))
    netlist.connections |= dict(zip(late, (nir.Net.from_const(1), nir.Net.from_const(0)), strict=True))
    mixed = nir.Value([nir.Net.from_const(1), *late])
    thorough = netlist.resolve_value(mixed)
    with quick_values():
        assert netlist.resolve_value(mixed) == thorough == (1, 1, 0)
        known = nir.Value([nir.Net.from_const(0)])
        assert netlist.resolve_value(known) is known


def operators(text: str, kind: str) -> int:
    return text.count(f"cell ${kind} ")


def test_a_module_has_one_operator_for_the_same_inputs() -> None:
    a, b, o = Signal(8), Signal(8), Signal(8)
    m = Module()
    m.d.comb += o.eq((a + b) ^ ((a + b) << 1) ^ (b + a))
    ports = [a, b, o]
    assert operators(rtlil.convert(m, ports=ports), "add") == 3
    with shared_operators():
        assert operators(rtlil.convert(m, ports=ports), "add") == 2, "b + a has other inputs"


def test_modules_share_none() -> None:
    a, b, o, p = (Signal(8, name=name) for name in "abop")
    top, inner = Module(), Module()
    inner.d.comb += o.eq(a & b)
    top.d.comb += p.eq(a & b)
    top.submodules.inner = inner
    with shared_operators():
        assert operators(rtlil.convert(top, ports=[a, b, o, p]), "and") == 2


def test_what_differs_in_width_alone_is_not_shared() -> None:
    a, short, long = Signal(8), Signal(8), Signal(9)
    m = Module()
    m.d.comb += [short.eq(a + 1), long.eq(a + 1)]
    with shared_operators():
        assert "wire width 9" in rtlil.convert(m, ports=[a, short, long])


def test_the_next_netlist_begins_anew() -> None:
    a, b, o = Signal(8), Signal(8), Signal(8)
    m = Module()
    m.d.comb += o.eq(a + b)
    with shared_operators():
        first, second = (rtlil.convert(m, ports=[a, b, o]) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("operator", ["add", "sub", "mul"])
def test_a_sum_ends_with_the_highest_bit_that_is_read(operator: str) -> None:
    a, b, o = Signal(8), Signal(8), Signal(6)
    m = Module()
    m.d.comb += o.eq({"add": a + b, "sub": a - b, "mul": a * b}[operator][1:7])
    with short_operators():
        text = rtlil.convert(m, ports=[a, b, o])
    assert "parameter \\Y_WIDTH 7" in text
    assert "parameter \\Y_WIDTH 7" not in rtlil.convert(m, ports=[a, b, o])


def test_a_sum_with_a_name_or_another_reader_is_whole() -> None:
    a, b, o, named = Signal(8), Signal(8), Signal(4), Signal(9)
    m = Module()
    m.d.comb += [named.eq(a + b), o.eq(named)]
    with short_operators():
        assert "parameter \\Y_WIDTH 9" in rtlil.convert(m, ports=[a, b, o])


def test_what_its_highest_bits_decide_is_not_cut() -> None:
    a, b, o = Signal(8), Signal(8), Signal(4)
    m = Module()
    m.d.comb += o.eq((a + b) >> 5)
    with short_operators():
        assert "parameter \\Y_WIDTH 9" in rtlil.convert(m, ports=[a, b, o])
