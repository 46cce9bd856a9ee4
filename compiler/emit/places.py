"""Final places of all maps in DRAM.

What the host provides lies in INPUT and is never written; what it takes lies in OUTPUT and stays until the next run; everything
else shares WORK with what does not live at the same time, and as far as ``Sharing`` allows with what does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.codegen.plan import Plan
from compiler.codegen.views import View
from compiler.emit.overlaps import overlaps_of
from compiler.emit.steps import touched
from compiler.memory.blocks import Block
from compiler.memory.lifetimes import ALIGN, Storage, lives_of
from compiler.memory.overlay import overlaid
from compiler.memory.storage import Home, storage_of
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu
from isa.instructions import Region

__all__ = ["ALIGN", "APART", "Sharing", "places"]


@dataclass(frozen=True)
class Sharing:
    """What else shares bytes of WORK."""

    host: bool = False
    """Inputs and outputs, with all other maps: a run destroys its input."""
    overlap: bool = False
    """What a group writes, with what it has read by then."""


APART = Sharing()


def places(
    graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART
) -> tuple[dict[str, View], dict[Region, int]]:
    """Where every map lies that leaves a step, and the bytes of each region; the steps are in the order of execution."""
    lives = lives_of(graph, [touched(step) for step in steps])
    of_host = lives.of_host
    if sharing.host:
        lives = lives.in_work()
    regions = {Region.WORK: lives.work, Region.INPUT: lives.input, Region.OUTPUT: lives.output}
    where: dict[str, tuple[Region, int]] = {}
    sizes: dict[Region, int] = {}
    for region, storages in regions.items():
        blocks = [_block(storage, region, len(steps)) for storage in storages.values()]
        overlaps = overlaps_of(graph, steps, storages) if sharing.overlap and region is Region.WORK else {}
        arena = overlaid(blocks, overlaps)
        sizes[region] = arena.total
        where |= {root: (region, offset) for root, offset in zip(storages, arena.offsets, strict=True)}
    views = {
        name: _final(home, *where[home.root], graph.tensors[home.root].flip and home.root in of_host)
        for name, home in storage_of(graph).items()
        if home.root in where
    }
    return views, sizes


def _block(storage: Storage, region: Region, steps: int) -> Block:
    if region is not Region.WORK:
        return Block(0, max(1, steps), storage.size)
    times = (*storage.made, *storage.read)
    return Block(0 if storage.given else min(times), max(1, steps) if storage.kept else max(times) + 1, storage.size)


def _final(home: Home, region: Region, offset: int, flip: bool) -> View:
    return replace(home.view, region=region, offset=home.view.offset + offset, flip=flip)
