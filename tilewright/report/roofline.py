"""The roofline: multiply-accumulates per cycle over multiply-accumulates per byte of DRAM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from isa.config import MachineConfig
from tilewright.report.layers import GroupRow
from tilewright.report.svg import count, element, hue, picture, short, titled

_WIDTH, _HEIGHT = 860, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 20, 18, 52


def roofline(config: MachineConfig, groups: Sequence[GroupRow], cycles: int) -> str:
    """The picture. Groups are circles (area: their share of the cycles), the whole network is a ring; both axes are
    logarithmic."""
    points = [(g.macs / g.dram_bytes, g.macs / g.cycles, g) for g in groups if g.macs and g.dram_bytes and g.cycles]
    if not points:
        return element("p", "No layer multiplies and accumulates.")
    peak, bandwidth = config.macs_per_cycle, config.axi_bytes
    ridge = peak / bandwidth
    low_x, high_x = _decades([x for x, _, _ in points] + [ridge / 4, ridge * 4])
    low_y, high_y = _decades([y for _, y, _ in points] + [peak * 1.2])

    def place(x: float, y: float) -> tuple[float, float]:
        right = (math.log10(x) - low_x) / (high_x - low_x) * (_WIDTH - _LEFT - _RIGHT)
        up = (math.log10(y) - low_y) / (high_y - low_y) * (_HEIGHT - _TOP - _BOTTOM)
        return _LEFT + right, _HEIGHT - _BOTTOM - up

    parts = []
    for power in range(low_x, high_x + 1):
        x, _ = place(10.0**power, 10.0**low_y)
        parts.append(element("line", x1=x, x2=x, y1=_TOP, y2=_HEIGHT - _BOTTOM, class_="grid"))
        parts.append(element("text", count(10.0**power), x=x, y=_HEIGHT - _BOTTOM + 24, class_="middle"))
    for power in range(low_y, high_y + 1):
        _, y = place(10.0**low_x, 10.0**power)
        parts.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(element("text", count(10.0**power), x=_LEFT - 8, y=y + 4, class_="end"))
    foot = max(10.0**low_x, 10.0**low_y / bandwidth)
    corners = [place(foot, foot * bandwidth), place(ridge, peak), place(10.0**high_x, peak)]
    parts.append(element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in corners), class_="roof"))
    x, y = corners[2]
    parts.append(element("text", f"array: {peak} MAC/cycle", x=x, y=y - 8, class_="end strong"))
    x, y = place(math.sqrt(foot * ridge), math.sqrt(foot * ridge) * bandwidth)
    parts.append(element("text", f"DRAM: {bandwidth} B/cycle", x=x - 8, y=y - 8, class_="end strong"))
    for intensity, speed, group in sorted(points, key=lambda point: -point[2].cycles):
        x, y = place(intensity, speed)
        names = ", ".join(short(layer.name) for layer in group.layers)
        about = f"group {group.number}: {names}: {speed:.0f} MAC/cycle, {intensity:.1f} MAC/byte, {group.cycles} cycles"
        size = 4 + 18 * math.sqrt(min(1.0, group.cycles / cycles))
        dot = element("circle", titled(about), cx=x, cy=y, r=size, fill=hue(group.number), class_="dot")
        parts.append(element("a", dot, href=f"#group-{group.number}"))
    macs, moved = sum(g.macs for g in groups), sum(g.dram_bytes for g in groups)
    x, y = place(macs / moved, macs / cycles)
    about = f"whole network: {macs / cycles:.0f} MAC/cycle, {macs / moved:.1f} MAC/byte"
    parts.append(element("circle", titled(about), cx=x, cy=y, r=8, class_="whole"))
    parts.append(element("text", "network", x=x, y=y + 26, class_="middle strong"))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(element("text", escape("MAC per byte of DRAM"), x=middle, y=_HEIGHT - 6, class_="middle"))
    turned = f"rotate(-90 14 {_HEIGHT / 2})"
    parts.append(element("text", "MAC per cycle", x=14, y=_HEIGHT / 2, class_="middle", transform=turned))
    return picture(_WIDTH, _HEIGHT, parts, "Roofline plot")


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)
