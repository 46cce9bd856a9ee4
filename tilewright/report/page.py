"""The page: summary, partition, layers, roofline, units over time, memories over time, instructions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape

import onnx

from isa.disassembler import format_op
from isa.program import CpuStep, Program
from tilewright.noise import noise_of, noise_text
from tilewright.profile.activity import INSIDE, ISSUE, Activity, Timing, activities
from tilewright.profile.arena import arena
from tilewright.profile.dataflow import Dataflow, dataflow
from tilewright.profile.macs import macs_of_nodes
from tilewright.report.arena import arena_map
from tilewright.report.graph import partitioned_graph
from tilewright.report.layers import GroupRow, LayerRow, group_rows, layer_rows
from tilewright.report.memory import memory_map
from tilewright.report.noise import noise_map
from tilewright.report.roofline import roofline
from tilewright.report.strips import strips
from tilewright.report.style import STYLE
from tilewright.report.svg import count, element, hue, short
from tilewright.version import VERSION

CYCLES = 3
"""Column of the table."""
NOISE_NOTE = "Of each layer beside the float model's, all layers before included; below the line an output is of little use."
WAIT_COLOURS = {INSIDE: "var(--inside)", ISSUE: "var(--issue)"}


def page(program: Program, timing: Timing, title: str) -> str:
    """The whole document; it loads nothing."""
    items = activities(program, timing)
    flow = dataflow(program.config, items)
    layers = layer_rows(items, flow, macs_of_nodes(program))
    groups = group_rows(layers)
    names = [layer.name for layer in layers]
    anchors = {layer.name: f"layer-{_key(layer)}" for layer in layers}
    noise = noise_of(program)
    body = [
        element("h1", escape(title)),
        element("p", _subtitle(program, timing), class_="soft"),
        element("div", "".join(_facts(program, timing, layers)), class_="facts"),
        _section(
            "Partition", partitioned_graph(program, groups, anchors) + _partition(program, groups),
            "Areas are groups of layers that run together, tile by tile. Thick green lines are maps that stay on chip; "
            "thin ones go through DRAM.",
        ),
        _section("Layers", _table(program, layers, timing, noise)),
        *([_section("Signal to noise", noise_map(names, noise, anchors), NOISE_NOTE)] if noise else []),
        _section("Roofline", roofline(program.config, groups, timing.cycles),
            "Circles are groups, their area is their time. What is loaded ahead, in the time of the group before, "
            "may lift a group above the roof.",
        ),
        _section(
            "Units over time", strips(program.config, items, timing.cycles),
            "Height: share of the time in which a unit has an instruction in work; below, of the array's and DRAM's peak.",
        ),
        _section(
            "Feature-map buffer over time", memory_map(program.config, flow.residents, timing.cycles, names),
            "A word is held from the start of the instruction that writes it to the end of the last that reads it.",
        ),
        _section(
            "Feature maps in DRAM over the steps",
            arena_map(arena(program, items, flow), {name: number for number, name in enumerate(names)}),
            "A byte is held from the step that writes it to the last that reads it; steps are groups, and parts on the CPU.",
        ),
        _section("Instructions", "".join(_instructions(items, flow, layers)), "Cycles in which each started and finished."),
        element("p", f"tilewright {VERSION}", class_="note"),
    ]  # fmt: skip
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">{element("title", escape(title))}'
    style = f"<style>{STYLE}</style>"
    return f'<!doctype html>\n<html lang="en"><head>{head}{style}</head><body>{element("main", "".join(body))}</body></html>\n'


def _section(title: str, content: str, note: str = "") -> str:
    return element("section", element("h2", title) + content + (element("p", note, class_="note") if note else ""))


def _subtitle(program: Program, timing: Timing) -> str:
    c = program.config
    array = f"{c.ic_p} x {c.oc_p} x {c.px_p}"
    return f"{escape(c.name)}: {array} multipliers, {c.axi_bytes} B/cycle of DRAM; times from the {timing.source}"


def _facts(program: Program, timing: Timing, layers: Sequence[LayerRow]) -> Iterator[str]:
    config, cycles = program.config, timing.cycles
    macs = sum(layer.macs for layer in layers)
    moved = sum(layer.read + layer.written for layer in layers)
    facts = {
        "cycles": f"{cycles:,}",
        f"ms at {config.clock_mhz} MHz": f"{cycles / config.clock_mhz / 1000:.3g}",
        "utilisation": f"{macs / (cycles * config.macs_per_cycle):.1%}" if cycles else "-",
        "MACs": count(macs),
        "DRAM bytes, data": count(moved),
        "DRAM bytes, code": count(4 * len(program.words)),
        "instructions": f"{sum(layer.instructions for layer in layers):,}",
        "layers": str(len(layers)),
    }
    for name, value in facts.items():
        yield element("div", element("b", value) + element("span", name))


def _partition(program: Program, groups: Sequence[GroupRow]) -> str:
    """Boxes in the order of execution; CPU parts where the host runs them."""
    steps = [s for s in program.run_order if isinstance(s, CpuStep)]
    first_machine = next((n for n, s in enumerate(program.run_order) if not isinstance(s, CpuStep)), 0)
    models = {graph.name: graph.model for graph in program.cpu_graphs}
    boxes = [_cpu_box(step.graph, models[step.graph]) for step in steps]
    before = sum(isinstance(s, CpuStep) for s in program.run_order[:first_machine])
    machine = []
    for group in groups:
        links = " &rarr; ".join(element("a", escape(short(la.name)), href=f"#layer-{_key(la)}") for la in group.layers)
        head = element("b", f"group {group.number}: {count(group.cycles)} cycles, {count(group.dram_bytes)} B")
        colour = f"border-left-color:{hue(group.number)}"
        machine.append(element("div", head + links, class_="box", id=f"group-{group.number}", style=colour))
    return element("div", "".join([*boxes[:before], *machine, *boxes[before:]]), class_="flow")


def _cpu_box(name: str, blob: bytes) -> str:
    nodes = onnx.load_from_string(blob).graph.node
    kinds = ", ".join(dict.fromkeys(node.op_type for node in nodes))
    names = ", ".join(node.name for node in nodes)
    return element("div", element("b", f"CPU: {escape(name)}") + escape(kinds), class_="box cpu", title=names)


def _table(program: Program, layers: Sequence[LayerRow], timing: Timing, noise: Mapping[str, float]) -> str:
    heads = ["layer", "group", "unit", "cycles", "work and waits", "active", "utilisation", "waits for", "read B", "written B"]
    heads += ["signal to noise, dB"] if noise else []
    longest = max((layer.cycles for layer in layers), default=1)
    peak = program.config.macs_per_cycle
    rows = [_layer(layer, longest, peak, _noise(layer, noise)) for layer in layers]
    head = element("tr", "".join(element("th", text, class_="left" if text == "work and waits" else "") for text in heads))
    foot = element("tr", "".join(element("td", text) for text in _totals(layers, timing.cycles, peak)))
    table = element("table", element("thead", head) + element("tbody", "".join(rows)) + element("tfoot", foot))
    kinds = (
        ("var(--work)", "work"),
        ("var(--wait)", "waits for another unit"),
        ("var(--inside)", "waits inside: banks, DRAM, drain"),
        ("var(--issue)", "waits for fetch and dispatch"),
    )
    legend = "".join(element("span", f"<i style='background:{colour}'></i>{text}") for colour, text in kinds)
    note = "Cycles are those of the layer's unit; layers of different units run at the same time."
    return element("div", table, class_="scroll") + element("p", legend, class_="legend") + element("p", note, class_="note")


def _totals(layers: Sequence[LayerRow], cycles: int, peak: int) -> Sequence[str]:
    macs, read, written = (sum(values) for values in zip(*((la.macs, la.read, la.written) for la in layers), strict=True))
    share = f"{macs / (cycles * peak):.0%}" if macs and cycles else ""
    return "network", "", "", f"{cycles:,}", "", "", share, "", f"{read:,}", f"{written:,}"


def _noise(layer: LayerRow, noise: Mapping[str, float]) -> list[str]:
    """A cell, if there is a column."""
    return [noise_text(noise[layer.name]) if layer.name in noise else ""] if noise else []


def _layer(layer: LayerRow, longest: int, peak: int, more: Sequence[str]) -> str:
    pieces = [("var(--work)", layer.work, "work")]
    pieces += [(WAIT_COLOURS.get(cause, "var(--wait)"), n, cause) for cause, n in layer.waits.most_common()]
    bar = "".join(
        element("i", "", style=f"width:{100 * n / layer.cycles:.2f}%;background:{colour}", title=f"{cause}: {n:,} cycles")
        for colour, n, cause in pieces
        if n
    )
    waits = ", ".join(f"{cause} {n / layer.cycles:.0%}" for cause, n in layer.waits.most_common(3) if n * 200 > layer.cycles)
    name = element("a", escape(short(layer.name)), href=f"#layer-{_key(layer)}", title=layer.name)
    cells = [
        name, element("a", str(layer.group), href=f"#group-{layer.group}"), layer.unit.name, f"{layer.cycles:,}",
        element("div", bar, class_="bar"), f"{layer.active:.0%}", f"{layer.utilisation(peak):.0%}" if layer.macs else "",
        element("span", waits, class_="soft"), f"{layer.read:,}", f"{layer.written:,}", *more,
    ]  # fmt: skip
    filled = f"background:linear-gradient(to left,var(--meter) {100 * layer.cycles / longest:.1f}%,transparent 0)"
    styles = {CYCLES: {"style": filled}}
    return element("tr", "".join(element("td", cell, **styles.get(n, {})) for n, cell in enumerate(cells)))


def _instructions(items: Sequence[Activity], flow: Dataflow, layers: Sequence[LayerRow]) -> Iterator[str]:
    members: dict[str, list[Activity]] = {}
    for item in items:
        members.setdefault(flow.layer_of[item.number], []).append(item)
    for layer in layers:
        lines = (f"{i.start:>9} {i.finish:>9}  {i.pc:#07x}  {format_op(i.op)}" for i in members[layer.name])
        head = element("summary", f"{escape(short(layer.name))} <span class='soft'>{layer.instructions} instructions</span>")
        yield element("details", head + element("pre", escape("\n".join(lines))), id=f"layer-{_key(layer)}")


def _key(layer: LayerRow) -> str:
    """What anchors are called: names may hold anything."""
    return hashlib.sha256(layer.name.encode()).hexdigest()[:12]
