"""Finds nets that drive many pins. A chip cannot carry such a net across in a cycle, so it should be a tree of registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sim.synthesis.cells import Kind
from sim.synthesis.graph import build_graph
from sim.synthesis.mapping import Mapped
from sim.synthesis.timing import Names, Point

MOST = 300
"""The most pins that a net may drive."""


@dataclass(frozen=True)
class WideNet:
    """A net with all the pins that it drives, in whatever module they are. Pins for clocks do not count."""

    pins: int
    driver: Point
    into: str
    """The number of pins of each kind: ``96 FF CE, 4 LUT I2``."""


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
