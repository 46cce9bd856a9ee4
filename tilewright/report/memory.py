"""The picture of the feature-map buffer over time: which layer's words lie where, and from when to when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from isa.config import MachineConfig
from tilewright.profile.dataflow import Resident
from tilewright.report.svg import count, element, hue, picture, short, ticks, titled

COLUMNS, ROWS = 400, 96
_WIDTH, _HEIGHT = 860, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 24, 10, 40
Grid = npt.NDArray[np.int32]


def occupancy(config: MachineConfig, residents: Sequence[Resident], cycles: int, colours: Mapping[str, int]) -> Grid:
    """The number of the layer whose words lie there (the last that came), ``[row of addresses, column of time]``, or -1."""
    grid = np.full((ROWS, COLUMNS), -1, np.int32)
    for resident in residents:
        left = resident.since * COLUMNS // cycles
        right = max(left + 1, -(-resident.until * COLUMNS // cycles))
        for first, past in resident.words.tolist():
            low = first * ROWS // config.fm_words
            high = max(low + 1, -(-past * ROWS // config.fm_words))
            grid[low:high, left:right] = colours[resident.layer]
    return grid


def rectangles(grid: Grid) -> Iterator[tuple[int, int, int, int, int]]:
    """Rectangles that cover all cells that are not -1: number, row, column, height and width. Equal rows are joined."""
    open_spans: dict[tuple[int, int, int], int] = {}
    for row in range(grid.shape[0] + 1):
        spans = set(_spans(grid[row])) if row < grid.shape[0] else set()
        for span in [span for span in open_spans if span not in spans]:
            number, first, past = span
            top = open_spans.pop(span)
            yield number, top, first, row - top, past - first
        for span in spans:
            open_spans.setdefault(span, row)


def _spans(row: npt.NDArray[np.int32]) -> Iterator[tuple[int, int, int]]:
    edges = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
    for first, past in pairwise(edges):
        if row[first] >= 0:
            yield int(row[first]), first, past


def memory_map(config: MachineConfig, residents: Sequence[Resident], cycles: int, layers: Sequence[str]) -> str:
    """The picture: addresses upwards, time to the right."""
    numbers = {name: number for number, name in enumerate(layers)}
    wide, high = (_WIDTH - _LEFT - _RIGHT) / COLUMNS, (_HEIGHT - _TOP - _BOTTOM) / ROWS
    floor = _HEIGHT - _BOTTOM
    parts = [element("rect", x=_LEFT, y=_TOP, width=_WIDTH - _LEFT - _RIGHT, height=floor - _TOP, class_="plot")]
    for number, row, column, rows, columns in rectangles(occupancy(config, residents, cycles, numbers)):
        parts.append(
            element(
                "rect", titled(layers[number]), x=_LEFT + column * wide, y=floor - (row + rows) * high,
                width=columns * wide, height=rows * high, fill=hue(number),
            )
        )  # fmt: skip
    for tick in ticks(cycles):
        x = _LEFT + tick / cycles * (_WIDTH - _LEFT - _RIGHT)
        parts.append(element("text", count(tick), x=x, y=floor + 16, class_="middle"))
    for tick in ticks(config.fm_words, 5):
        y = floor - tick / config.fm_words * (floor - _TOP)
        parts.append(element("text", count(tick), x=_LEFT - 8, y=y + 4, class_="end"))
    parts.append(element("text", "cycle", x=(_LEFT + _WIDTH) / 2, y=_HEIGHT - 6, class_="middle"))
    parts.append(element("text", "word", x=14, y=_HEIGHT / 2, class_="middle", transform=f"rotate(-90 14 {_HEIGHT / 2})"))
    legend = "".join(
        element("span", f"<i style='background:{hue(n)}'></i>{short(name)}", title=name) for n, name in enumerate(layers)
    )
    return picture(_WIDTH, _HEIGHT, parts, "Feature-map buffer over time") + element("p", legend, class_="legend")
