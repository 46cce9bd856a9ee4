"""The page: the whole run, bottlenecks, device, partition, layers, roofline, units and memories over time, instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from isa.disassembler import format_op
from isa.program import Program
from tilewright.noise import accuracy_of, noise_of
from tilewright.profile.activity import Activity, Timing, activities
from tilewright.profile.arena import arena
from tilewright.profile.dataflow import Dataflow, dataflow
from tilewright.profile.network import network_of
from tilewright.profile.whole import CPU, MACHINE, Span, WholeTime
from tilewright.report.arena import arena_map
from tilewright.report.bottlenecks import bottleneck_list, bottlenecks
from tilewright.report.graph import Drawn, partitioned_graph
from tilewright.report.layers import GroupRow, LayerRow, group_rows, layer_rows
from tilewright.report.memory import memory_map
from tilewright.report.noise import noise_map
from tilewright.report.roofline import roofline
from tilewright.report.strips import strips
from tilewright.report.style import STYLE
from tilewright.report.svg import count, element, hue, prose, short, size
from tilewright.report.table import anchor, layer_table
from tilewright.report.whole import bars, facts, resources, whole_note
from tilewright.version import VERSION

PAGE_FILE = "report.html"
NOISE_NOTE = "Of each layer beside the float model's, all layers before included; below the line an output is of little use."


def page(program: Program, timing: Timing, time: WholeTime, title: str) -> str:
    """The whole document. It loads nothing."""
    return document(title, "".join(_body(program, timing, time, title)))


def document(title: str, body: str) -> str:
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">{element("title", escape(title))}'
    foot = element("p", f"tilewright {VERSION}", class_="note")
    style = f"<style>{STYLE}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}{style}</head><body>{element("main", body + foot)}</body></html>\n'


def _body(program: Program, timing: Timing, time: WholeTime, title: str) -> Iterator[str]:
    items = activities(program, timing)
    flow = dataflow(program.config, items)
    layers = layer_rows(items, flow, network_of(program))
    groups = group_rows(layers)
    names = [layer.name for layer in layers]
    anchors = {layer.name: anchor(layer) for layer in layers}
    noise, accuracy = noise_of(program), accuracy_of(program)
    yield element("h1", escape(title)) + element("p", subtitle(program, timing), class_="soft")
    yield facts(program, time, layers, accuracy, noise)
    yield section("The whole run", bars(time), whole_note(time))
    if found := bottlenecks(program.config, time, groups):
        yield section("Where the time goes", bottleneck_list(found, time))
    if device := resources(program.config):
        yield section("Device", device, "Estimated from the configuration; `tilewright size` synthesises it.")
    drawn = partitioned_graph(program, groups, anchors)
    yield section("Partition", drawn.svg + _order(program, time, groups, layers), _partition_note(drawn))
    if layers:
        yield section("Layers", layer_table(program, layers, timing.cycles, noise))
    if noise:
        yield section("Signal to noise", noise_map(names, noise, anchors), NOISE_NOTE)
    if any(group.macs and group.dram_bytes for group in groups):
        yield section("Roofline", roofline(program.config, groups, timing.cycles),
            "Circles are groups, their area is their time. What is loaded ahead, in the time of the group before, "
            "may lift a group above the roof.",
        )  # fmt: skip
    if items:
        yield section(
            "Units over time", strips(program.config, items, timing.cycles),
            "Height: share of the time in which a unit has an instruction in work; below, of the array's and DRAM's peak. "
            "Machine segments follow each other here; trace.json has the host's work between them.",
        )
    if flow.residents:
        yield section(
            "Feature-map buffer over time", memory_map(program.config, flow.residents, timing.cycles, names),
            "A word is held from the start of the instruction that writes it to the end of the last that reads it.",
        )
    held = arena(program, items, flow)
    if held.held and held.total:
        yield section(
            "Feature maps in DRAM over the steps", arena_map(held, {name: number for number, name in enumerate(names)}),
            "A byte is held from the step that writes it to the last that reads it; steps are groups, and parts on the CPU.",
        )
    if layers:
        yield section("Instructions", "".join(_instructions(items, flow, layers)), "Cycles in which each started and finished.")


def section(title: str, content: str, note: str = "") -> str:
    return element("section", element("h2", title) + content + (element("p", prose(note), class_="note") if note else ""))


def subtitle(program: Program, timing: Timing) -> str:
    c = program.config
    chip = f" on {c.chip}" if c.chip else ""
    array = f"{c.ic_p} x {c.oc_p} x {c.px_p}"
    return f"{escape(c.name + chip)}: {array} multipliers, {c.axi_bytes} B/cycle of DRAM; times from the {timing.source}"


def _partition_note(drawn: Drawn) -> str:
    if not drawn.svg:
        return ""
    saved = f" They save {size(drawn.saved_bytes)} of DRAM in each run." if drawn.saved_bytes else ""
    return (
        "Areas are groups of layers that run together, tile by tile. Thick green lines are maps that stay on chip; "
        f"thin ones go through DRAM.{saved}"
    )


def _order(program: Program, time: WholeTime, groups: Sequence[GroupRow], layers: Sequence[LayerRow]) -> str:
    """Boxes in the order of execution: groups, and the parts on the CPU between them."""
    part = {group.number: time.part_of(max(layer.finish for layer in group.layers)) for group in groups}
    boxes = []
    for span in time.spans:
        if span.kind == CPU:
            boxes.append(_cpu_box(span))
        elif span.kind == MACHINE:
            boxes += [_group_box(group) for group in groups if part[group.number] == span.name]
    return element("div", "".join(boxes), class_="flow")


def _group_box(group: GroupRow) -> str:
    links = " &rarr; ".join(element("a", escape(short(la.name)), href=f"#{anchor(la)}") for la in group.layers)
    head = element("b", f"group {group.number}: {count(group.cycles)} cycles, {size(group.dram_bytes)}")
    colour = f"border-left-color:{hue(group.number)}"
    return element("div", head + links, class_="box", id=f"group-{group.number}", style=colour)


def _cpu_box(span: Span) -> str:
    takes = "cannot run there" if span.ms is None else f"{span.ms:.3g} ms"
    head = element("b", f"CPU: {escape(span.name)}: {takes}")
    return element("div", head + escape(", ".join(span.operators)), class_="box cpu", title=", ".join(span.nodes))


def _instructions(items: Sequence[Activity], flow: Dataflow, layers: Sequence[LayerRow]) -> Iterator[str]:
    members: dict[str, list[Activity]] = {}
    for item in items:
        members.setdefault(flow.layer_of[item.number], []).append(item)
    for layer in layers:
        lines = (f"{i.start:>9} {i.finish:>9}  {i.pc:#07x}  {format_op(i.op)}" for i in members[layer.name])
        head = element("summary", f"{escape(short(layer.name))} <span class='soft'>{layer.instructions} instructions</span>")
        yield element("details", head + element("pre", escape("\n".join(lines))), id=anchor(layer))
