"""Changes the back end of Amaranth, here and nowhere else: its netlist has each operator of a module once.

An expression is a tree, so the back end writes twice what the expression uses twice. With this change a module, and so the
Verilog, has one operator for the same inputs. ``tests/hw/test_emit_netlist.py`` says which Amaranth this was tried with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.hdl import _nir as nir


@contextmanager
def shared_operators() -> Iterator[None]:
    """Within this context, netlists hold no two operators of one module that do the same to the same nets."""
    separate = nir.Netlist.add_value_cell
    known: dict[tuple[object, ...], nir.Value] = {}

    def add(netlist: nir.Netlist, width: int, cell: nir.Cell) -> nir.Value:
        if not isinstance(cell, nir.Operator):
            return separate(netlist, width, cell)
        does = (netlist, cell.module_idx, cell.operator, width, cell.inputs)
        if does not in known:
            known[does] = separate(netlist, width, cell)
        return known[does]

    nir.Netlist.add_value_cell = add
    try:
        yield
    finally:
        nir.Netlist.add_value_cell = separate
