"""The picture of signal to noise over the layers: where quantisation loses how much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tilewright.noise import noise_text
from tilewright.report.svg import element, picture, short, ticks, titled

_WIDTH, _HEIGHT = 860, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 20, 12, 24
MOST_DECIBELS = 60.0
"""The decibels at the top of the picture. Exact layers reach it."""
LEAST_USEFUL = 15.0


def noise_map(layers: Sequence[str], noise: Mapping[str, float], anchors: Mapping[str, str]) -> str:
    """A bar for each layer whose noise is known, in the order of the network. It leads to the layer's instructions."""
    known = [name for name in layers if name in noise]
    wide = (_WIDTH - _LEFT - _RIGHT) / max(len(known), 1)

    def height(value: float) -> float:
        return _HEIGHT - _BOTTOM - min(max(value, 0.0), MOST_DECIBELS) / MOST_DECIBELS * (_HEIGHT - _TOP - _BOTTOM)

    parts = []
    for value in ticks(MOST_DECIBELS):
        parts.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=height(value), y2=height(value), class_="grid"))
        parts.append(element("text", f"{value:.0f} dB", x=_LEFT - 8, y=height(value) + 4, class_="end"))
    for index, name in enumerate(known):
        value = noise[name]
        unit = "" if math.isinf(value) else " dB"
        top = height(value)
        bar = element(
            "rect", titled(f"{short(name)}: {noise_text(value)}{unit}"), x=_LEFT + index * wide, y=top,
            width=max(wide - 1, 0.5), height=_HEIGHT - _BOTTOM - top,
            fill="var(--wait)" if value < LEAST_USEFUL else "var(--work)", class_="noise",
        )  # fmt: skip
        parts.append(element("a", bar, href=f"#{anchors[name]}"))
    level = height(LEAST_USEFUL)
    parts.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=level, y2=level, class_="roof"))
    return picture(_WIDTH, _HEIGHT, parts, "Signal to noise by layer")
