"""What is changed of the back end's netlist, and of which Amaranth."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal
from amaranth.hdl import _nir as nir

from hw.emit_netlist import shared_operators


def test_the_amaranth_that_the_back_end_is_changed_of() -> None:
    """Another version: run the tests of emission, look at the Verilog, and write its number here."""
    assert version("amaranth") == "0.5.10"


def test_the_back_end_is_as_before_afterwards() -> None:
    before = nir.Netlist.add_value_cell
    with pytest.raises(RuntimeError), shared_operators():
        raise RuntimeError
    assert nir.Netlist.add_value_cell is before


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
