"""Feature maps in DRAM over the steps: areas are what a layer wrote, until its last reader; the peak is marked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilewright.profile.arena import GRANULE, MAPS, Arena
from tilewright.report.memory import Grid, rectangles
from tilewright.report.svg import count, element, hue, picture, short, ticks, titled

ROWS = 192
_WIDTH, _HEIGHT = 860, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 10, 22, 40
HOST = "hsl(0 0% 55%)"


def occupancy(arena: Arena, numbers: Mapping[str, int]) -> Grid:
    """``[row of addresses, step]``: number of who wrote what lies there, or -1; the host's is ``len(numbers)``."""
    grid = np.full((ROWS, len(arena.steps)), -1, np.int32)
    for each in sorted(arena.held, key=lambda held: held.since):
        first = each.granules * GRANULE * ROWS // arena.total
        past = np.maximum(first + 1, -(-np.minimum((each.granules + 1) * GRANULE, arena.total) * ROWS // arena.total))
        edges = np.bincount(first, minlength=ROWS + 1) - np.bincount(past, minlength=ROWS + 1)
        grid[np.cumsum(edges)[:ROWS] > 0, each.since : each.until + 1] = numbers.get(each.writer, len(numbers))
    return grid


def arena_map(arena: Arena, layers: Mapping[str, int]) -> str:
    """Addresses upwards, WORK below INPUT below OUTPUT; steps to the right. ``layers``: their numbers."""
    if not arena.total:
        return element("p", "No feature map lies in DRAM.", class_="note")
    names = {number: name for name, number in layers.items()}
    wide, high = (_WIDTH - _LEFT - _RIGHT) / len(arena.steps), (_HEIGHT - _TOP - _BOTTOM) / ROWS
    floor = _HEIGHT - _BOTTOM
    parts = [element("rect", x=_LEFT, y=_TOP, width=_WIDTH - _LEFT - _RIGHT, height=floor - _TOP, class_="plot")]
    for number, row, column, rows, columns in rectangles(occupancy(arena, layers)):
        parts.append(
            element(
                "rect", titled(names.get(number, "host")), x=_LEFT + column * wide, y=floor - (row + rows) * high,
                width=columns * wide, height=rows * high, fill=hue(number) if number in names else HOST,
            )
        )  # fmt: skip
    parts += _regions(arena, floor)
    used = arena.in_use()
    most = max(used)
    at = used.index(most)
    x = _LEFT + (at + 0.5) * wide
    label = f"peak: {most:,} of {arena.sizes[MAPS[0]]:,} bytes of WORK in {arena.steps[at]}"
    parts.append(element("line", x1=x, y1=_TOP, x2=x, y2=floor, stroke="currentColor", stroke_dasharray="3 3"))
    parts.append(element("text", label, x=min(max(x, 220.0), _WIDTH - 220.0), y=_TOP - 7, class_="middle"))
    for tick in ticks(len(arena.steps)):
        if tick == int(tick) and tick < len(arena.steps):
            parts.append(element("text", str(int(tick) + 1), x=_LEFT + (tick + 0.5) * wide, y=floor + 16, class_="middle"))
    for tick in ticks(arena.total, 5):
        y = floor - tick / arena.total * (floor - _TOP)
        parts.append(element("text", count(tick), x=_LEFT - 8, y=y + 4, class_="end"))
    parts.append(element("text", "step", x=(_LEFT + _WIDTH) / 2, y=_HEIGHT - 6, class_="middle"))
    parts.append(element("text", "byte", x=14, y=_HEIGHT / 2, class_="middle", transform=f"rotate(-90 14 {_HEIGHT / 2})"))
    writers = dict.fromkeys(each.writer for each in sorted(arena.held, key=lambda held: held.since))
    legend = "".join(
        element("span", f"<i style='background:{hue(layers[name]) if name in layers else HOST}'></i>{short(name)}", title=name)
        for name in writers
    )
    return picture(_WIDTH, _HEIGHT, parts, "Feature maps in DRAM over the steps") + element("p", legend, class_="legend")


def _regions(arena: Arena, floor: int) -> list[str]:
    """Lines between the regions, with their names."""
    parts = []
    begin = 0
    for region in MAPS:
        if arena.sizes[region]:
            y = floor - begin / arena.total * (floor - _TOP)
            right = _WIDTH - _RIGHT
            parts.append(element("line", x1=_LEFT, y1=y, x2=right, y2=y, stroke="currentColor", stroke_width=0.6))
            parts.append(element("text", region.name, x=right - 4, y=y - 4, class_="end"))
        begin += arena.sizes[region]
    return parts
