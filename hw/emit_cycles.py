"""The back end's search for combinational cycles, in time that grows with the netlist and not with its square.

Amaranth follows every bit of a cell's output to every bit that it depends on: 140 million edges where a bus of 512 bits is
shifted by a variable. Here cells are followed first. All but a few of them are then known to lie in no cycle; of those that
remain, a cell whose bits depend on the same bits is one place of the graph. What has no cycle so has none; where there seems
to be one, Amaranth looks itself, for some of these cells are less dense than that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager

from amaranth.hdl import _nir as nir

from hw.emit_meanwhile import meanwhile

_BITWISE = ("~", "&", "|", "^", "m")
_DENSE = (nir.Part, nir.Matches, nir.PriorityMatch, nir.AsyncReadPort)
"""Their highest output bit depends on all that any bit does."""
_CELL_SHIFT = 16
"""A net is its cell's number and, in so many bits below, its bit."""
_ALL_BITS = (1 << _CELL_SHIFT) - 1
"""Stands for all bits of a cell that is one place."""


def quick_cycle_check() -> AbstractContextManager[None]:
    """Netlists that are made meanwhile are looked through so."""
    thorough = nir.Netlist.check_comb_cycles

    def check(netlist: nir.Netlist) -> None:
        if may_have_cycle(netlist):
            thorough(netlist)

    return meanwhile((nir.Netlist, "check_comb_cycles", check))


def may_have_cycle(netlist: nir.Netlist) -> bool:
    """False: nothing depends on itself without a register between."""
    drivers = _drivers(netlist)
    cells = {number: {_cell_of(net, drivers) for net in _inputs(cell)} for number, cell in enumerate(netlist.cells)}
    left = in_or_between_cycles(cells)
    return bool(left) and bool(in_or_between_cycles(dict(_places(netlist, drivers, left))))


def in_or_between_cycles(sources: Mapping[int, Collection[int]]) -> set[int]:
    """Nodes that depend on themselves, or on one such and are what another depends on."""
    readers: defaultdict[int, list[int]] = defaultdict(list)
    for node, of in sources.items():
        for source in of:
            readers[source].append(node)
    left = _unsettled(sources, readers)
    behind = {node: [reader for reader in readers[node] if reader in left] for node in left}
    before = {node: [source for source in sources[node] if source in left] for node in left}
    return _unsettled(behind, before)


def _unsettled(sources: Mapping[int, Collection[int]], readers: Mapping[int, Iterable[int]]) -> set[int]:
    """Nodes that are in a cycle or read from one."""
    waiting = {node: len(of) for node, of in sources.items()}
    ready = [node for node, count in waiting.items() if count == 0]
    while ready:
        node = ready.pop()
        del waiting[node]
        for reader in readers.get(node, ()):
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready.append(reader)
    return set(waiting)


def _drivers(netlist: nir.Netlist) -> dict[int, int]:
    """Of each late net the net of a cell that drives it."""
    found: dict[int, int] = {}
    connections = netlist.connections
    for late, source in connections.items():
        while source < 0:
            known = found.get(source)
            source = connections[source] if known is None else known
        found[late] = source
    return found


def _cell_of(net: int, drivers: Mapping[int, int]) -> int:
    return (drivers[net] if net < 0 else net) >> _CELL_SHIFT


def _inputs(cell: nir.Cell) -> set[int]:
    """All that any bit of its output depends on without a register between."""
    if isinstance(cell, nir.Operator):
        return set[int]().union(*cell.inputs)
    if isinstance(cell, nir.AssignmentList):
        values = (assignment.value for assignment in cell.assignments)
        return set(cell.default).union(*values, [assignment.cond for assignment in cell.assignments])
    if isinstance(cell, _DENSE):
        return set(cell.input_nets())
    if isinstance(cell, nir.FlipFlop):
        return {cell.clk, cell.arst}
    return set()


def _places(netlist: nir.Netlist, drivers: Mapping[int, int], cells: Collection[int]) -> Iterator[tuple[int, set[int]]]:
    """Every place of these cells, and which of them it depends on."""
    for number in cells:
        cell = netlist.cells[number]
        nets = cell.output_nets(number)
        for net in (max(nets),) if _is_one_place(cell) else nets:
            sources = (drivers[source] if source < 0 else source for source, _ in cell.comb_edges_to(net.bit))
            inside = (source for source in sources if source >> _CELL_SHIFT in cells)
            yield _place_of(netlist, net), {_place_of(netlist, source) for source in inside}


def _place_of(netlist: nir.Netlist, net: int) -> int:
    return net | _ALL_BITS if _is_one_place(netlist.cells[net >> _CELL_SHIFT]) else int(net)


def _is_one_place(cell: nir.Cell) -> bool:
    return cell.operator not in _BITWISE if isinstance(cell, nir.Operator) else isinstance(cell, _DENSE)
