"""The partitioned graph as an SVG that needs nothing else: groups as coloured areas, operations, and who reads whom."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from compiler.fusion.legal import OpSets, bits_of
from compiler.search.reasons import Reason
from compiler.xgraph.ops import Op
from tilewright.explain.layout import Rectangle, edge, layout
from tilewright.report.svg import count, element, hue, titled

NAME_LENGTH = 22
STYLE = (
    "text{font:11px system-ui,sans-serif;text-anchor:middle;fill:#1c2430}"
    ".op{fill:#fff;stroke:#5b6675}.edge{fill:none;stroke:#5b6675;stroke-width:1.2}.stays{stroke:#2f9e6e;stroke-width:2.4}"
)


def partition_picture(sets: OpSets, partition: Sequence[Sequence[Op]], found: Sequence[Reason]) -> str:
    """The picture. Thick green lines are maps that stay on chip. A pointer that rests on a group shows what it costs and
    saves."""
    groups = [[sets.number[op] for op in group] for group in partition]
    place = layout([list(bits_of(needs)) for needs in sets.needs], groups)
    group_of = {op: number for number, members in enumerate(groups) for op in members}
    parts = [element("style", STYLE)]
    for number, (area, reason) in enumerate(zip(place.groups, found, strict=True)):
        parts.append(_group(area, hue(number), reason, len(groups[number]) > 1))
    for number, needs in enumerate(sets.needs):
        for maker in bits_of(needs):
            parts.append(edge(place, maker, number, group_of[maker] == group_of[number]))
    parts += [_operation(place.ops[number], op) for number, op in enumerate(sets.ops)]
    size = f"0 0 {place.width:.0f} {place.height:.0f}"
    return element(
        "svg", "".join(parts), xmlns="http://www.w3.org/2000/svg", viewBox=size,
        width=round(place.width), height=round(place.height),
    ) + "\n"  # fmt: skip


def _group(area: Rectangle, colour: str, reason: Reason, fused: bool) -> str:
    left, top, width, height = area
    saved = f"saves {count(reason.saved_cycles)} cycles and {count(reason.saved_bytes)} bytes against running alone"
    text = f"{' + '.join(reason.ops)}\nabout {count(reason.cost.cycles)} cycles, {count(reason.cost.dram_bytes)} bytes\n{saved}"
    box = element(
        "rect", titled(text), x=left, y=top, width=width, height=height, rx=9,
        fill=colour, fill_opacity=0.35 if fused else 0.12, stroke=colour,
    )  # fmt: skip
    return element("g", box)


def _operation(box: Rectangle, op: Op) -> str:
    left, top, width, height = box
    name = op.name if len(op.name) <= NAME_LENGTH else f"...{op.name[-(NAME_LENGTH - 3) :]}"
    text = element("text", escape(name), x=left + width / 2, y=top + height / 2 + 4)
    rectangle = element("rect", x=left, y=top, width=width, height=height, rx=4, class_="op")
    return element("g", titled(f"{op.name}: {type(op).__name__}") + rectangle + text)
