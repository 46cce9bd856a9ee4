"""Pictures of the page: the front as a scatter, and the fields of its machines as parallel coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tilewright.exploring.point import Point
from tilewright.report.svg import count, element, hue, picture, ticks, titled

_WIDTH, _HEIGHT = 860, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 24, 18, 52
UPWARDS = {"fps": "runs a second", "latency": "milliseconds of a run", "energy": "millijoules of a run, estimated",
           "luts": "milliseconds of a run"}  # fmt: skip
"""The figure that is drawn over the LUTs, by objective."""
FIELDS = ("ic_p", "oc_p", "px_p", "conv_finish", "pool_finish", "pool_taps", "misc_lanes", "fm_banks", "weight_depth",
          "axi_data_bits", "axi_ports", "array_clock", "chip_cores")  # fmt: skip
"""The axes of the parallel coordinates; those on which all machines agree are left out."""


def height_of(point: Point, objective: str) -> float:
    return point.fps if objective == "fps" else point.cost(objective)


def scatter(front: Sequence[Point], others: Sequence[Point], chosen: Point, objective: str, anchors: dict[str, str]) -> str:
    """A picture with the machines of the front as links, and those behind it as small dots."""
    every = [*front, *others]
    right, up = (1.06 * max(p.luts for p in every), 1.08 * max(height_of(p, objective) for p in every))

    def place(point: Point) -> tuple[float, float]:
        x = _LEFT + point.luts / right * (_WIDTH - _LEFT - _RIGHT)
        return x, _HEIGHT - _BOTTOM - height_of(point, objective) / up * (_HEIGHT - _TOP - _BOTTOM)

    parts = _grid(right, up)
    for point in others:
        x, y = place(point)
        parts.append(element("circle", titled(_about(point)), cx=x, cy=y, r=3, fill="var(--issue)", class_="dot"))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, front))
    parts.append(element("polyline", points=line, class_="edge"))
    for number, point in enumerate(front):
        x, y = place(point)
        dot = element("circle", titled(_about(point)), cx=x, cy=y, r=7, fill=hue(number), class_="dot")
        parts.append(element("a", dot, href=f"#{anchors[point.name]}"))
    x, y = place(chosen)
    parts.append(element("circle", titled(f"chosen: {_about(chosen)}"), cx=x, cy=y, r=11, class_="whole"))
    middle = f"rotate(-90 16 {_HEIGHT / 2})"
    parts.append(element("text", "LUTs, estimated", x=(_LEFT + _WIDTH - _RIGHT) / 2, y=_HEIGHT - 6, class_="middle"))
    parts.append(element("text", UPWARDS[objective], x=16, y=_HEIGHT / 2, class_="middle", transform=middle))
    return picture(_WIDTH, _HEIGHT, parts, "The front")


def _grid(right: float, up: float) -> list[str]:
    parts = []
    for value in ticks(right):
        x = _LEFT + value / right * (_WIDTH - _LEFT - _RIGHT)
        parts.append(element("line", x1=x, x2=x, y1=_TOP, y2=_HEIGHT - _BOTTOM, class_="grid"))
        parts.append(element("text", count(value), x=x, y=_HEIGHT - _BOTTOM + 20, class_="middle"))
    for value in ticks(up):
        y = _HEIGHT - _BOTTOM - value / up * (_HEIGHT - _TOP - _BOTTOM)
        parts.append(element("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(element("text", count(value), x=_LEFT - 8, y=y + 4, class_="end"))
    return parts


def _about(point: Point) -> str:
    c = point.config
    return (
        f"{point.name}: {c.ic_p} x {c.oc_p} x {c.px_p}, {point.fps:.1f} runs a second, {point.latency:.3f} ms, "
        f"{point.energy:.3g} mJ, {point.luts:,.0f} LUT, effort {point.effort}"
    )


def parallel(front: Sequence[Point], chosen: Point, anchors: dict[str, str]) -> str:
    """A picture with a line for each machine of the front over the fields in which they differ. The chosen one is thick."""
    values = {name: [getattr(point.config, name) for point in front] for name in FIELDS}
    axes = [name for name, found in values.items() if len(set(found)) > 1]
    if not axes:
        return element("p", "The machines of the front differ in none of the fields.")
    steps = {name: sorted(set(values[name])) for name in axes}
    wide = (_WIDTH - 2 * _LEFT) / max(1, len(axes) - 1)

    def at(axis: int, value: int) -> tuple[float, float]:
        known = steps[axes[axis]]
        share = known.index(value) / (len(known) - 1)
        return _LEFT + axis * wide, _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM - 20)

    parts = []
    for axis, name in enumerate(axes):
        x = _LEFT + axis * wide
        parts.append(element("line", x1=x, x2=x, y1=_TOP + 20, y2=_HEIGHT - _BOTTOM, class_="grid"))
        low = _HEIGHT - _BOTTOM + (24 if axis % 2 else 42)
        parts.append(element("text", escape(name), x=x, y=low, class_="middle strong"))
        for value in steps[name]:
            parts.append(element("text", str(value), x=x - 6, y=at(axis, value)[1] - 5, class_="end"))
    for number, point in enumerate(front):
        places = (at(axis, getattr(point.config, name)) for axis, name in enumerate(axes))
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        width = 4 if point.name == chosen.name else 1.5
        style = f"fill:none;stroke:{hue(number)};stroke-width:{width}"
        line = element("polyline", titled(_about(point)), points=path, style=style)
        parts.append(element("a", line, href=f"#{anchors[point.name]}"))
    return picture(_WIDTH, _HEIGHT, parts, "Fields of the front")
