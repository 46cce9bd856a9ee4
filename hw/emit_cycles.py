"""The back end's search for combinational cycles, in time that grows with the netlist and not with its square.

Amaranth follows every bit of a cell's output to every bit that it depends on: 140 million edges where a bus of 512 bits is
shifted by a variable. Here a cell whose bits depend on the same bits is one place of the graph. What has no cycle so has none;
where there seems to be one, Amaranth looks itself, for some of these cells are less dense than that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.hdl import _nir as nir

_BITWISE = ("~", "&", "|", "^", "m")
_DENSE = (nir.Part, nir.Matches, nir.PriorityMatch, nir.AsyncReadPort)
"""Their highest output bit depends on all that any bit does."""
_ALL_BITS = 0xFFFF
"""Stands for all bits of a cell that is one place; nets have so many for the bit."""


@contextmanager
def quick_cycle_check() -> Iterator[None]:
    """Netlists that are made meanwhile are looked through so."""
    thorough = nir.Netlist.check_comb_cycles

    def check(netlist: nir.Netlist) -> None:
        if may_have_cycle(netlist):
            thorough(netlist)

    nir.Netlist.check_comb_cycles = check
    try:
        yield
    finally:
        nir.Netlist.check_comb_cycles = thorough


def may_have_cycle(netlist: nir.Netlist) -> bool:
    """False: nothing depends on itself without a register between."""
    waiting: dict[int, int] = {}
    readers: defaultdict[int, list[int]] = defaultdict(list)
    for place, sources in _edges(netlist):
        waiting[place] = len(sources)
        for source in sources:
            readers[source].append(place)
    ready = [place for place, count in waiting.items() if count == 0]
    settled = 0
    while ready:
        settled += 1
        for reader in readers[ready.pop()]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    return settled < len(waiting)


def _edges(netlist: nir.Netlist) -> Iterator[tuple[int, set[int]]]:
    """Every place, and what it depends on."""
    one_place = [_is_one_place(cell) for cell in netlist.cells]

    def place_of(net: nir.Net) -> int:
        return net | _ALL_BITS if not net.is_late and one_place[net.cell] else int(net)

    for late, source in netlist.connections.items():
        yield int(late), set() if source.is_const else {place_of(source)}
    for number, cell in enumerate(netlist.cells):
        nets = cell.output_nets(number)
        for net in (max(nets),) if nets and one_place[number] else nets:
            yield place_of(net), {place_of(source) for source, _ in cell.comb_edges_to(net.bit) if not source.is_const}


def _is_one_place(cell: nir.Cell) -> bool:
    return cell.operator not in _BITWISE if isinstance(cell, nir.Operator) else isinstance(cell, _DENSE)
