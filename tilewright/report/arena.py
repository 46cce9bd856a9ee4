"""The picture of feature maps in DRAM over the steps. Areas show what a layer wrote until its last reader; the peak is
marked."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from isa.program import Program
from tilewright.profile.activity import activities, modelled
from tilewright.profile.arena import GRANULE, MAPS, Arena, arena
from tilewright.profile.dataflow import dataflow
from tilewright.report.memory import Grid, rectangles
from tilewright.report.svg import count, element, hue, picture, short, ticks, titled

ROWS = 192
_WIDTH, _HEIGHT = 860, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 76, 22, 40
_IN_A_LINE, _LINE = 3, 18
HOST = "hsl(0 0% 55%)"
EMPTY = "No feature map lies in DRAM."
STYLE = (
    "svg{color:#1c2430;background:#fff}text{font:12px system-ui,sans-serif;fill:#5b6675}"
    ".middle{text-anchor:middle}.end{text-anchor:end}.plot{fill:#f0f3f6}"
)


def occupancy(arena: Arena, numbers: Mapping[str, int]) -> Grid:
    """The number of the layer that wrote what lies there, ``[row of addresses, step]``, or -1. The host's is
    ``len(numbers)``."""
    grid = np.full((ROWS, len(arena.steps)), -1, np.int32)
    for each in sorted(arena.held, key=lambda held: held.since):
        first = each.granules * GRANULE * ROWS // arena.total
        past = np.maximum(first + 1, -(-np.minimum((each.granules + 1) * GRANULE, arena.total) * ROWS // arena.total))
        edges = np.bincount(first, minlength=ROWS + 1) - np.bincount(past, minlength=ROWS + 1)
        grid[np.cumsum(edges)[:ROWS] > 0, each.since : each.until + 1] = numbers.get(each.writer, len(numbers))
    return grid


def picture_of(program: Program) -> str:
    """The text of a file with the picture of a program."""
    items = activities(program, modelled(program))
    flow = dataflow(program.config, items)
    return arena_picture(arena(program, items, flow), {name: number for number, name in enumerate(flow.group_of)})


def arena_map(arena: Arena, layers: Mapping[str, int]) -> str:
    """The picture for a page that has the style. ``layers``: their numbers."""
    if not arena.total:
        return element("p", EMPTY, class_="note")
    legend = "".join(
        element("span", f"<i style='background:{colour}'></i>{escape(short(name))}", title=name)
        for name, colour in _legend(arena, layers)
    )
    label = "Feature maps in DRAM over the steps"
    return picture(_WIDTH, _HEIGHT, _drawing(arena, layers), label) + element("p", legend, class_="legend")


def arena_picture(arena: Arena, layers: Mapping[str, int]) -> str:
    """The picture as a file that needs nothing else: with its style, and the legend below."""
    parts = [element("style", STYLE)]
    parts += _drawing(arena, layers) if arena.total else [element("text", EMPTY, x=_LEFT, y=_HEIGHT / 2)]
    each = (_WIDTH - _LEFT) / _IN_A_LINE
    lines = 0
    for number, (name, colour) in enumerate(_legend(arena, layers)):
        line, place = divmod(number, _IN_A_LINE)
        x, y = _LEFT + place * each, _HEIGHT + _LINE * line
        parts.append(element("rect", x=x, y=y, width=10, height=10, rx=2, fill=colour))
        parts.append(element("g", titled(name) + element("text", escape(short(name)), x=x + 15, y=y + 9)))
        lines = line + 1
    height = _HEIGHT + _LINE * lines + 10
    return element(
        "svg", "".join(parts), xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {_WIDTH} {height}", width=_WIDTH, height=height
    ) + "\n"  # fmt: skip


def _legend(arena: Arena, layers: Mapping[str, int]) -> list[tuple[str, str]]:
    """The layers that wrote something, first writers first, and their colours."""
    writers = dict.fromkeys(each.writer for each in sorted(arena.held, key=lambda held: held.since))
    return [(name, hue(layers[name]) if name in layers else HOST) for name in writers]


def _drawing(arena: Arena, layers: Mapping[str, int]) -> list[str]:
    """The parts of the picture: addresses upwards, WORK below INPUT below OUTPUT, and steps to the right."""
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
    if most:
        label = f"peak: {most:,} of {arena.sizes[MAPS[0]]:,} bytes of WORK in {arena.steps[at]}"
        parts.append(element("line", x1=x, y1=_TOP, x2=x, y2=floor, stroke="currentColor", stroke_dasharray="3 3"))
        parts.append(element("text", label, x=min(max(x, 220.0), _WIDTH - 250.0), y=_TOP - 7, class_="middle"))
    for tick in ticks(len(arena.steps)):
        if tick == int(tick) and tick < len(arena.steps):
            parts.append(element("text", str(int(tick) + 1), x=_LEFT + (tick + 0.5) * wide, y=floor + 16, class_="middle"))
    for tick in ticks(arena.total, 5):
        y = floor - tick / arena.total * (floor - _TOP)
        parts.append(element("text", count(tick), x=_LEFT - 8, y=y + 4, class_="end"))
    parts.append(element("text", "step", x=(_LEFT + _WIDTH - _RIGHT) / 2, y=_HEIGHT - 6, class_="middle"))
    parts.append(element("text", "byte", x=14, y=_HEIGHT / 2, class_="middle", transform=f"rotate(-90 14 {_HEIGHT / 2})"))
    return parts


def _regions(arena: Arena, floor: int) -> list[str]:
    """Lines between the regions, and the regions' names to the right of them, at least a line of text apart."""
    parts = []
    end, free = arena.total, 0.0
    right = _WIDTH - _RIGHT
    for region in reversed(MAPS):
        end -= arena.sizes[region]
        if arena.sizes[region]:
            y = floor - end / arena.total * (floor - _TOP)
            free = max(y, free + _LINE)
            parts.append(element("line", x1=_LEFT, y1=y, x2=right, y2=y, stroke="currentColor", stroke_width=0.6))
            parts.append(element("text", region.name, x=right + 4, y=free))
    return parts
