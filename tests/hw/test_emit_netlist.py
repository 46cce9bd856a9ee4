"""The netlist that is made in less time beside Amaranth's own."""

from __future__ import annotations

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Signal
from amaranth.hdl import _nir as nir

from hw.conv.unit import ConvUnit
from hw.emit_netlist import quick_values
from isa.config import preset


def test_the_netlist_is_the_same() -> None:
    thorough = rtlil.convert(ConvUnit(preset("nano")))
    with quick_values():
        assert rtlil.convert(ConvUnit(preset("nano"))) == thorough


def test_what_it_leaves_out_is_back_afterwards() -> None:
    with quick_values():
        assert nir.Value(nir.Net.from_const(1)) == (1,)
    with pytest.raises(AssertionError):
        nir.Value([7])


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
