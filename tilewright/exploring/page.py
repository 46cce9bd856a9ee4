"""The page of an exploration, and the TOML files beside it. The page loads nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import quote

from tilewright.exploring.layers import Layer, layers_of
from tilewright.exploring.pictures import parallel, scatter
from tilewright.exploring.result import Exploration, Row
from tilewright.report.page import document, section
from tilewright.report.svg import element, short, size

PAGE_FILE = "explore.html"
ESTIMATES = "Sizes are estimates (`tilewright size` synthesises), and so is energy; cycles are the cycle model's."
MOST_LAYERS = 40
"""The most layers that are shown of each network: those with most work."""
HEADS = ("machine", "array", "fps", "ms", "mJ", "DRAM", "LUT", "FF", "DSP", "BRAM", "URAM", "cores", "most of")


def files_of(found: Exploration) -> dict[str, str]:
    """The files by name: the page, and the TOML of each machine of the front."""
    return {PAGE_FILE: page(found), **{f"{point.name}.toml": point.config.to_toml() for point in found.front}}


def page(found: Exploration) -> str:
    return document(f"Machines for {', '.join(found.models)}", "".join(_body(found)))


def _body(found: Exploration) -> Iterator[str]:
    anchors = {point.name: f"machine-{point.name}" for point in found.front}
    asked = f"for {found.objective} on {found.chip}" + "".join(f", {text}" for text in found.constraints)
    yield element("h1", escape(f"Machines for {', '.join(found.models)}")) + element("p", escape(asked), class_="soft")
    yield _facts(found.row(found.chosen), found)
    front = {point.name for point in found.front}
    others = [point for point in found.evaluated if point.name not in front and not point.refused]
    drawn = scatter(found.front, others, found.chosen, found.objective, anchors)
    note = "A ring marks the chosen machine; small dots were compiled and are not on the front. A click leads to the fields."
    yield section("Front", drawn + _certified(found), note)
    yield section("Fields", parallel(found.front, found.chosen, anchors), "The thick line is the chosen machine.")
    yield section("What binds", _binding(found), f"Shares of what the chosen machine may take. {ESTIMATES}")
    if found.changes:
        yield section("One more of something", _changes(found), "Programs of effort `quick` for both machines.")
    for name, layers in layers_of(found.chosen).items():
        yield section(f"Layers of {name}", _layers(layers), "Of the chosen machine, those with most work first.")
    if found.proofs:
        yield section("Measured", "".join(element("p", escape(str(proof))) for proof in found.proofs))
    yield section("Machines", _machines(found, anchors), "The smallest first; each with all fields.")


def _facts(row: Row, found: Exploration) -> str:
    told = {
        "chosen": row.array, "runs a second": f"{row.fps:,.1f}", "ms of a run": f"{row.latency_ms:.3g}",
        "mJ of a run": f"{row.energy_mj:.3g}", "LUT": f"{row.luts:,.0f}", "DSP": f"{row.dsps:,.0f}",
        "BRAM": f"{row.brams:,.0f}", "MHz, assumed": str(row.clock_mhz), "combinations": f"{found.combinations:,}",
    }  # fmt: skip
    boxes = (element("div", element("b", escape(value)) + element("span", escape(name))) for name, value in told.items())
    return element("div", "".join(boxes), class_="facts")


def _certified(found: Exploration) -> str:
    sure = found.certificate
    programs = f"better programs for the compiled ones may take {sure.programs:.1%} off at most"
    return element("p", escape(f"{found.told_counts()}. Certified by bounds: {sure}; {programs}."))


def _binding(found: Exploration) -> str:
    shares = found.search.limits.shares(found.chosen.config, found.chosen.sizes)
    rows = [(kind, share) for kind, share in sorted(shares.items(), key=lambda each: -each[1]) if share]
    rows += [(str(c), c.excess(found.chosen)) for c in found.search.constraints]
    return _table(("limit", "taken", ""), [(escape(name), f"{share:.0%}", _bar(share)) for name, share in rows])


def _changes(found: Exploration) -> str:
    rows = [
        (escape(each.what), f"{each.gain:+.1%}", f"{each.luts:+,.0f}", escape(each.beyond) or "fits") for each in found.changes
    ]
    return _table(("change", f"less {_cost(found.objective)}", "LUT", "limits"), rows)


def _cost(objective: str) -> str:
    return "energy" if objective == "energy" else "time"


def _layers(layers: Sequence[Layer]) -> str:
    rows = [
        (element("span", escape(short(layer.name)), title=layer.name), layer.unit, f"{layer.share:.1%}",
         f"{layer.utilisation:.0%}" if layer.macs else "", _bar(layer.utilisation) if layer.macs else "")
        for layer in layers[:MOST_LAYERS]
    ]  # fmt: skip
    return _table(("layer", "unit", "work, of all cycles", "array", ""), rows)


def _machines(found: Exploration, anchors: dict[str, str]) -> str:
    cells = [
        (element("a", row.name, href=f"#{anchors[row.name]}"), row.array, f"{row.fps:,.1f}", f"{row.latency_ms:.3g}",
         f"{row.energy_mj:.3g}", size(row.dram_bytes), f"{row.luts:,.0f}", f"{row.ffs:,.0f}", f"{row.dsps:,.0f}",
         f"{row.brams:,.0f}", f"{row.urams:,.0f}", str(row.cores), escape(row.binds))
        for row in found.rows
    ]  # fmt: skip
    return _table(HEADS, cells) + "".join(_toml(point.name, point.config.to_toml(), anchors) for point in found.front)


def _toml(name: str, text: str, anchors: dict[str, str]) -> str:
    """All fields of a machine, and a link that saves them."""
    saved = element("a", "save", href=f"data:application/toml,{quote(text)}", download=f"{name}.toml")
    return element("details", element("summary", f"{name}.toml") + saved + element("pre", escape(text)), id=anchors[name])


def _bar(share: float) -> str:
    filled = element("i", "", style=f"width:{min(1.0, share):.1%};background:var(--work)")
    return element("div", filled, class_="bar")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = element("tr", "".join(element("th", escape(text)) for text in heads))
    body = "".join(element("tr", "".join(element("td", cell) for cell in row)) for row in rows)
    return element("div", element("table", element("thead", head) + element("tbody", body)), class_="scroll")
