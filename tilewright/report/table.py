"""The table of layers: work and waits apart, the most work marked, shapes, bytes, signal to noise."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from html import escape

from isa.program import Program
from tilewright.noise import noise_text
from tilewright.profile.activity import INSIDE, ISSUE
from tilewright.profile.network import network_of
from tilewright.profile.shapes import Shapes
from tilewright.report.layers import LayerRow
from tilewright.report.svg import element, short

WORK = 4
"""The column of the work."""
WAIT_COLOURS = {INSIDE: "var(--inside)", ISSUE: "var(--issue)"}
_KINDS = (
    ("var(--work)", "work"),
    ("var(--wait)", "waits for another unit"),
    ("var(--inside)", "waits inside: banks, DRAM, drain"),
    ("var(--issue)", "waits for fetch and dispatch"),
)


def anchor(layer: LayerRow) -> str:
    """The anchor of a layer. It is a digest, since names may hold anything."""
    return f"layer-{hashlib.sha256(layer.name.encode()).hexdigest()[:12]}"


def layer_shapes(program: Program, layers: Sequence[LayerRow]) -> Shapes:
    """The shapes of what each layer makes, by its name. A piece of a node has the shape of what the node makes."""
    network = network_of(program)
    nodes = {layer.name: network.nodes.get(network.whole_of(layer.name)) for layer in layers}
    made = {name: node.output[0] for name, node in nodes.items() if node is not None and node.output}
    return {name: network.shapes[output] for name, output in made.items() if output in network.shapes}


def layer_table(program: Program, layers: Sequence[LayerRow], cycles: int, noise: Mapping[str, float]) -> str:
    heads = ["layer", "makes", "group", "unit", "work", "waits", "work and waits", "array while it works", "waits for",
             "read, B", "written, B", *(["signal to noise, dB"] if noise else [])]  # fmt: skip
    most = max((layer.work for layer in layers), default=0) or 1
    peak, shapes = program.config.macs_per_cycle, layer_shapes(program, layers)
    rows = [_layer(layer, shapes, most, peak, _noise(layer, noise)) for layer in layers]
    head = element("tr", "".join(element("th", text, class_="left" if text == "work and waits" else "") for text in heads))
    foot = element("tr", "".join(element("td", text) for text in _totals(layers, cycles, peak)))
    table = element("table", element("thead", head) + element("tbody", "".join(rows)) + element("tfoot", foot))
    legend = "".join(element("span", f"<i style='background:{colour}'></i>{text}") for colour, text in _KINDS)
    note = "Cycles are those of the layer's unit; layers of different units run at the same time. Darker: more work."
    return element("div", table, class_="scroll") + element("p", legend, class_="legend") + element("p", note, class_="note")


def _totals(layers: Sequence[LayerRow], cycles: int, peak: int) -> Sequence[str]:
    macs, read, written = (sum(values) for values in zip(*((la.macs, la.read, la.written) for la in layers), strict=True))
    share = f"{macs / (cycles * peak):.0%}" if macs and cycles else ""
    return f"machine: {cycles:,} cycles", "", "", "", "", "", "", share, "", f"{read:,}", f"{written:,}"


def _noise(layer: LayerRow, noise: Mapping[str, float]) -> list[str]:
    """The cell of the layer's noise, if there is a column for it."""
    return [noise_text(noise[layer.name]) if layer.name in noise else ""] if noise else []


def _layer(layer: LayerRow, shapes: Shapes, most: int, peak: int, more: Sequence[str]) -> str:
    pieces = [("var(--work)", layer.work, "work")]
    pieces += [(WAIT_COLOURS.get(cause, "var(--wait)"), n, cause) for cause, n in layer.waits.most_common()]
    bar = "".join(
        element("i", "", style=f"width:{100 * n / layer.cycles:.2f}%;background:{colour}", title=f"{cause}: {n:,} cycles")
        for colour, n, cause in pieces
        if n
    )
    waits = ", ".join(f"{cause} {n:,}" for cause, n in layer.waits.most_common(3) if n * 200 > layer.cycles)
    name = element("a", escape(short(layer.name)), href=f"#{anchor(layer)}", title=layer.name)
    cells = [
        name, " x ".join(map(str, shapes.get(layer.name, ()))), element("a", str(layer.group), href=f"#group-{layer.group}"),
        layer.unit.name, f"{layer.work:,}", f"{layer.waits.total():,}", element("div", bar, class_="bar"),
        f"{layer.utilisation(peak):.0%}" if layer.macs else "", element("span", waits, class_="soft"),
        f"{layer.read:,}", f"{layer.written:,}", *more,
    ]  # fmt: skip
    filled = f"background:linear-gradient(to left,var(--meter) {100 * layer.work / most:.1f}%,transparent 0)"
    styles = {WORK: {"style": filled}}
    return element("tr", "".join(element("td", cell, **styles.get(n, {})) for n, cell in enumerate(cells)))
