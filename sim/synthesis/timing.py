"""The deepest combinational paths of a mapped machine, with the places in the source where they begin and end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from sim.synthesis.cells import Kind, kind_of
from sim.synthesis.graph import End, NetGraph, build_graph
from sim.synthesis.mapping import Mapped

MARKS = {Kind.FF: "FF", Kind.BRAM: "BRAM", Kind.DSP: "DSP", Kind.MEMORY: "LUTRAM", Kind.CARRY: "carry", Kind.LUT: "LUT"}


@dataclass(frozen=True)
class Point:
    """A signal of the machine, and the line that makes it. The line is empty where the generator of the netlist does not know
    it."""

    signal: str
    source: str


@dataclass(frozen=True)
class DeepPath:
    """The deepest path to one register, memory or output. ``ends`` counts all that are like it: its bits, and copies of its
    module."""

    levels: int
    cells: str
    """The cells on it, as ``FF LUT carry LUT FF``; a number before a mark says how many there are in a row."""
    begin: Point
    end: Point
    through: tuple[str, ...]
    """The instances on its way, each named once."""
    ends: int
    fan_out: int
    """The greatest number of pins that a net on it drives."""


def deepest_paths(mapped: Mapping[str, Mapped], top: str, sources: Mapping[str, str], *, most: int = 20) -> list[DeepPath]:
    """The deepest paths, the deepest first: one for each register, memory or output of a module, whatever its bits and
    instances."""
    graph = build_graph(mapped, top)
    depths = graph.depths()
    names = Names(graph, mapped, sources)
    groups: dict[tuple[str, str], list[End]] = {}
    for end in graph.ends:
        if end.net in depths and (depths[end.net] or end.cell):
            groups.setdefault((graph.instances[end.instance][1], names.ending(end)), []).append(end)
    deepest = [(max(group, key=lambda end: depths[end.net]), len(group)) for group in groups.values()]
    deepest.sort(key=lambda pair: -depths[pair[0].net])
    return [_path(graph, depths, names, end, alike) for end, alike in deepest[:most]]


def _path(graph: NetGraph, depths: Mapping[int, int], names: Names, end: End, alike: int) -> DeepPath:
    nets = list(graph.trace(end.net, depths))[::-1]
    chained = {net for before, net in pairwise(nets) if graph.kinds[net] is Kind.CARRY and not graph.levels(net, before)}
    shown = [names.mark(net) for net in nets if net not in chained]
    instances = [graph.drivers[net][0] for net in nets if net in graph.drivers] + [end.instance]
    through = dict.fromkeys(".".join(graph.instances[number][0][:2]) or graph.instances[0][1] for number in instances)
    return DeepPath(
        depths[end.net],
        " ".join(_runs([*shown, names.end_mark(end)])),
        names.net(nets[0]),
        names.end(end),
        tuple(through),
        alike,
        max(graph.loads[net].total() for net in nets if net in graph.loads),
    )


def _runs(marks: Sequence[str]) -> Iterator[str]:
    """Joins equal marks in a row: ``LUT LUT carry`` becomes ``2 LUT``, ``carry``."""
    count = 0
    for index, mark in enumerate(marks):
        count += 1
        if index + 1 == len(marks) or marks[index + 1] != mark:
            yield f"{count} {mark}" if count > 1 else mark
            count = 0


class Names:
    """The names of nets and cells in the Verilog."""

    def __init__(self, graph: NetGraph, mapped: Mapping[str, Mapped], sources: Mapping[str, str]) -> None:
        self._graph = graph
        self._mapped = mapped
        self._sources = sources
        self._of_module = cache(self._name_bits)

    def _name_bits(self, module: str) -> dict[int, str]:
        """The shortest name of every bit of a module. A name of the back end counts only where there is no other."""
        found: dict[int, str] = {}
        nets = [(name.lstrip("\\"), bits) for name, bits in self._mapped[module].netlist["netnames"].items()]
        for name, bits in sorted(nets, key=lambda net: (net[0].startswith("$"), len(net[0]), net[0])):
            for bit in bits:
                if isinstance(bit, int):
                    found.setdefault(bit, name)
        return found

    def _cell(self, instance: int, cell: str) -> tuple[Kind, str]:
        """The kind of a cell, and the name of the first of its outputs that has one, or else the cell's own name."""
        module = self._graph.instances[instance][1]
        kind, _, _, outputs = self._mapped[module].netlist["cells"][cell]
        names = self._of_module(module)
        named = (names[bit] for bits in outputs.values() for bit in bits if bit in names)
        return kind_of(kind), next(named, cell.split(".")[0])

    def ending(self, end: End) -> str:
        """The signal or memory that an end belongs to."""
        return self._cell(end.instance, end.cell)[1] if end.cell else end.pin

    def _point(self, instance: int, name: str) -> Point:
        path = self._graph.instances[instance][0]
        signal = ".".join((*path, name))
        return Point(signal, self._sources.get(signal) or self._near(path))

    def _near(self, path: tuple[str, ...]) -> str:
        """The file of what a memory lies in, since a memory is a module without a source."""
        for length in range(len(path), 0, -1):
            inside = ".".join(path[:length]) + "."
            beside = (place for name, place in self._sources.items() if name.startswith(inside) and name.count(".") == length)
            found = next(beside, None)
            if found is not None:
                return found.rpartition(":")[0]
        return ""

    def net(self, net: int) -> Point:
        """The point at which a path begins with that net."""
        if net not in self._graph.drivers:
            return Point("an input of the machine", "")
        instance, cell = self._graph.drivers[net]
        return self._point(instance, self._cell(instance, cell)[1])

    def end(self, end: End) -> Point:
        return self._point(end.instance, self.ending(end))

    def mark(self, net: int) -> str:
        kind = self._graph.kinds.get(net)
        return "input" if kind is None else MARKS.get(kind, kind.value)

    def end_mark(self, end: End) -> str:
        if not end.cell:
            return "output"
        kind = self._cell(end.instance, end.cell)[0]
        return MARKS.get(kind, kind.value)
