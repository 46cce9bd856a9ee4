"""The back end's netlist, made in less time, and smaller.

Nine tenths of it are values, tuples of nets, of which there are half a million. Amaranth looks at each net of each value that
it makes or resolves, eight million times for ``base``, and at each net a million times more. All come from its own code, which
makes nothing else: a value is made of them as they are, and one without late nets is its own resolution.

An expression is a tree: what it uses twice is written twice, four tenths of all operators of ``base``. In the netlist, and so
in the Verilog and for whatever reads it, a module has one operator for the same inputs.

Sums, differences and products of Amaranth are as wide as any of them can be, even where a register keeps fewer bits. What
nobody reads of them a synthesis tool removes, but a simulator computes it: sums of registers are a bit or two shorter here.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager

from amaranth.hdl import _nir as nir

from hw.emit_meanwhile import meanwhile

_ARITHMETIC = ("+", "-", "*")


def quick_values() -> AbstractContextManager[None]:
    """Netlists that are made meanwhile are made so; they are the same."""

    def make(cls: type[nir.Value], nets: nir.Net | Iterable[nir.Net] = ()) -> nir.Value:
        return tuple.__new__(cls, (nets,) if isinstance(nets, nir.Net) else nets)

    def resolve(netlist: nir.Netlist, value: nir.Value) -> nir.Value:
        # Late nets are below zero.
        return value if min(value, default=0) >= 0 else nir.Value(map(netlist.resolve_net, value))

    def of_cell(cls: type[nir.Net], cell: int, bit: int) -> nir.Net:
        return int.__new__(cls, cell << 16 | bit)

    return meanwhile(
        (nir.Value, "__new__", make), (nir.Netlist, "resolve_value", resolve), (nir.Net, "from_cell", classmethod(of_cell))
    )


def short_operators() -> AbstractContextManager[None]:
    """Sums, differences and products of netlists that are made meanwhile end with the highest bit that is read."""
    whole = nir.Netlist.resolve_all_nets

    def resolve(netlist: nir.Netlist) -> None:
        whole(netlist)
        _shorten(netlist)

    return meanwhile((nir.Netlist, "resolve_all_nets", resolve))


def _shorten(netlist: nir.Netlist) -> None:
    """A bit of a sum depends on no higher one of what is added."""
    long = {
        number: cell
        for number, cell in enumerate(netlist.cells)
        if isinstance(cell, nir.Operator) and cell.operator in _ARITHMETIC and len(cell.inputs) > 1
    }
    nets = {nir.Net.from_cell(number, bit) for number, cell in long.items() for bit in range(cell.width)}
    read: set[nir.Net] = set()
    for cell in netlist.cells:
        read |= nets & cell.input_nets()
    for value in netlist.signals.values():
        read |= nets.intersection(value)
    for number, cell in long.items():
        width = cell.width
        while width > 1 and nir.Net.from_cell(number, width - 1) not in read:
            width -= 1
        if width < cell.width:
            cell.inputs = tuple(value[:width] for value in cell.inputs)


def shared_operators() -> AbstractContextManager[None]:
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

    return meanwhile((nir.Netlist, "add_value_cell", add))
