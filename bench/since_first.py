"""What a program on ``zu9`` takes since the first edition: ``python -m bench.since_first [network ...]``.

The preset has fewer finishing lanes and sums since two of it fit their chip, so that its cycles alone do not say what the
compiler gained. Beside them stand those of a machine with the first edition's banks and sums, and with all lanes that there can
be. Cycles are the cycle model's, of strategy ``best``; rows go into docs/search.md.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from statistics import mean

from bench.network_table import SEARCH as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.networks import imported, sources
from compiler.driver import compile_graph
from compiler.zoo.exports import exports
from isa.config import MachineConfig, preset
from tilewright.api import estimated_cycles

FIRST = {
    "googlenet": 1_016_572,
    "mobilenet_v2": 366_245,
    "resnet152_v1": 6_489_721,
    "resnet50_v1": 2_703_009,
    "squeezenet": 255_638,
    "vgg16_convolutions": 7_620_191,
}
"""Cycles of the first edition's best programs (revision e05b859, docs/search.md)."""
TITLE = "Since the first edition"
NOW, AS_FIRST = "zu9: cycles", "banks, sums and lanes as then: cycles"
COLUMNS = ("network", "first edition: cycles", AS_FIRST, "beside the first", NOW, "beside the first")


def row_of(name: str) -> list[str]:
    graph = imported({**exports(), **sources()}[name](), "power_of_two")
    cells = [name, f"{FIRST[name]:,}"]
    for config in (as_first(), preset("zu9")):
        cycles = estimated_cycles(compile_graph(graph, config).program)
        cells += [f"{cycles:,}", f"{cycles / FIRST[name] - 1:+.2%}"]
    return cells


def as_first() -> MachineConfig:
    """Banks and sums of the first edition, and as many lanes as there can be; windows take a tap in a cycle, as they did."""
    return replace(
        preset("zu9"), name="zu9_first", chip="", chip_cores=1, fm_banks=48, fm_depth=512, acc_depth=64,
        conv_finish=64, pool_finish=32, misc_lanes=32, pool_taps=1,
    )  # fmt: skip


def told() -> str:
    """The sentence about the table."""
    rows = rows_of(TITLE, PAGE)
    means = [mean(_cycles(row[column]) / _cycles(row[COLUMNS[1]]) for row in rows) - 1 for column in (AS_FIRST, NOW)]
    return (
        f"In the mean of {len(rows)} networks programs take {means[0]:+.2%} with banks, sums and lanes as then, and "
        f"{means[1]:+.2%} on the preset, which has fewer lanes and sums."
    )


def _cycles(cell: str) -> int:
    return int(cell.replace(",", ""))


def main(names: list[str]) -> None:
    for name in names or FIRST:
        row = row_of(name)
        put_row(TITLE, COLUMNS, row, 1, PAGE)
        put_text(TITLE, told(), PAGE)
        print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
