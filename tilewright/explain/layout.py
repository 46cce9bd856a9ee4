"""The places of the operations of a partitioned graph in its picture.

Groups lie in rows. Each lies below all groups that it reads from, and as near to them as possible. Within a group its
operations lie the same way. Within a row the order follows the middle of what is read, so that few lines cross.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.report.svg import element

BOX = (150, 26)
GAP = (14, 22)
"""The gaps between operations of a group."""
PAD = 12
ROW_GAP, COLUMN_GAP = 34, 28
"""The gaps between groups."""
AROUND = 26
"""How far a line swings out."""

Rectangle = tuple[float, float, float, float]
"""The left edge, the top edge, the width and the height."""


@dataclass(frozen=True)
class Layout:
    """The rectangles of operations and of groups, by their numbers."""

    ops: Mapping[int, Rectangle]
    groups: Sequence[Rectangle]
    width: float
    height: float


def layout(needs: Sequence[Sequence[int]], groups: Sequence[Sequence[int]]) -> Layout:
    """The layout. ``needs``: what each operation reads from, in topological order; ``groups`` in an order in which they can
    run."""
    group_of = {op: number for number, members in enumerate(groups) for op in members}
    above = [sorted({group_of[n] for op in members for n in needs[op]} - {number}) for number, members in enumerate(groups)]
    inside = [_inside(members, needs) for members in groups]
    sizes = [_size(rows) for rows in inside]
    rows = _rows(range(len(groups)), above)
    width = max(sum(sizes[g][0] for g in row) + COLUMN_GAP * (len(row) - 1) for row in rows) + 2 * PAD
    centre: dict[int, float] = {}
    placed: dict[int, Rectangle] = {}
    top = float(PAD)
    for row in rows:
        wanted = {g: sum(centre[a] for a in above[g]) / len(above[g]) if above[g] else width / 2 for g in row}
        ordered = sorted(row, key=lambda g: (wanted[g], g))
        left = (width - sum(sizes[g][0] for g in row) - COLUMN_GAP * (len(row) - 1)) / 2
        for g in ordered:
            placed[g] = (left, top, *sizes[g])
            centre[g] = left + sizes[g][0] / 2
            left += sizes[g][0] + COLUMN_GAP
        top += max(sizes[g][1] for g in row) + ROW_GAP
    ops: dict[int, Rectangle] = {}
    for number, op_rows in enumerate(inside):
        left, group_top, group_width, _ = placed[number]
        for depth, op_row in enumerate(op_rows):
            x = left + (group_width - len(op_row) * BOX[0] - (len(op_row) - 1) * GAP[0]) / 2
            for op in op_row:
                ops[op] = (x, group_top + PAD + depth * (BOX[1] + GAP[1]), *BOX)
                x += BOX[0] + GAP[0]
    return Layout(ops, [placed[g] for g in range(len(groups))], width, top - ROW_GAP + PAD)


def _inside(members: Sequence[int], needs: Sequence[Sequence[int]]) -> list[list[int]]:
    return _rows(members, {op: [n for n in needs[op] if n in members] for op in members})


def _rows(items: Sequence[int], above: Mapping[int, Sequence[int]] | Sequence[Sequence[int]]) -> list[list[int]]:
    """The rows of items: each item lies one row below the lowest of those above it."""
    depth: dict[int, int] = {}
    rows: list[list[int]] = []
    for item in items:
        depth[item] = max((depth[a] + 1 for a in above[item]), default=0)
        while len(rows) <= depth[item]:
            rows.append([])
        rows[depth[item]].append(item)
    return rows


def _size(rows: Sequence[Sequence[int]]) -> tuple[float, float]:
    widest = max(len(row) for row in rows)
    width = widest * BOX[0] + (widest - 1) * GAP[0] + 2 * PAD
    return width, len(rows) * BOX[1] + (len(rows) - 1) * GAP[1] + 2 * PAD


def edge(place: Layout, maker: int, reader: int, stays: bool) -> str:
    """The line from an operation to one that reads it.

    It is thick and green (by the style of the page) if the map stays on chip. A line that passes operations right below goes
    around them.
    """
    left, top, width, height = place.ops[maker]
    to_left, to_y, to_width, to_height = place.ops[reader]
    x, to_x, y = left + width / 2, to_left + to_width / 2, top + height
    bend = (to_y - y) / 2
    path = f"M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f} {to_x:.0f} {to_y:.0f}"
    if abs(to_x - x) < width / 2 and to_y - y > height + 2 * ROW_GAP:
        x, to_x, y, to_y = left + width, to_left + to_width, top + height / 2, to_y + to_height / 2
        path = f"M{x:.0f} {y:.0f}C{x + AROUND:.0f} {y:.0f} {to_x + AROUND:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
    return element("path", d=path, class_="edge stays" if stays else "edge")
