"""A timeline for Perfetto (https://ui.perfetto.dev) or chrome://tracing: JSON trace events, one cycle as a microsecond.

One track for each unit, an arrow for each dependency token, counters for DRAM bandwidth and array occupancy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from isa.disassembler import format_op
from isa.instructions import Unit
from isa.program import Program
from tilewright.profile.activity import MOVES, Activity, Timing, activities
from tilewright.profile.rates import array_occupancy, buckets, dram_rates

Event = dict[str, Any]
_MACHINE = 1


def timeline(program: Program, timing: Timing) -> dict[str, Any]:
    """The whole JSON document."""
    items = activities(program, timing)
    shown = visible(items)
    return {
        "displayTimeUnit": "ns",
        "otherData": {
            "configuration": program.config.name,
            "source": timing.source,
            "cycles": timing.cycles,
            "time": "1 us stands for 1 cycle",
        },
        "traceEvents": [*_names(), *_slices(items, shown), *_arrows(items, shown), *_counters(items, timing.cycles)],
    }


def visible(items: Sequence[Activity]) -> list[tuple[int, int]]:
    """Start and end as drawn, so that the slices of a track do not overlap.

    A unit that computes starts the next instruction while one drains: that one's slice ends there. LOAD and SAVE take
    instructions long before their data moves: their slices start when the data of the one before has moved.
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
    """From the last cycle of the giver's slice to the first of the taker's."""
    number = 0
    for item in items:
        for giver in item.givers:
            start, end = shown[giver]
            common = {"pid": _MACHINE, "name": "token", "cat": "token", "id": number}
            yield {"ph": "s", **common, "tid": items[giver].unit + 1, "ts": max(start, end - 1)}
            yield {"ph": "f", "bp": "e", **common, "tid": item.unit + 1, "ts": shown[item.number][0]}
            number += 1


def _counters(items: Sequence[Activity], cycles: int) -> Iterator[Event]:
    """Each value holds until the next; the last ones say that nothing moves any more."""
    edges = buckets(cycles)
    reads, writes = (rates.tolist() for rates in dram_rates(items, edges))
    busy = array_occupancy(items, edges).tolist()
    rows = zip(edges.tolist(), [*reads, 0.0], [*writes, 0.0], [*busy, 0.0], strict=True)
    for at, read, write, share in rows:
        common = {"ph": "C", "pid": _MACHINE, "ts": at}
        yield {**common, "name": "DRAM bytes per cycle", "args": {"read": round(read, 3), "written": round(write, 3)}}
        yield {**common, "name": "array occupancy", "args": {"percent": round(100 * share, 1)}}
