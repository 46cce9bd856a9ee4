"""The head of the page: facts, bars of machine, CPU and transfers in their place, the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from isa.chips import chip_of
from isa.config import MachineConfig
from isa.estimate import estimate
from isa.program import Program
from tilewright.noise import noise_text
from tilewright.profile.network import network_of
from tilewright.profile.whole import CPU, KINDS, MACHINE, TRANSFER, WholeTime
from tilewright.report.layers import LayerRow
from tilewright.report.svg import count, element, picture, size, ticks, titled

_WIDTH, _LEFT, _RIGHT, _ROW, _GAP = 860, 104, 20, 26, 8
COLOURS = {MACHINE: "var(--work)", CPU: "#d9822b", TRANSFER: "#7a6fd0"}
NAMES = {MACHINE: "machine", CPU: "CPU", TRANSFER: "transfers"}


def facts(
    program: Program, time: WholeTime, layers: Sequence[LayerRow], accuracy: str, noise: Mapping[str, float]
) -> str:
    """The facts of the run: the time end to end first, then the accuracy if it was measured."""
    config, cycles = program.config, time.cycles
    every, moved = sum(network_of(program).macs.values()), sum(layer.read + layer.written for layer in layers)
    macs = every - time.macs_on_cpu
    samples, _, right = accuracy.partition(": ")
    told = {
        "ms end to end": _ms(time.ms),
        "inferences/s": "no time" if time.inferences_per_second is None else f"{time.inferences_per_second:,.0f}",
        **({right: samples} if accuracy else {}),
        **({"dB, least signal to noise": noise_text(min(noise.values()))} if noise else {}),
        f"ms of the machine {time.clock}": _ms(time.ms_of(MACHINE)),
        f"ms on {time.processor.name}": _ms(time.ms_of(CPU)),
        "ms of transfers": _ms(time.ms_of(TRANSFER)),
        f"cycles, {time.source}": f"{cycles:,}",
        "utilisation": f"{macs / (cycles * config.macs_per_cycle):.1%}" if cycles else "-",
        "MACs in all": count(every),
        "MACs on the CPU": count(time.macs_on_cpu),
        "of DRAM, data": size(moved),
        "of DRAM, code": size(4 * len(program.words)),
        "layers": str(len(layers)),
    }
    boxes = (element("div", element("b", value) + element("span", escape(name))) for name, value in told.items())
    return element("div", "".join(boxes), class_="facts")


def _ms(value: float | None) -> str:
    return "no time" if value is None else f"{value:.3g}"


def bars(time: WholeTime) -> str:
    """A row each for machine, CPU and transfers, with time to the right. A part that cannot run is a red line in its place."""
    whole = sum(span.ms or 0.0 for span in time.spans) or 1.0
    wide = _WIDTH - _LEFT - _RIGHT
    height = len(KINDS) * (_ROW + _GAP) + 40
    parts = []
    for number, kind in enumerate(KINDS):
        y = number * (_ROW + _GAP)
        parts.append(element("rect", x=_LEFT, y=y, width=wide, height=_ROW, class_="plot"))
        parts.append(element("text", NAMES[kind], x=_LEFT - 8, y=y + _ROW / 2 + 4, class_="end"))
    at = 0.0
    for span in time.spans:
        y, x, length = KINDS.index(span.kind) * (_ROW + _GAP), _LEFT + at / whole * wide, (span.ms or 0.0) / whole * wide
        what = f"{span.cycles:,} cycles" if span.cycles is not None else f"{len(span.nodes)} nodes: {', '.join(span.operators)}"
        what = size(span.bytes) if span.kind == TRANSFER else what
        text = f"{span.name}: {'no time' if span.ms is None else f'{span.ms:.4f} ms'}; {what}"
        colour = "#d43f3a" if span.ms is None else COLOURS[span.kind]
        bar = element("rect", titled(text), x=x, y=y, width=max(length, 1.5), height=_ROW, fill=colour, class_="span")
        parts.append(bar)
        at += span.ms or 0.0
    for tick in ticks(whole):
        parts.append(element("text", f"{tick:.3g}", x=_LEFT + tick / whole * wide, y=height - 22, class_="middle"))
    parts.append(element("text", "ms", x=_LEFT + wide / 2, y=height - 4, class_="middle"))
    return picture(_WIDTH, height, parts, "The whole run")


def whole_note(time: WholeTime) -> str:
    trouble = f"No time end to end: {time.trouble}. " if time.stuck else ""
    return (
        f"{trouble}One after the other, as the host drives the machine. The machine's clock is assumed, {time.clock}. "
        f"Processor {time.processor.described}."
    )


def resources(config: MachineConfig) -> str:
    """The resources that the machine takes of its chip; empty if it names none."""
    chip = chip_of(config.chip)
    if chip is None:
        return ""
    rows = []
    for one in estimate(config, chip.family):
        if chip.capacity.get(one.kind):
            share = one.number * config.chip_cores / chip.capacity[one.kind]
            colour = "var(--inside)" if share > 1 else "var(--work)"
            bar = element("i", "", style=f"width:{min(100.0, 100 * share):.1f}%;background:{colour}")
            text = f"{one.number * config.chip_cores:,.0f} of {chip.capacity[one.kind]:,} ({share:.0%})"
            cells = [one.kind, element("div", bar, class_="bar wide"), text, f"{one.error:.0%}"]
            rows.append(element("tr", "".join(element("td", cell) for cell in cells)))
    cores = f"{config.chip_cores} cores " if config.chip_cores > 1 else ""
    heads = ["resource", "", f"{cores}on {chip.name}", "error up to"]
    head = element("tr", "".join(element("th", text) for text in heads))
    return element("div", element("table", element("thead", head) + element("tbody", "".join(rows))), class_="scroll tight")
