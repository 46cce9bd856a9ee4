"""Final places of all maps in DRAM.

What the host provides lies in INPUT and is never written; what it takes lies in OUTPUT and stays until the next run; everything
else shares WORK with what does not live at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.codegen.views import View
from compiler.memory.arena import arrange
from compiler.memory.blocks import Block
from compiler.memory.lifetimes import ALIGN, Step, Storage, lives_of
from compiler.memory.storage import Home, storage_of
from compiler.xgraph.graph import XGraph
from isa.instructions import Region

__all__ = ["ALIGN", "places"]


def places(graph: XGraph, steps: Sequence[Step]) -> tuple[dict[str, View], dict[Region, int]]:
    """Where every map lies that leaves a step, and the bytes of each region; the steps are in the order of execution."""
    lives = lives_of(graph, steps)
    regions = {Region.WORK: lives.work, Region.INPUT: lives.input, Region.OUTPUT: lives.output}
    where: dict[str, tuple[Region, int]] = {}
    sizes: dict[Region, int] = {}
    for region, storages in regions.items():
        blocks = [_block(storage, region, len(steps)) for storage in storages.values()]
        arena = arrange(blocks)
        sizes[region] = arena.total
        where |= {root: (region, offset) for root, offset in zip(storages, arena.offsets, strict=True)}
    views = {name: _final(home, graph, *where[home.root]) for name, home in storage_of(graph).items() if home.root in where}
    return views, sizes


def _block(storage: Storage, region: Region, steps: int) -> Block:
    if region is not Region.WORK:
        return Block(0, max(1, steps), storage.size)
    times = (*storage.made, *storage.read)
    return Block(min(times), max(times) + 1, storage.size)


def _final(home: Home, graph: XGraph, region: Region, offset: int) -> View:
    flip = region is not Region.WORK and graph.tensors[home.root].flip
    return replace(home.view, region=region, offset=home.view.offset + offset, flip=flip)
