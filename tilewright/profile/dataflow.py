"""Finds who reads what whom has written in the feature-map buffer; assigns moves to layers, and layers to groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from isa.instructions import Region
from sim.functional.footprint import Space, footprint
from tilewright.profile.activity import MOVES, Activity

Runs = npt.NDArray[np.int64]
_BASES = dict.fromkeys(Region, 0)


@dataclass(frozen=True, eq=False)
class Resident:
    """The words that one instruction left on chip, ``[first, past)``, from its start to the end of its last reader."""

    layer: str
    words: Runs
    since: int
    until: int


@dataclass(frozen=True, eq=False)
class Dataflow:
    layer_of: list[str]
    """The layer of each instruction. A load belongs to its first reader, a save to the writer."""
    group_of: dict[str, int]
    """The group of each layer. Layers that hand maps to each other on chip, or share what was loaded, are of one group. Groups
    are numbered from 1 by start."""
    residents: list[Resident]


def dataflow(config: MachineConfig, items: Sequence[Activity]) -> Dataflow:
    owner = np.full(config.fm_words, -1, np.int64)
    readers: list[list[int]] = [[] for _ in items]
    writes: list[Runs | None] = [None] * len(items)
    sources: list[list[int]] = []
    for item in items:
        touched = footprint(item.op, config, _BASES, item.pc)
        found: set[int] = set()
        for first, past in touched.reads.get(Space.FEATURE_MAP, np.empty((0, 2), np.int64)).tolist():
            found.update(np.unique(owner[first:past]).tolist())
        found.discard(-1)
        sources.append(sorted(found))
        for writer in found:
            readers[writer].append(item.number)
        written = touched.writes.get(Space.FEATURE_MAP)
        if written is not None:
            writes[item.number] = written
            for first, past in written.tolist():
                owner[first:past] = item.number
    layer_of = _layers(items, readers, sources)
    residents = [
        Resident(layer_of[n], words, items[n].start, max([items[n].finish, *(items[r].finish for r in readers[n])]))
        for n, words in enumerate(writes)
        if words is not None
    ]
    return Dataflow(layer_of, _groups(items, layer_of, readers), residents)


def _layers(items: Sequence[Activity], readers: Sequence[list[int]], sources: Sequence[list[int]]) -> list[str]:
    def of(item: Activity) -> str:
        others = readers[item.number] if item.op.name == "LOAD" else sources[item.number] if item.op.name == "SAVE" else []
        made = [items[n] for n in others if items[n].unit not in MOVES]
        return made[0].layer if made else item.layer

    return [of(item) for item in items]


def _groups(items: Sequence[Activity], layer_of: Sequence[str], readers: Sequence[list[int]]) -> dict[str, int]:
    parent = {layer: layer for layer in layer_of}

    def root(layer: str) -> str:
        while parent[layer] != layer:
            parent[layer] = parent[parent[layer]]
            layer = parent[layer]
        return layer

    for item in items:
        if item.op.name != "SAVE":
            for reader in readers[item.number]:
                parent[root(layer_of[reader])] = root(layer_of[item.number])
    numbers: dict[str, int] = {}
    in_time = sorted(items, key=lambda item: (item.unit in MOVES, item.start))
    layers = dict.fromkeys(layer_of[item.number] for item in in_time)
    return {layer: numbers.setdefault(root(layer), len(numbers) + 1) for layer in layers}
