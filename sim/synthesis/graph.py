"""The mapped machine as a graph of nets: which of them reach which within a clock cycle, and how deep each one is.

Modules are joined over all their instances, down to single bits. So a path is followed through any number of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sim.synthesis.cells import LEVELS, Bit, Kind, is_clock, kind_of, passages
from sim.synthesis.mapping import Mapped
from sim.synthesis.tools import SynthesisError


@dataclass(frozen=True)
class End:
    """Where a path ends: at a pin of a cell, or at an output of the machine (no cell)."""

    net: int
    instance: int
    cell: str
    pin: str


@dataclass
class NetGraph:
    """The graph. Nets are numbers; ``sources`` and ``kinds`` have the nets that a cell drives."""

    instances: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    """The path and the module of every instance. The machine itself is number 0."""
    sources: dict[int, list[int]] = field(default_factory=dict)
    kinds: dict[int, Kind] = field(default_factory=dict)
    drivers: dict[int, tuple[int, str]] = field(default_factory=dict)
    """The instance and the cell that drive a net."""
    carries: set[int] = field(default_factory=set)
    """The nets from one cell of a carry chain to the next."""
    ends: list[End] = field(default_factory=list)
    loads: dict[int, Counter[str]] = field(default_factory=dict)
    """The pins that a net drives, by kind of cell and pin, as ``FF CE``. Pins for clocks do not count."""
    inputs: dict[int, str] = field(default_factory=dict)
    """The inputs of the machine by net."""

    def levels(self, net: int, source: int) -> int:
        """The levels of logic from a source of a net to the net."""
        return 0 if source in self.carries and self.kinds[net] is Kind.CARRY else LEVELS.get(self.kinds[net], 0)

    def depths(self) -> dict[int, int]:
        """The levels of logic before each net, by the longest way. Nets that nothing in the cycle reaches are left out."""
        waiting = {net: len(set(sources)) for net, sources in self.sources.items()}
        readers: dict[int, list[int]] = {}
        for net, sources in self.sources.items():
            for source in set(sources):
                readers.setdefault(source, []).append(net)
        depths = dict.fromkeys(readers.keys() - self.sources.keys(), 0)
        depths.update((net, 0) for net, left in waiting.items() if not left)
        ready = list(depths)
        while ready:
            source = ready.pop()
            for net in readers.get(source, ()):
                depths[net] = max(depths.get(net, 0), depths[source] + self.levels(net, source))
                waiting[net] -= 1
                if not waiting[net]:
                    ready.append(net)
        stuck = [net for net, left in waiting.items() if left]
        if stuck:
            instance, cell = self.drivers[stuck[0]]
            where = ".".join(self.instances[instance][0])
            raise SynthesisError(f"levels of logic: a combinational loop through {len(stuck)} nets, among them {where}: {cell}")
        return depths

    def trace(self, net: int, depths: Mapping[int, int]) -> Iterator[int]:
        """The nets of a longest path, from its end back to its beginning."""
        while True:
            yield net
            sources = self.sources.get(net)
            if not sources:
                return
            net = max(sources, key=lambda source: depths[source] + self.levels(net, source))


def build_graph(mapped: Mapping[str, Mapped], top: str) -> NetGraph:
    """Joins the modules from the top down."""
    graph = NetGraph()
    merged = _Merged()
    _place(graph, merged, mapped, (), top, {})
    name = merged.name
    graph.sources = {name(net): [name(source) for source in sources] for net, sources in graph.sources.items()}
    graph.kinds = {name(net): kind for net, kind in graph.kinds.items()}
    graph.drivers = {name(net): driver for net, driver in graph.drivers.items()}
    graph.carries = {name(net) for net in graph.carries}
    graph.inputs = {name(net): port for net, port in graph.inputs.items()}
    loads: dict[int, Counter[str]] = {}
    for net, pins in graph.loads.items():
        loads.setdefault(name(net), Counter()).update(pins)
    graph.loads = loads
    graph.ends = [End(name(end.net), end.instance, end.cell, end.pin) for end in graph.ends]
    return graph


class _Merged:
    """The numbers of nets, some of which turn out to be the same net."""

    def __init__(self) -> None:
        self._above: list[int] = []

    def new(self) -> int:
        self._above.append(len(self._above))
        return len(self._above) - 1

    def name(self, net: int) -> int:
        while self._above[net] != net:
            self._above[net] = net = self._above[self._above[net]]
        return net

    def merge(self, net: int, other: int) -> None:
        self._above[self.name(net)] = self.name(other)


def _place(
    graph: NetGraph,
    merged: _Merged,
    mapped: Mapping[str, Mapped],
    path: tuple[str, ...],
    module: str,
    outside: Mapping[str, list[int | None]],
) -> None:
    """Adds one instance, whose ports are connected to the nets ``outside``, and the instances in it."""
    netlist = mapped[module].netlist
    number = len(graph.instances)
    graph.instances.append((path, module))
    nets: dict[int, int] = {}

    def net(bit: Bit) -> int | None:
        if not isinstance(bit, int):
            return None
        if bit not in nets:
            nets[bit] = merged.new()
        return nets[bit]

    def known(bits: list[Bit]) -> list[int]:
        return [found for bit in bits if (found := net(bit)) is not None]

    for port, (direction, bits) in netlist["ports"].items():
        for bit, connected in zip(bits, outside.get(port, [None] * len(bits)), strict=True):
            own = net(bit)
            if own is not None and connected is not None:
                merged.merge(own, connected)
            if not path and direction == "output" and own is not None:
                graph.ends.append(End(own, number, "", port))
            if not path and direction == "input" and own is not None:
                graph.inputs[own] = port
    for cell, (kind, parameters, inputs, outputs) in netlist["cells"].items():
        if kind in mapped:
            pins = {pin: [net(bit) for bit in bits] for pin, bits in (inputs | outputs).items()}
            _place(graph, merged, mapped, (*path, cell), kind, pins)
            continue
        passed: set[int] = set()
        for output, through in passages(kind, parameters, inputs, outputs):
            own = net(output)
            assert own is not None
            graph.sources[own] = known(list(through))
            graph.kinds[own] = kind_of(kind)
            graph.drivers[own] = number, cell
            passed.update(through)
        for pin, bits in outputs.items():
            if pin in ("CO", "COUT"):
                graph.carries.update(known(bits))
        for pin, bits in inputs.items():
            if not is_clock(kind, pin):
                for found in known(bits):
                    graph.loads.setdefault(found, Counter())[f"{kind_of(kind).value} {pin}"] += 1
            graph.ends += [End(found, number, cell, pin) for found in known([bit for bit in bits if bit not in passed])]
