"""Tells which storages of a program may overlap, and how far. It looks at what the plans load and save."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from compiler.layers.placed import Rows
from compiler.memory.leads import Overlaps, Touch, leads
from compiler.memory.lifetimes import Storage, aligned
from compiler.memory.storage import Home, storage_of
from compiler.planning.columns import ROWS, TileCut
from compiler.planning.homes import Homes
from compiler.planning.operations import Group
from compiler.planning.plan import Plan
from compiler.planning.transfers import Transfer, transfers
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu
from isa.config import MachineConfig


def overlaps_of(graph: XGraph, steps: Sequence[Plan | Cpu], storages: Mapping[str, Storage]) -> Overlaps:
    """The leads of all pairs of storages that may overlap, by their places in ``storages``.

    A group must be the last to read the first storage of a pair, and the first to write the second.
    """
    number = {root: place for place, root in enumerate(storages)}
    last: dict[int, list[str]] = {}
    first: dict[int, list[str]] = {}
    for root, storage in storages.items():
        if storage.read and not storage.outlives and max(storage.read) > max(storage.made, default=-1):
            last.setdefault(max(storage.read), []).append(root)
        if storage.made and not storage.given:
            first.setdefault(min(storage.made), []).append(root)
    found: dict[tuple[int, int], int] = {}
    for place, step in enumerate(steps):
        if isinstance(step, Plan) and place in last and place in first:
            by = leads_of(graph, step)
            for source in last[place]:
                for target in first[place]:
                    if (source, target) in by:
                        found[number[source], number[target]] = by[source, target]
    return found


@lru_cache(maxsize=1024)
def leads_of(graph: XGraph, plan: Plan) -> Mapping[tuple[str, str], int]:
    """For each storage that the group reads and each that it writes: how many bytes the second must begin below the first.

    These are whole granules of hazards, so that no two maps share a granule.
    """
    homes = storage_of(graph)
    group = plan.group
    views = Homes({name: homes[name].view for name in group.inputs}, {name: (homes[name].view,) for name in group.outputs})
    return _leads(graph, group, transfers(plan, views))


def leads_in_bands(config: MachineConfig, graph: XGraph, group: Group, bands: int) -> Mapping[tuple[str, str], int]:
    """An upper bound of the leads of a group that is not planned yet and runs in so many bands of rows, for one image."""
    return _leads(graph, group, _band_by_band(TileCut(config, group, ROWS), storage_of(graph), bands))


def _band_by_band(cut: TileCut, homes: Mapping[str, Home], bands: int) -> Iterator[Transfer]:
    """The worst order of transfers: each band saves all that it makes before it loads anything."""
    count = min(bands, cut.most)
    for number in range(count):
        spans = cut.spans(number, count)
        for saved, names in ((True, cut.group.outputs), (False, cut.group.inputs)):
            for name in names:
                yield Transfer(saved, name, homes[name].view.access(Rows(*spans[name]), 0))


def _leads(graph: XGraph, group: Group, moved: Iterable[Transfer]) -> Mapping[tuple[str, str], int]:
    homes = storage_of(graph)
    touches = [
        Touch(homes[each.map].root, each.saved, each.access.start, each.access.start + each.access.length) for each in moved
    ]
    sources, targets = ({homes[name].root for name in names} for names in (group.inputs, group.outputs))
    # Parameters may be made of these maps again in each step.
    sources -= {homes[name].root for name in group.stored}
    return {pair: aligned(lead) for pair, lead in leads(touches, sources, targets).items()}
