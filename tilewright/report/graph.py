"""The partitioned graph: groups as coloured areas, layers, and their connections on chip or through DRAM."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from compiler.frontend.extras import Extras
from compiler.frontend.pipeline import import_model
from compiler.fusion.legal import OpSets, bits_of
from compiler.planning.grouping import machine_ops
from isa.errors import TilewrightError
from isa.program import WHOLE_MODEL, Program
from tilewright.explain.layout import Rectangle, edge, layout
from tilewright.profile.parts import parsed
from tilewright.report.layers import GroupRow
from tilewright.report.svg import count, element, hue, picture, short, size, titled

NAME_LENGTH = 22


@dataclass(frozen=True)
class Drawn:
    """The picture. ``svg`` is empty if the program carries no model, or not the one that it was made from."""

    svg: str = ""
    saved_bytes: int = 0
    """The bytes of DRAM that are saved: maps that layers neither write nor read there because they stay on chip."""


def partitioned_graph(program: Program, groups: Sequence[GroupRow], anchors: Mapping[str, str]) -> Drawn:
    """The picture, whose layers lead to their ``anchors``."""
    sets = _operations(program) if groups else None
    if sets is None:
        return Drawn()
    number = {op.name: n for n, op in enumerate(sets.ops)}
    rows = [(group, [number[layer.name] for layer in group.layers if layer.name in number]) for group in groups]
    rows = [(group, members) for group, members in rows if members]
    if sorted(n for _, members in rows for n in members) != [*range(len(sets.ops))]:
        return Drawn()
    order = sets.in_order([sum(1 << n for n in members) for _, members in rows])
    if order is None:
        return Drawn()
    rows.sort(key=lambda row: order.index(sum(1 << n for n in row[1])))
    place = layout([list(bits_of(needs)) for needs in sets.needs], [sorted(members) for _, members in rows])
    group_of = {n: group.number for group, members in rows for n in members}
    parts = [_group(area, group) for area, (group, _) in zip(place.groups, rows, strict=True)]
    for reader, needs in enumerate(sets.needs):
        parts += [edge(place, maker, reader, group_of[maker] == group_of[reader]) for maker in bits_of(needs)]
    parts += [_operation(place.ops[n], op.name, type(op).__name__, anchors[op.name]) for n, op in enumerate(sets.ops)]
    drawn = picture(round(place.width), round(place.height), parts, "Partitioned graph")
    shown = element("div", drawn, style=f"width:{place.width:.0f}px;margin:auto")
    return Drawn(element("div", shown, class_="graph"), _saved(sets, group_of))


def _saved(sets: OpSets, group_of: Mapping[int, int]) -> int:
    """The bytes saved. Each reader of the same group saves a read; a map that all its readers find on chip is not written."""
    readers: dict[int, list[int]] = {}
    for reader, needs in enumerate(sets.needs):
        for maker in bits_of(needs):
            readers.setdefault(maker, []).append(reader)
    found = 0
    for maker, reading in readers.items():
        output = sets.ops[maker].output
        inside = sum(group_of[maker] == group_of[reader] for reader in reading)
        unwritten = inside == len(reading) and output not in sets.graph.outputs
        found += (inside + unwritten) * math.prod(sets.graph.tensors[output].shape)
    return found


def _operations(program: Program) -> OpSets | None:
    blob = next((graph.model for graph in program.cpu_graphs if graph.name == WHOLE_MODEL), None)
    if blob is None:
        return None
    try:
        graph = import_model(parsed(WHOLE_MODEL, blob), extras=Extras.of(program.config)).graph
    except TilewrightError:
        return None
    return OpSets(graph) if machine_ops(graph) else None


def _group(area: Rectangle, group: GroupRow) -> str:
    left, top, width, height = area
    about = f"group {group.number}: {count(group.cycles)} cycles, {size(group.dram_bytes)} of DRAM"
    colour = hue(group.number)
    box = element(
        "rect", titled(about), x=left, y=top, width=width, height=height, rx=9, fill=colour,
        fill_opacity=0.3 if len(group.layers) > 1 else 0.12, stroke=colour,
    )  # fmt: skip
    return element("a", box, href=f"#group-{group.number}")


def _operation(box: Rectangle, name: str, kind: str, anchor: str) -> str:
    left, top, width, height = box
    text = element("text", escape(short(name, NAME_LENGTH)), x=left + width / 2, y=top + height / 2 + 4, class_="middle")
    rectangle = element("rect", x=left, y=top, width=width, height=height, rx=4, class_="op")
    return element("a", titled(f"{name}: {kind}") + rectangle + text, href=f"#{anchor}")
