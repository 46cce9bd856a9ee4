"""Deep Fusion's loop beside ours: ``python -m bench.deep_fusion [network ...]``, as a table in docs/results/papers.md.

DRAM bytes and cycles, by the cycle model, of one operation to a group, of ``fuse-and-shrink`` and of ``best`` for bytes, on a
machine of 768 KiB of buffers that moves eight bytes in a cycle, as near as this one comes to Deep Fusion's: 200 GFLOPS beside
1.5 GB/s are 133 operations to a byte, here 64.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

from bench.command import command
from bench.figures import number, paragraph
from bench.network_table import PAPERS as PAGE
from bench.network_table import put_row, put_text, rows_of
from bench.strategies import fitting, imported, small_machine, timed
from compiler.planning.objective import OBJECTIVES
from compiler.planning.plan_partition import plans_of
from compiler.programs.timing import program_cycles
from compiler.search.cost import Evaluator

TITLE = "Fuse and shrink"
NETWORKS = ("vgg19", "googlenet", "resnet18", "resnet50")
KIB = 768
COMPARED = ("naive", "fuse-and-shrink", "best")


def row(name: str) -> None:
    config = replace(small_machine(KIB), axi_data_bits=64)
    graph, left_out = fitting(imported(name), config)
    found: dict[str, tuple[int, int]] = {}
    for strategy in COMPARED:
        partition, _ = timed(strategy, Evaluator(config, graph), "dram")
        steps = plans_of(config, graph, partition.groups, OBJECTIVES["dram"])
        found[strategy] = partition.value, program_cycles(config, graph, steps)
    bytes_before, cycles_before = found["naive"]
    cells = [
        name,
        *(f"{found[s][0] / 1e6:.3f}" for s in COMPARED),
        *(f"{1 - found[s][0] / bytes_before:.1%}" for s in COMPARED[1:]),
        *(str(found[s][1]) for s in COMPARED),
        *(f"{cycles_before / found[s][1]:.2f}" for s in COMPARED[1:]),
        ", ".join(left_out),
    ]
    columns = ("network", *(f"{s} MB" for s in COMPARED), *(f"{s} saves" for s in COMPARED[1:]),
        *(f"{s} cycles" for s in COMPARED), *(f"{s} faster" for s in COMPARED[1:]), "left out")  # fmt: skip
    print(" | ".join(cells), flush=True)
    put_row(TITLE, columns, cells, 1, PAGE)
    put_text(TITLE, told(), PAGE)


def told() -> str:
    """The sentences about the table beside the paper's figures."""
    rows = rows_of(TITLE, PAGE)
    said = []
    for strategy in COMPARED[1:]:
        saved, faster = ([number(row[f"{strategy} {what}"]) for row in rows] for what in ("saves", "faster"))
        said.append(
            f"On average of {len(rows)} networks, beside one operation to a group, `{strategy}` saves {mean(saved):.1f}% "
            f"(at most {max(saved):.1f}%) and is {mean(faster):.2f} times as fast (at most {max(faster):.2f})."
        )
    return paragraph(*said)


def main() -> None:
    parser = command("deep_fusion", __doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    for name in parser.parse_args().networks:
        row(name)


if __name__ == "__main__":
    main()
