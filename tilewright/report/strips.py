"""The activity of every unit over time, one strip each, and strips of DRAM bandwidth and array occupancy."""

from __future__ import annotations

from collections.abc import Sequence

from isa.config import MachineConfig
from isa.instructions import Unit
from tilewright.profile.activity import Activity
from tilewright.profile.rates import Floats, array_occupancy, buckets, dram_rates, peak_bandwidth, rate
from tilewright.profile.timeline import visible
from tilewright.report.svg import count, element, hue, picture, ticks

_WIDTH, _LEFT, _RIGHT, _STRIP, _GAP = 860, 104, 20, 30, 7
UNIT_COLOURS = {
    Unit.LOAD: "#4c8fd6", Unit.SAVE: "#7a6fd0", Unit.CONV: "#2f9e6e", Unit.POOL: "#d9822b", Unit.MISC: "#c0507f",
}  # fmt: skip


def strips(config: MachineConfig, items: Sequence[Activity], cycles: int) -> str:
    """The strips. The height of a unit's strip is the share of the time in which the unit has an instruction in work."""
    edges = buckets(cycles, most=420, least=1)
    shown = visible(items)
    rows: list[tuple[str, str, Floats]] = []
    for unit in Unit:
        spans = [(*shown[item.number], shown[item.number][1] - shown[item.number][0]) for item in items if item.unit is unit]
        if spans:
            rows.append((unit.name, UNIT_COLOURS.get(unit, hue(unit)), rate([s for s in spans if s[2]], edges)))
    reads, writes = dram_rates(items, edges)
    rows.append(("array beats", UNIT_COLOURS[Unit.CONV], array_occupancy(items, edges)))
    rows.append(("DRAM bytes", UNIT_COLOURS[Unit.LOAD], (reads + writes) / peak_bandwidth(config)))
    height = len(rows) * (_STRIP + _GAP) + 42
    wide = _WIDTH - _LEFT - _RIGHT
    parts = []
    for number, (name, colour, shares) in enumerate(rows):
        floor = number * (_STRIP + _GAP) + _STRIP
        parts.append(element("rect", x=_LEFT, y=floor - _STRIP, width=wide, height=_STRIP, class_="plot"))
        parts.append(element("text", name, x=_LEFT - 8, y=floor - _STRIP / 2 + 4, class_="end"))
        parts.append(element("path", d=_outline(edges, shares, cycles, floor, wide), fill=colour))
    for tick in ticks(cycles):
        parts.append(element("text", count(tick), x=_LEFT + tick / cycles * wide, y=height - 22, class_="middle"))
    parts.append(element("text", "cycle", x=_LEFT + wide / 2, y=height - 5, class_="middle"))
    return picture(_WIDTH, height, parts, "Activity of the units over time")


def _outline(edges: Floats, shares: Floats, cycles: int, floor: float, wide: float) -> str:
    path = [f"M{_LEFT} {floor}"]
    for begin, end, share in zip(edges[:-1].tolist(), edges[1:].tolist(), shares.tolist(), strict=True):
        left, right = (_LEFT + min(1.0, at / cycles) * wide for at in (begin, end))
        top = floor - min(1.0, share) * _STRIP
        path.append(f"L{left:.1f} {top:.1f}L{right:.1f} {top:.1f}")
    return "".join([*path, f"L{_LEFT + wide} {floor}Z"])
