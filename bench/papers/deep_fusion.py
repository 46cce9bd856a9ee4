"""Deep Fusion: how many bytes and how much time its loop saves, with and without reuse of memory on chip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bench.deep_fusion import KIB
from bench.papers.table import Table
from bench.strategies import fitting, imported, small_machine, timed
from compiler.planning.grouping import machine_ops
from compiler.planning.objective import DRAM
from compiler.planning.plan_partition import plans_of
from compiler.programs.timing import program_cycles
from compiler.search.cost import Evaluator
from compiler.xgraph.ops import Conv, Eltwise, Pool

NETWORKS = ("resnet18", "googlenet")
STRATEGIES = ("fuse-and-shrink", "best")
Rows = Iterator[tuple[str, ...]]


def tables(networks: Sequence[str]) -> Iterator[Table]:
    yield Table(
        "Table 1: where operations and bytes are, layer by layer", ("network", "kind", "operations", "bytes"), _kinds(networks),
        "The paper's ResNet-18: convolutions 99.55% and 45.59%, normalisation, scales and ReLU 0.36% and 43.61%, pools 0.05% "
        "and 2.92%, sums 0.02% and 6.41%. Here normalisation is part of a convolution.",
    )  # fmt: skip
    yield Table(
        "Figures 8 and 9: beside one operation to a group",
        ("network", *(f"{name} saves" for name in STRATEGIES), *(f"{name}, times as fast" for name in STRATEGIES)),
        _savings(networks),
        "The paper: more than 15% of the bytes in all five networks, 56% of ResNet-50's; 1.26 times (VGG-19) to 2.62 times "
        "(ResNet-50) as fast; 32% and 1.6 times on average, 5% of it by reuse of memory on chip.",
    )


def _savings(networks: Sequence[str]) -> Rows:
    """The savings on a machine whose bytes are equally scarce (``bench/deep_fusion.py``)."""
    config = replace(small_machine(KIB), axi_data_bits=64)
    for name in networks:
        graph, _ = fitting(imported(name), config)
        moved, cycles = {}, {}
        for strategy in ("naive", *STRATEGIES):
            partition, _ = timed(strategy, Evaluator(config, graph), "dram")
            moved[strategy] = partition.value
            cycles[strategy] = program_cycles(config, graph, plans_of(config, graph, partition.groups, DRAM))
        yield (
            name, *(f"{1 - moved[each] / moved['naive']:.1%}" for each in STRATEGIES),
            *(f"{cycles['naive'] / cycles[each]:.2f}" for each in STRATEGIES),
        )  # fmt: skip


def _kinds(networks: Sequence[str]) -> Rows:
    for name in networks:
        graph = imported(name)
        work: dict[str, int] = {}
        moved: dict[str, int] = {}
        for op in machine_ops(graph):
            kind = next((kind.__name__ for kind in (Conv, Pool, Eltwise) if isinstance(op, kind)), "others")
            target = graph.tensors[op.output].bytes
            taken = op.weights[0].size if isinstance(op, Conv) else op.window.kernel[0] ** 2 if isinstance(op, Pool) else 1
            work[kind] = work.get(kind, 0) + target * taken
            read = sum(graph.tensors[source].bytes for source in op.inputs)
            moved[kind] = moved.get(kind, 0) + target + read + (op.weights.size if isinstance(op, Conv) else 0)
        for kind, count in work.items():
            yield name, kind, f"{count / sum(work.values()):.2%}", f"{moved[kind] / sum(moved.values()):.2%}"
