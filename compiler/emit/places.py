"""The final places of all maps in DRAM.

Maps that the host provides lie in INPUT and are never written. Constants lie in CONST. Maps that the host takes lie in OUTPUT
and stay until the next run. All others lie in WORK. There they share bytes with maps that do not live at the same time and, as
far as ``Sharing`` allows, with some that do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from compiler.emit.blocked import NONE_BLOCKED, Blocked
from compiler.emit.steps import touched
from compiler.layers.views import View
from compiler.memory.blocks import Block
from compiler.memory.leads import Overlaps
from compiler.memory.lifetimes import ALIGN, Lives, Storage, aligned, lives_of
from compiler.memory.overlaid import overlaid
from compiler.memory.storage import Home, storage_of
from compiler.planning.plan import Plan
from compiler.planning.written_over import overlaps_of
from compiler.schedule.document import Origin
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Constant, Cpu
from isa.instructions import Region

__all__ = ["ALIGN", "APART", "Given", "Sharing", "constants", "offsets_of", "places"]


@dataclass(frozen=True)
class Given:
    """Places that a schedule has decided."""

    offsets: tuple[tuple[str, int], ...]
    """The offsets of all storages, by their roots."""
    origin: Origin = field(default=Origin(), compare=False)


@dataclass(frozen=True)
class Sharing:
    """The maps that share bytes of WORK besides those that do not live at the same time."""

    host: bool = False
    """Whether inputs and outputs lie in WORK, too. If so, a run destroys its input."""
    overlap: bool = False
    """Whether outputs of a group may lie over inputs that it has read by then."""
    given: Given | None = None
    """The places of all storages, if they are decided. None: they are to be found."""
    blocked: Blocked = NONE_BLOCKED
    """The maps in blocks. They exclude ``overlap``, which needs rows that lie one behind the other."""


APART = Sharing()


def places(
    graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing = APART
) -> tuple[dict[str, View], dict[Region, int]]:
    """The place of every map that leaves a step, and the bytes of each region. The steps are in the order of execution."""
    sharing.blocked.check(graph, steps, sharing.overlap)
    lives, of_host = _lives(graph, steps, sharing)
    where: dict[str, tuple[Region, int]] = {}
    sizes: dict[Region, int] = {}
    regions = {Region.WORK: lives.work, Region.INPUT: lives.input, Region.OUTPUT: lives.output}
    if sharing.given is not None:
        _check_names(sharing.given, [root for storages in regions.values() for root in storages])
    for region, storages in regions.items():
        blocks = [_block(storage, region, len(steps)) for storage in storages.values()]
        overlaps = overlaps_of(graph, steps, storages) if sharing.overlap and region is Region.WORK else {}
        if sharing.given is not None:
            offsets, sizes[region] = _as_given(sharing.given, [*storages], blocks, overlaps)
        else:
            arena = overlaid(blocks, overlaps)
            offsets, sizes[region] = [*arena.offsets], arena.total
        where |= {root: (region, offset) for root, offset in zip(storages, offsets, strict=True)}
    for op in constants(graph):
        where[op.output] = (Region.CONST, sizes.get(Region.CONST, 0))
        sizes[Region.CONST] = sizes.get(Region.CONST, 0) + aligned(graph.tensors[op.output].bytes)
    views = {
        name: _final(
            home, *where[home.root], graph.tensors[home.root].flip and home.root in of_host,
            sharing.blocked.channels if name in sharing.blocked.maps else 0,
        )
        for name, home in storage_of(graph).items()
        if home.root in where
    }
    return views, sizes


def constants(graph: XGraph) -> list[Constant]:
    """The maps that lie in CONST, from its beginning on."""
    return [op for op in graph.ops if isinstance(op, Constant)]


def offsets_of(graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing) -> dict[str, int]:
    """The offset of every storage in its region, by its root."""
    lives, _ = _lives(graph, steps, sharing)
    views, _ = places(graph, steps, sharing)
    return {root: views[root].offset for root in (*lives.work, *lives.input, *lives.output)}


def _lives(graph: XGraph, steps: Sequence[Plan | Cpu], sharing: Sharing) -> tuple[Lives, frozenset[str]]:
    """The lives of all storages, and the storages that the host sees."""
    lives = lives_of(graph, [touched(step) for step in steps])
    return (lives.in_work() if sharing.host else lives), lives.of_host


def _check_names(given: Given, roots: Sequence[str]) -> None:
    named = dict(given.offsets)
    for root in (*named, *roots):
        if root not in roots:
            raise given.origin.error(f"places.{root}", f"places: no map {root!r} has storage in DRAM; leave it out")
        if root not in named:
            raise given.origin.error("places", f"places: map {root!r} is missing; expected all, or no places")


def _as_given(given: Given, roots: Sequence[str], blocks: Sequence[Block], overlaps: Overlaps) -> tuple[list[int], int]:
    """The given offsets, and the bytes that they take. Two storages that live at the same time and meet are refused."""
    named = dict(given.offsets)
    offsets = [named[root] for root in roots]
    for n, (root, offset) in enumerate(zip(roots, offsets, strict=True)):
        if offset % ALIGN:
            raise given.origin.error(f"places.{root}", f"places: {root} at {offset}; expected a multiple of {ALIGN}")
        for other in range(n):
            if blocks[n].meets(blocks[other]) and not _clear(n, other, offsets, blocks, overlaps):
                raise given.origin.error(
                    f"places.{root}", f"places: {root} at {offset} meets {roots[other]}, which lives at the same time"
                )
    return offsets, max((offset + block.size for offset, block in zip(offsets, blocks, strict=True)), default=0)


def _clear(a: int, b: int, offsets: Sequence[int], blocks: Sequence[Block], overlaps: Overlaps) -> bool:
    """Whether two storages do not meet: one ends below the other, or begins as far below it as ``overlaps`` asks."""
    return any(
        offsets[low] + min(blocks[low].size, overlaps.get((high, low), blocks[low].size)) <= offsets[high]
        for low, high in ((a, b), (b, a))
    )


def _block(storage: Storage, region: Region, steps: int) -> Block:
    if region is not Region.WORK:
        return Block(0, 1, storage.size)
    times = (*storage.made, *storage.read)
    return Block(0 if storage.given else min(times), max(1, steps) if storage.outlives else max(times) + 1, storage.size)


def _final(home: Home, region: Region, offset: int, flip: bool, block: int) -> View:
    view = replace(home.view, region=region, offset=home.view.offset + offset, flip=flip)
    return view.blocked(block) if block else view
