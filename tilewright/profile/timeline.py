"""A timeline for Perfetto (https://ui.perfetto.dev) or chrome://tracing: JSON trace events, one cycle as a microsecond.

Parts on the CPU and transfers have one track each, in their place in time. Each unit has a track, each dependency token an
arrow; DRAM bandwidth and array occupancy are counters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from isa.disassembler import format_op
from isa.instructions import Unit
from isa.program import Program
from tilewright.profile.activity import MOVES, Activity, Timing, activities
from tilewright.profile.rates import array_occupancy, buckets, dram_rates
from tilewright.profile.whole import CPU, MACHINE, TRANSFER, WholeTime

Event = dict[str, Any]
TRACE_FILE = "trace.json"
_MACHINE, _HOST = 1, 2
_TRACKS = {CPU: 101, TRANSFER: 102}
"""The tracks of the host."""


def timeline(program: Program, timing: Timing, time: WholeTime) -> dict[str, Any]:
    """The whole JSON document."""
    place = time.placement
    items = place.items(activities(program, timing))
    shown = visible(items)
    return {
        "displayTimeUnit": "ns",
        "otherData": {
            "configuration": program.config.name,
            "source": timing.source,
            "clock": time.clock,
            **time.figures(),
            "time": "1 us stands for 1 cycle",
        },
        "traceEvents": [
            *_names(), *_host(time), *_slices(items, shown), *_arrows(items, shown), *_counters(items, place.total)
        ],
    }


def visible(items: Sequence[Activity]) -> list[tuple[int, int]]:
    """The start and the end of each slice as drawn, so that the slices of a track do not overlap.

    A unit that computes starts the next instruction while one drains; the slice of the draining one ends there. LOAD and SAVE
    take instructions long before their data moves; their slices start when the data of the one before has moved.
    """
    shown = [(item.start, item.finish) for item in items]
    last: dict[Unit, int] = {}
    for item in items:
        before = last.get(item.unit)
        if before is not None:
            start, end = shown[before]
            if item.unit in MOVES:
                shown[item.number] = (max(item.start, end), max(item.finish, end))
            else:
                shown[before] = (start, min(end, item.start))
        last[item.unit] = item.number
    return shown


def _names() -> Iterator[Event]:
    yield {"ph": "M", "pid": _MACHINE, "name": "process_name", "args": {"name": "machine"}}
    for unit in Unit:
        common = {"ph": "M", "pid": _MACHINE, "tid": unit + 1}
        yield {**common, "name": "thread_name", "args": {"name": unit.name}}
        yield {**common, "name": "thread_sort_index", "args": {"sort_index": int(unit)}}


def _host(time: WholeTime) -> Iterator[Event]:
    """The slices of the host. A part that its processor cannot run has no length."""
    yield {"ph": "M", "pid": _HOST, "name": "process_name", "args": {"name": f"host: {time.processor.name}"}}
    for kind, track in _TRACKS.items():
        names = {CPU: "parts on the CPU", TRANSFER: "transfers"}
        yield {"ph": "M", "pid": _HOST, "tid": track, "name": "thread_name", "args": {"name": names[kind]}}
    for span, at, length in time.in_cycles():
        if span.kind != MACHINE:
            details: dict[str, Any] = {"ms": span.ms, "nodes": ", ".join(span.nodes), "macs": span.macs, "bytes": span.bytes}
            yield {
                "ph": "X", "pid": _HOST, "tid": _TRACKS[span.kind], "ts": round(at, 3), "dur": max(round(length, 3), 0.001),
                "name": span.name, "cat": span.kind, "args": details,
            }  # fmt: skip


def _slices(items: Sequence[Activity], shown: Sequence[tuple[int, int]]) -> Iterator[Event]:
    for item, (start, end) in zip(items, shown, strict=True):
        tile = "" if item.tile is None else f" tile {item.tile}"
        details: dict[str, Any] = {"word": item.pc, "instruction": format_op(item.op), "finished": item.finish}
        if item.read or item.written:
            details["bytes"] = item.read + item.written
        details |= {f"waited for {cause}": cycles for cause, cycles in item.waits.items()}
        yield {
            "ph": "X", "pid": _MACHINE, "tid": item.unit + 1, "ts": start, "dur": end - start,
            "name": f"{item.layer}{tile}", "cat": item.op.name, "args": details,
        }  # fmt: skip


def _arrows(items: Sequence[Activity], shown: Sequence[tuple[int, int]]) -> Iterator[Event]:
    """The arrows of tokens, from the last cycle of the giver's slice to the first of the taker's."""
    number = 0
    for item in items:
        for giver in item.givers:
            start, end = shown[giver]
            common = {"pid": _MACHINE, "name": "token", "cat": "token", "id": number}
            yield {"ph": "s", **common, "tid": items[giver].unit + 1, "ts": max(start, end - 1)}
            yield {"ph": "f", "bp": "e", **common, "tid": item.unit + 1, "ts": shown[item.number][0]}
            number += 1


def _counters(items: Sequence[Activity], cycles: int) -> Iterator[Event]:
    """The counters. Each value holds until the next; the last ones say that nothing moves any more."""
    edges = buckets(cycles if items else 0)
    reads, writes = (rates.tolist() for rates in dram_rates(items, edges))
    busy = array_occupancy(items, edges).tolist()
    rows = zip(edges.tolist(), [*reads, 0.0], [*writes, 0.0], [*busy, 0.0], strict=True)
    for at, read, write, share in rows:
        common = {"ph": "C", "pid": _MACHINE, "ts": at}
        yield {**common, "name": "DRAM bytes per cycle", "args": {"read": round(read, 3), "written": round(write, 3)}}
        yield {**common, "name": "array occupancy", "args": {"percent": round(100 * share, 1)}}
