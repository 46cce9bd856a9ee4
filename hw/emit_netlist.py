"""The back end's netlist, made in less time, and smaller.

Nine tenths of it are values, tuples of nets, of which there are half a million. Amaranth looks at each net of each value that
it makes or resolves, eight million times for ``base``, and at each net a million times more. All come from its own code, which
makes nothing else: a value is made of them as they are, and one without late nets is its own resolution.

An expression is a tree: what it uses twice is written twice, four tenths of all operators of ``base``. In the netlist, and so
in the Verilog and for whatever reads it, a module has one operator for the same inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from amaranth.hdl import _nir as nir


@contextmanager
def quick_values() -> Iterator[None]:
    """Netlists that are made meanwhile are made so; they are the same."""
    checked, thorough, bounded = nir.Value.__new__, nir.Netlist.resolve_value, nir.Net.__dict__["from_cell"]

    def make(cls: type[nir.Value], nets: nir.Net | Iterable[nir.Net] = ()) -> nir.Value:
        return tuple.__new__(cls, (nets,) if isinstance(nets, nir.Net) else nets)

    def resolve(netlist: nir.Netlist, value: nir.Value) -> nir.Value:
        # Late nets are below zero.
        return value if min(value, default=0) >= 0 else nir.Value(map(netlist.resolve_net, value))

    def of_cell(cls: type[nir.Net], cell: int, bit: int) -> nir.Net:
        return int.__new__(cls, cell << 16 | bit)

    nir.Value.__new__, nir.Netlist.resolve_value, nir.Net.from_cell = make, resolve, classmethod(of_cell)
    try:
        yield
    finally:
        nir.Value.__new__, nir.Netlist.resolve_value, nir.Net.from_cell = checked, thorough, bounded


@contextmanager
def shared_operators() -> Iterator[None]:
    """Netlists that are made meanwhile hold no two operators of one module that do the same to the same nets."""
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
