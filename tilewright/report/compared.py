"""The page that compares two programs: whole times, cycles, bytes, and layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from isa.program import Program
from tilewright.noise import accuracy_of
from tilewright.profile.activity import Timing, activities
from tilewright.profile.dataflow import dataflow
from tilewright.profile.network import network_of
from tilewright.profile.whole import CPU, MACHINE, TRANSFER, WholeTime
from tilewright.report.layers import LayerRow, layer_rows
from tilewright.report.page import document, section, subtitle
from tilewright.report.svg import element, short
from tilewright.report.whole import bars, whole_note


@dataclass(frozen=True)
class Run:
    """One program with its timing."""

    name: str
    program: Program
    timing: Timing
    time: WholeTime

    @cached_property
    def layers(self) -> dict[str, LayerRow]:
        items = activities(self.program, self.timing)
        rows = layer_rows(items, dataflow(self.program.config, items), network_of(self.program))
        return {row.name: row for row in rows}


def compared(before: Run, after: Run) -> str:
    """The whole document."""
    runs = (before, after)
    title = f"{before.name} and {after.name}"
    body = [element("h1", escape(title))]
    body += [element("p", f"{escape(run.name)}: {subtitle(run.program, run.timing)}", class_="soft") for run in runs]
    body.append(section("In all", _table(["", before.name, after.name, "change"], _totals(before, after))))
    body += [section(f"The whole run of {escape(run.name)}", bars(run.time), whole_note(run.time)) for run in runs]
    names = [*before.layers, *(name for name in after.layers if name not in before.layers)]
    rows = sorted((_layer(name, before, after) for name in names), key=lambda row: -abs(row[0]))
    heads = ["layer", "work before", "work after", "change", "waits before", "waits after", "DRAM B before", "DRAM B after"]
    body.append(section("Layers", _table(heads, [cells for _, cells in rows]), "In cycles; those that change most come first."))
    return document(title, "".join(body))


def _totals(before: Run, after: Run) -> list[list[str]]:
    def moved(run: Run) -> float:
        return sum(row.read + row.written for row in run.layers.values())

    rows: list[tuple[str, Callable[[Run], float | None], str]] = [
        ("ms end to end", lambda run: run.time.ms, ".4f"),
        ("inferences/s", lambda run: run.time.inferences_per_second, ",.0f"),
        ("ms of the machine", lambda run: run.time.ms_of(MACHINE), ".4f"),
        ("ms on the CPU", lambda run: run.time.ms_of(CPU), ".4f"),
        ("ms of transfers", lambda run: run.time.ms_of(TRANSFER), ".4f"),
        ("cycles", lambda run: run.timing.cycles, ",.0f"),
        ("MACs", lambda run: sum(network_of(run.program).macs.values()), ",.0f"),
        ("MACs on the CPU", lambda run: run.time.macs_on_cpu, ",.0f"),
        ("DRAM bytes, data", moved, ",.0f"),
        ("DRAM bytes, code", lambda run: 4 * len(run.program.words), ",.0f"),
        ("layers", lambda run: len(run.layers), ",.0f"),
    ]
    found = []
    for name, of, form in rows:
        values = of(before), of(after)
        found.append([name, *("no time" if value is None else format(value, form) for value in values), _change(*values)])
    accuracy = [accuracy_of(run.program) for run in (before, after)]
    return [*found, ["accuracy", *(escape(text) or "-" for text in accuracy), ""]] if any(accuracy) else found


def _change(before: float | None, after: float | None) -> str:
    if not before or after is None:
        return ""
    return f"{after / before - 1:+.1%}" if after < 10 * before else f"{after / before:,.0f} times"


def _layer(name: str, before: Run, after: Run) -> tuple[int, list[str]]:
    rows = before.layers.get(name), after.layers.get(name)
    work = [row.work if row else 0 for row in rows]
    cells = [escape(short(name)), *(f"{row.work:,}" if row else "-" for row in rows), _change(*work) if all(rows) else ""]
    cells += [f"{row.waits.total():,}" if row else "-" for row in rows]
    cells += [f"{row.read + row.written:,}" if row else "-" for row in rows]
    return work[1] - work[0], cells


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = element("tr", "".join(element("th", escape(text)) for text in heads))
    lines = "".join(element("tr", "".join(element("td", cell) for cell in row)) for row in rows)
    return element("div", element("table", element("thead", head) + element("tbody", lines)), class_="scroll")
