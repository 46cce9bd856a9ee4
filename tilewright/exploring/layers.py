"""Says how busy the chosen machine's array is in each layer of each network."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.exploring.evaluate import compiled_for
from tilewright.exploring.point import Point
from tilewright.profile.activity import activities, modelled
from tilewright.profile.dataflow import dataflow
from tilewright.profile.network import network_of
from tilewright.report.layers import layer_rows


@dataclass(frozen=True)
class Layer:
    """One layer on its unit."""

    name: str
    unit: str
    share: float
    """The work of its unit as a share of the cycles of the whole run. Units work side by side."""
    macs: int
    utilisation: float
    """The share of the array that is in use while the layer's unit works."""


def layers_of(point: Point) -> dict[str, list[Layer]]:
    """The layers of each network by the cycle model, those with most work first."""
    found: dict[str, list[Layer]] = {}
    peak = point.config.macs_per_cycle
    for net in point.workload.nets:
        program = compiled_for(str(net.path), point.config, point.effort).program
        timing = modelled(program)
        items = activities(program, timing)
        rows = layer_rows(items, dataflow(program.config, items), network_of(program))
        found[net.name] = [
            Layer(row.name, row.unit.name, row.work / timing.cycles, row.macs, row.utilisation(peak))
            for row in sorted(rows, key=lambda row: (-row.work, row.start))
        ]
    return found
