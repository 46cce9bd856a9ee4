"""Nets that drive many pins: what a chip cannot carry across in a cycle is to be a tree of registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sim.synthesis.cells import Kind
from sim.synthesis.graph import build_graph
from sim.synthesis.mapping import Mapped
from sim.synthesis.timing import Names, Point

MOST = 300
"""Pins that a net may drive."""


@dataclass(frozen=True)
class WideNet:
    """A net with all the pins that it drives, in whatever module they are; those for clocks do not count."""

    pins: int
    driver: Point
    into: str
    """How many pins of which kind: ``96 FF CE, 4 LUT I2``."""


def wide_nets(mapped: Mapping[str, Mapped], top: str, sources: Mapping[str, str], *, most: int = MOST) -> list[WideNet]:
    """The nets that drive more pins than ``most``, the widest first."""
    graph = build_graph(mapped, top)
    names = Names(graph, mapped, sources)
    wide = []
    for net, loads in graph.loads.items():
        driven = net in graph.inputs or graph.kinds.get(net, Kind.CONSTANT) is not Kind.CONSTANT
        if loads.total() > most and driven:
            driver = Point(graph.inputs[net], "") if net in graph.inputs else names.net(net)
            wide.append(WideNet(loads.total(), driver, ", ".join(f"{count} {pin}" for pin, count in loads.most_common(3))))
    return sorted(wide, key=lambda found: (-found.pins, found.driver.signal))
