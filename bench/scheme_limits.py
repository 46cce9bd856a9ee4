"""What schemes could save that are not chosen from: the table *Schemes that are left out* in docs/results/papers.md.

    python -m bench.scheme_limits [network ...] [--config base zu2 zu9 nano]

A depthwise layer on CONV has one product in ``ic_p`` of each beat, and ``ic_p`` times the bytes of parameters. To see what it
could save at best the network is cut into stretches of at most ``MOST_OPS`` operations that take as long as their busiest of
POOL, CONV and the bus, as groups would that hide all else, but nothing of each other: the cheapest cut, with all depthwise
layers on POOL, and with each where its stretch is fastest. Another layout of maps in DRAM could at best move their bytes in
full beats: beside that stands what loads and stores of the compiled program take, as if nothing of it were hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bench.command import command
from bench.network_table import PAPERS as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.networks import imported, known, sources
from compiler.driver import compile_graph
from compiler.emit.program import machine_segments
from compiler.layers.lower import is_depthwise
from compiler.planning.plan import Plan
from compiler.search.cost import Evaluator
from compiler.tuned import MOST_PROMISING_OPS as MOST_OPS
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv, Cpu
from isa.config import PRESETS, MachineConfig, preset
from isa.instructions import Unit
from sim.cycle.costs import COSTS, MoveCost
from tilewright.running import estimated_cycles

NETWORKS = ("mobilenet_v1", "mobilenet_v2", "squeezenet", "googlenet", "resnet50_v1")
TITLE = "Schemes that are left out"
COLUMNS = (
    "configuration", "network", "depthwise layers", "beats of CONV for one of POOL", "stretches: depthwise on POOL",
    "on either", "less", "beats of maps", "of their bytes", "cycles", "at most less by layout",
)  # fmt: skip


class Work(NamedTuple):
    """The cycles of an operation, or of several together, on each unit."""

    pool: int
    conv: int
    bus: float

    @property
    def busiest(self) -> float:
        return max(self)


def together(works: Sequence[Work]) -> Work:
    return Work(*(sum(part) for part in zip(*works, strict=True)))


def cheapest_cut(works: Sequence[Work], elsewhere: Mapping[int, Work], most: int) -> float:
    """The cycles of the cheapest cut into stretches. ``elsewhere``: the cycles of operations that may go to another unit, if
    they do."""
    ends = [0.0]
    for end in range(1, len(works) + 1):
        ends.append(min(ends[first] + stretch(works, elsewhere, first, end) for first in range(max(0, end - most), end)))
    return ends[-1]


def stretch(works: Sequence[Work], elsewhere: Mapping[int, Work], first: int, end: int) -> float:
    movable = [n for n in range(first, end) if n in elsewhere]
    choices = (moved for count in range(len(movable) + 1) for moved in combinations(movable, count))
    return min(together([elsewhere[n] if n in moved else works[n] for n in range(first, end)]).busiest for moved in choices)


def works_of(evaluator: Evaluator) -> tuple[list[Work], dict[int, Work]]:
    """The work of each operation of the graph, and that of depthwise layers on CONV: a beat for each tap and vector of
    channels."""
    config, floors = evaluator.config, evaluator.floors
    works, elsewhere = [], {}
    for number, op in enumerate(evaluator.sets.ops):
        beats = {unit: values[number] for unit, values in floors.beats.items()}
        own = Work(beats.get(Unit.POOL, 0), beats.get(Unit.CONV, 0), floors.moved[number] / config.axi_bytes)
        works.append(own)
        if isinstance(op, Conv) and is_depthwise(op):
            batch, height, width, channels = evaluator.graph.tensors[op.output].shape
            taps = op.window.kernel[0] * op.window.kernel[1]
            conv = batch * -(-height * width // config.px_p) * taps * -(-channels // config.oc_p)
            more = taps * channels * (config.ic_p - 1) / config.axi_bytes
            elsewhere[number] = Work(0, conv, own.bus + more)
    return works, elsewhere


def beats_of_maps(config: MachineConfig, graph: XGraph, steps: Sequence[Plan | Cpu]) -> tuple[int, float]:
    """The beats of all loads and stores of the program, and those of as many bytes without a gap."""
    beats, size = 0, 0
    for segment in machine_segments(config, graph, steps):
        for name in ("LOAD", "SAVE"):
            values = [op.values for op, _ in segment if op.name == name]
            fields = {field: np.array([each[field] for each in values], np.int64) for field in (values[0] if values else ())}
            costs = COSTS[name](config, fields) if values else []
            beats += sum(cost.beats for cost in costs if isinstance(cost, MoveCost))
            size += sum(each["rows"] * _row_bytes(name, each) for each in values)
    return beats, size / config.axi_bytes


def _row_bytes(name: str, fields: Mapping[str, int]) -> int:
    if name == "LOAD" and fields["valid"] == 0:
        return 0
    apart = fields["step"] > fields["run"] or name == "SAVE"
    return fields["pixels"] * fields["run"] if apart else fields["valid"]


def row_of(name: str, config: str) -> list[str]:
    compiled = compile_graph(imported(sources()[name]()), preset(config))
    works, elsewhere = works_of(Evaluator(preset(config), compiled.imported.graph))
    here, either = cheapest_cut(works, {}, MOST_OPS), cheapest_cut(works, elsewhere, MOST_OPS)
    pool = sum(works[n].pool for n in elsewhere)
    conv = sum(work.conv for work in elsewhere.values())
    beats, least = beats_of_maps(preset(config), compiled.imported.graph, compiled.steps)
    cycles = estimated_cycles(compiled.program)
    return [
        config, name, str(len(elsewhere)), f"{conv / pool:.2f}" if pool else "", f"{here:,.0f}", f"{either:,.0f}",
        f"{1 - either / here:.2%}", f"{beats:,}", f"{least:,.0f}", f"{cycles:,}", f"{(beats - least) / cycles:.2%}",
    ]  # fmt: skip


def told() -> str:
    rows = rows_of(TITLE, PAGE)
    depthwise = [row for row in rows if row["depthwise layers"] != "0"]
    slower = [row["beats of CONV for one of POOL"] for row in depthwise]
    saved = max((row["less"] for row in depthwise), key=_share, default="0%")
    layout = max(rows, key=lambda row: _share(row["at most less by layout"]))
    return (
        f"CONV takes {min(slower, default='no')} to {max(slower, default='no')} times POOL's beats for depthwise layers, which "
        f"saves at most {saved} of the stretches' cycles in any of {len(depthwise)} rows. Another layout of maps could save at "
        f"most {layout['at most less by layout']} of a program's cycles ({layout['network']} on `{layout['configuration']}`)."
    )


def _share(cell: str) -> float:
    return float(cell.rstrip("%"))


def main() -> None:
    parser = command("scheme_limits", __doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--config", nargs="+", default=["base", "zu2", "zu9", "nano"], choices=PRESETS)
    arguments = parser.parse_intermixed_args()
    for name in known(arguments.networks, sources(), parser) or NETWORKS:
        for config in arguments.config:
            row = row_of(name, config)
            put_row(TITLE, COLUMNS, row, 2, PAGE)
            put_text(TITLE, told(), PAGE)
            print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
