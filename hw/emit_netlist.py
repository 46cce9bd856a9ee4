"""The back end's netlist, made in less time: nine tenths of it are values, tuples of nets, of which there are half a million.

Amaranth looks at each net of each value that it makes or resolves, eight million times for ``base``. All come from its own
code, which makes nothing else: a value is made of them as they are, and one without late nets is its own resolution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from amaranth.hdl import _nir as nir


@contextmanager
def quick_values() -> Iterator[None]:
    """Netlists that are made meanwhile are made so; they are the same."""
    checked, thorough = nir.Value.__new__, nir.Netlist.resolve_value

    def make(cls: type[nir.Value], nets: nir.Net | Iterable[nir.Net] = ()) -> nir.Value:
        return tuple.__new__(cls, (nets,) if isinstance(nets, nir.Net) else nets)

    def resolve(netlist: nir.Netlist, value: nir.Value) -> nir.Value:
        # Late nets are below zero.
        return value if min(value, default=0) >= 0 else nir.Value(map(netlist.resolve_net, value))

    nir.Value.__new__, nir.Netlist.resolve_value = make, resolve
    try:
        yield
    finally:
        nir.Value.__new__, nir.Netlist.resolve_value = checked, thorough
