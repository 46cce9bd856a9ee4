"""Bands of rows: a group computed band by band of its outputs, each in column tiles where it needs them.

Column tiles read all rows of their inputs in each tile, so an input is needed until the last tile is done, and nothing can lie
in its place. A band is finished before the next one begins. The rows that only it reads are free then, so outputs may lie over
inputs but for about one band (``leads`` of ``compiler/memory/leads.py``). Like a column tile, a band is the group with
smaller maps. Neighbouring bands load or compute twice what both need, and parameters come again for each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import lru_cache

from compiler.layers.fit import FitError
from compiler.planning.columns import ROWS, TileCut
from compiler.planning.operations import Group
from compiler.planning.plan import Pass, Plan
from isa.config import MachineConfig

Planned = Callable[[Group], Plan]


def in_bands(config: MachineConfig, group: Group, count: int, planned: Planned) -> Plan | None:
    """The plan of the group in ``count`` bands, or in as many as there are rows. None: a band does not fit.

    ``planned``: plans a band.
    """
    cut = TileCut(config, group, ROWS)
    count = min(count, cut.most)
    if count < 2 or group.stacked:
        return None
    plans: dict[Hashable, Plan] = {}
    kinds = []
    for number in range(count):
        kind = _kind(cut, number, count)
        if kind not in plans:
            try:
                plans[kind] = planned(cut.part(number, count))
            except FitError:
                return None
        kinds.append(kind)
    costs = [plans[kind].cost for kind in kinds]
    order = [(number, inner) for number, kind in enumerate(kinds) for inner in range(plans[kind].count)]
    first = lru_cache(maxsize=None)(lambda number: {name: span[0] for name, span in cut.spans(number, count).items()})

    def make(place: int) -> Pass:
        number, inner = order[place]
        own = plans[kinds[number]].passes[inner]
        return replace(own, group=replace(own.group, first_row=first(number)))

    begin = plans[kinds[0]]
    return Plan(
        group, len(order), len(order), begin.widest, begin.way, begin.upwards, (), sum(costs[1:], start=costs[0]),
        sum(plans[kind].reloaded for kind in kinds), make, begin.objective, bands=count,
    )  # fmt: skip


def _kind(cut: TileCut, number: int, count: int) -> Hashable:
    """A key that is equal for bands that differ only in where they begin."""
    spans = cut.spans(number, count)
    extents = tuple((name, past - first) for name, (first, past) in spans.items())
    return extents, tuple(tuple(cut.offsets(layer.op, spans)) for layer in cut.group.layers)
