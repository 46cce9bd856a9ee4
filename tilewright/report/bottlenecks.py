"""Finds what takes most of a run, and what would help: parts on the CPU, transfers, groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from compiler.frontend.support import support_table
from isa.config import MachineConfig
from isa.instructions import Unit
from tilewright.profile.whole import CPU, MACHINE, Span, WholeTime
from tilewright.report.layers import GroupRow
from tilewright.report.svg import element, prose, short, size

EDGES = {
    ("QuantizeLinear",): "--input-type int8 or uint8 takes inputs that are quantised",
    ("DequantizeLinear",): "--output-type int8 or uint8 leaves outputs quantised",
}
"""The options that avoid parts that only do this, at the model's edge."""
WIDER = "a wider bus (axi_data_bits), larger buffers, or --effort full, which weighs more groups"
MORE = {
    Unit.CONV: "a larger array (ic_p, oc_p, px_p)", Unit.POOL: "more taps at a time (pool_taps)",
    Unit.MISC: "more lanes (misc_lanes)", Unit.ROW: "more lanes (row_lanes)",
}  # fmt: skip
"""What would help if a unit works most of the time. Units that move data need a wider bus."""


@dataclass(frozen=True)
class Bottleneck:
    """A part of a run that takes time, and what would help."""

    ms: float
    what: str
    remedy: str


def bottlenecks(config: MachineConfig, time: WholeTime, groups: Sequence[GroupRow]) -> list[Bottleneck]:
    """The three bottlenecks that take most of the run."""
    found = [*_of_host(time), *(_of_group(config, group) for group in groups)]
    return sorted(found, key=lambda each: -each.ms)[:3]


def _of_host(time: WholeTime) -> Iterator[Bottleneck]:
    """The bottlenecks of the host. Parts with the same operators count as one, and so do all transfers."""
    alike: dict[tuple[str, ...], list[Span]] = {}
    for span in time.spans:
        if span.kind != MACHINE and span.ms is not None:
            alike.setdefault(span.operators if span.kind == CPU else (), []).append(span)
    for operators, spans in alike.items():
        ms, names = sum(span.ms or 0.0 for span in spans), _few([span.name for span in spans])
        if operators:
            parts = f"part{'s' if len(spans) > 1 else ''} {names} on {time.processor.name}: {', '.join(operators)}"
            yield Bottleneck(ms, parts, _rid_of(operators, time))
        else:
            remedy = "8-bit inputs and outputs (--input-type, --output-type), --input-layout nhwc, or fewer parts on the CPU"
            yield Bottleneck(ms, f"transfers of {names}: {size(sum(span.bytes for span in spans))}", remedy)


def _rid_of(operators: Sequence[str], time: WholeTime) -> str:
    """What would help against parts with these operators."""
    if operators in EDGES:
        return EDGES[operators]
    known = {row.operator for row in support_table()}
    unknown = [each for each in operators if each not in known]
    if unknown:
        found = f"operators of `tilewright ops` in place of {', '.join(unknown)}, which no unit computes"
    else:
        found = "`compile --verbose` says which condition keeps each node there"
    return f"{found}; fewer parts: each takes {1000 * time.processor.speed().seconds_per_part:.2g} ms to begin and end"


def _few(names: Sequence[str]) -> str:
    return ", ".join(map(short, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _of_group(config: MachineConfig, group: GroupRow) -> Bottleneck:
    ms = group.cycles / config.clock_mhz / 1000
    what = f"group {group.number} ({_few([layer.name for layer in group.layers])}), {group.cycles:,} cycles"
    unit = max(Unit, key=lambda unit: sum(layer.work for layer in group.layers if layer.unit is unit))
    busiest = [layer for layer in group.layers if layer.unit is unit]
    work, macs = sum(layer.work for layer in busiest), sum(layer.macs for layer in busiest)
    moving = group.dram_bytes / config.axi_bytes
    if moving > max(work, 0.7 * group.cycles):
        share = moving / max(group.cycles, 1)
        return Bottleneck(ms, f"{what}: DRAM moves {size(group.dram_bytes)} in {share:.0%} of that", WIDER)
    if work < 0.5 * group.cycles:
        causes = sum((layer.waits for layer in busiest), Counter[str]())
        waits = ", ".join(cause for cause, _ in causes.most_common(2)) or "the group before"
        return Bottleneck(ms, f"{what}: its busiest unit, {unit.name}, works {work:,} of them, and waits for {waits}",
                          "a larger batch or fewer, larger layers: small ones cannot hide DRAM's latency")  # fmt: skip
    share = macs / (max(work, 1) * config.macs_per_cycle)
    if macs and share < 0.5:
        return Bottleneck(ms, f"{what}: {unit.name} fills {share:.0%} of the array while it works",
                          f"channels in multiples of {config.ic_p} in and {config.oc_p} out, or other lanes")  # fmt: skip
    return Bottleneck(ms, f"{what}: {unit.name} works {work:,} of them", MORE.get(unit, WIDER))


def bottleneck_list(found: Sequence[Bottleneck], time: WholeTime) -> str:
    whole = time.ms
    rows = []
    for each in found:
        share = f", {each.ms / whole:.0%} of the run" if whole else ""
        head = element("b", f"{each.ms:.3g} ms{share}") + f": {escape(each.what)}."
        rows.append(element("li", head + element("div", f"What would help: {prose(each.remedy)}.", class_="soft")))
    return element("ol", "".join(rows))
