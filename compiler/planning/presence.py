"""Tells which rows of each ring are in use at each moment of a pass. Its layers run one after the other within a step.

A moment is a piece of a layer's rows in a step. Loads come right before the first layer that reads them. Saves come right after
the layer that makes their rows. Between its last reader of a step and its maker in the next, a ring holds only the rows that a
later step still reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.layers.layer import Ends
from compiler.planning.operations import Group
from compiler.planning.ranges import Ranges
from compiler.planning.tenancy import Tenancy


@dataclass(frozen=True, eq=False)
class Presence:
    """The rows ``begin .. end - 1`` of a ring are in use at each moment. Where both are equal, none is."""

    begin: Ends
    end: Ends
    first: int
    """The first layer of a step that touches the ring, and the last."""
    last: int
    carried: bool
    """Whether rows stay from step to step."""

    @property
    def most(self) -> int:
        return int((self.end - self.begin).max())


def presences(
    group: Group, ranges: Ranges, tenancies: Sequence[Tenancy], held: Collection[str], sliding: Collection[str] = ()
) -> list[Presence]:
    """The presence of each tenancy.

    ``sliding`` names layers by their outputs. They compute their rows piece by piece, with one block of parameters. So the rows
    that a piece is the last to read are free for the next piece.
    """
    place = {layer.output: number for number, layer in enumerate(group.layers)}
    pieces = [(_pieces if name in sliding else _whole)(ranges, name) for name in place]
    counts = [starts.shape[1] for starts, _ in pieces]
    firsts = np.concatenate([[0], np.cumsum(counts)])
    shape = ranges.steps, int(firsts[-1])
    found = []
    for tenancy in tenancies:
        height = group.tensors[tenancy.planes[0][0]].height
        if tenancy.lives[0].first in held:
            full = np.full(shape[0] * shape[1], height)
            found.append(Presence(np.zeros_like(full), full, 0, len(group.layers) - 1, True))
            continue
        made = np.max([ranges.end[life.first] for life in tenancy.lives], axis=0)
        kept = np.min([ranges.begin[life.last] for life in tenancy.lives], axis=0)
        before = np.concatenate([[0], made[:-1]])
        after = np.minimum(made, np.concatenate([kept[1:], made[-1:]]))
        first, last = _touching(group, tenancy, place)
        begin, end = np.empty(shape, np.int64), np.empty(shape, np.int64)
        early, late = int(firsts[first]), int(firsts[last + 1])
        # Rows that no window reads are written, too.
        begin[:, :late], begin[:, late:] = np.minimum(kept, before)[:, None], after[:, None]
        end[:, :early], end[:, early:] = before[:, None], made[:, None]
        if len(tenancy.lives) == 1:
            life = tenancy.lives[0]
            if life.maker in place and counts[first] > 1:
                end[:, early : firsts[first + 1]] = pieces[first][1]
            if counts[last] > 1 and life.last in group.sources(group.layers[last]):
                begin[:, firsts[last] : late] = _still_read(group, last, life.last, *pieces[last], after)
        carried = bool((after[:-1] < made[:-1]).any())
        begin = np.minimum(begin, end)
        found.append(Presence(begin.reshape(-1), end.reshape(-1), first, last, carried))
    return found


def _whole(ranges: Ranges, name: str) -> tuple[Ends, Ends]:
    end = ranges.end[name]
    return np.concatenate([[0], end[:-1]])[:, None], end[:, None]


def _pieces(ranges: Ranges, name: str) -> tuple[Ends, Ends]:
    """Where each piece of each step's rows begins, and where it ends."""
    start, end = _whole(ranges, name)
    rows = ranges.piece(name)
    edges = np.minimum(end, start + rows * np.arange(-(-ranges.most_made(name) // rows) + 1))
    return edges[:, :-1], edges[:, 1:]


def _still_read(group: Group, number: int, name: str, starts: Ends, ends: Ends, after: Ends) -> Ends:
    """For each piece of a layer: the first row that this piece, a later piece or a later step still reads."""
    layer = group.layers[number]
    lowest = np.broadcast_to(after[:, None], starts.shape)
    for index, read in enumerate(layer.inputs):
        if name in group.joined.get(read, (read,)):
            needed = layer.input_begin(index, starts.reshape(-1)).reshape(starts.shape)
            lowest = np.where(starts < ends, np.minimum(lowest, needed), lowest)
    return lowest


def _touching(group: Group, tenancy: Tenancy, place: Mapping[str, int]) -> tuple[int, int]:
    """The numbers of the first and of the last layer that read or make a map of the ring within a step."""
    maps = {name for life in tenancy.lives for name in (life.first, life.last)}
    numbers = [place[name] for name in maps if name in place]
    numbers += [number for layer, number in zip(group.layers, range(len(place)), strict=True) if maps & {*group.sources(layer)}]
    return min(numbers), max(numbers)
