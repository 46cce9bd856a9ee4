"""The run as a table: parts and transfers in their order with their times, and the layers and nodes of each."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from compiler.driver import Compiled
from tilewright.noise import noise_of
from tilewright.profile.activity import activities, modelled
from tilewright.profile.dataflow import dataflow
from tilewright.profile.network import network_of
from tilewright.profile.whole import CPU, TRANSFER, WholeTime
from tilewright.report.layers import layer_rows
from tilewright.why import why

Row = dict[str, Any]
COLUMNS = (
    "part", "layer", "where", "group", "work_cycles", "wait_cycles", "macs", "utilisation", "dram_bytes_read",
    "dram_bytes_written", "signal_to_noise_db", "reason",
)  # fmt: skip
"""The columns of a layer or a node."""
RUN_COLUMNS = (COLUMNS[0], "start_ms", "ms", "copied_bytes", *COLUMNS[1:])
"""The columns of a table that also has parts, whose ``layer`` is empty. All ``ms`` add up to the time end to end."""


def layer_table(compiled: Compiled, time: WholeTime) -> list[Row]:
    """A row for each layer on the machine and each node on the CPU, with the same columns, ``COLUMNS``."""
    program = compiled.program
    network, noise, peak = network_of(program), noise_of(program), program.config.macs_per_cycle
    items = activities(program, modelled(program))
    rows: list[Row] = [
        {"part": time.part_of(row.finish), "layer": row.name, "where": row.unit.name, "group": row.group,
         "work_cycles": row.work, "wait_cycles": row.waits.total(), "macs": row.macs,
         "utilisation": round(row.utilisation(peak), 4), "dram_bytes_read": row.read, "dram_bytes_written": row.written,
         "signal_to_noise_db": noise.get(row.name)}
        for row in layer_rows(items, dataflow(program.config, items), network)
    ]  # fmt: skip
    parts = {node: span.name for span in time.spans for node in span.nodes}
    rows += [
        {"part": parts.get(name), "layer": name, "where": "CPU", "macs": network.macs.get(name, 0), "reason": str(why(reason))}
        for name, reason in compiled.imported.reasons.items()
    ]
    return [{column: row.get(column) for column in COLUMNS} for row in rows]


def run_table(compiled: Compiled, time: WholeTime) -> Iterator[Row]:
    """The rows of the run: each part before its layers or nodes."""
    rows = layer_table(compiled, time)
    for span in time.rows():
        where = "CPU" if span["kind"] == CPU else span["kind"]
        yield {"part": span["name"], "where": where, "start_ms": span["start_ms"], "ms": span["ms"],
               "copied_bytes": span["bytes"] or None}  # fmt: skip
        if span["kind"] != TRANSFER:
            yield from (row for row in rows if row["part"] == span["name"])


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """The rows as CSV with a line of column names. Unknown values are empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, RUN_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
