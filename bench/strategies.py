"""Strategies side by side, as tables in docs/results/cycles.md and dram.md; ``bench/compared.py`` says what rows compare.

    python -m bench.strategies cycles [network ...] [--config base]                       DNNVM's table 3
    python -m bench.strategies dram [network ...] [--kib 64 128 256 512 1024 2048] [--batch 1 4]
                                                    Optimus' figures 14 and 16, and its table 5

``cycles``: whole programs on the cycle model. ``dram``: bytes of all groups, on a machine of 16 x 16 multipliers whose
buffers take the given KiB together; times are of one process, cold, each strategy by itself. If no network is named, those of
the papers. ``vgg16/convolutions`` is ``vgg16`` without its dense layers, and so for every network.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence

from bench import compared
from bench.command import command
from bench.network_table import CYCLES, DRAM, put_row, put_text
from compiler.frontend.pipeline import import_model
from compiler.fusion.legal import OpSets
from compiler.fusion.templates import template_groups
from compiler.planning.plan_partition import plans_of
from compiler.programs.fastest import fastest
from compiler.programs.program_schemes import in_schemes
from compiler.programs.timing import program_cycles
from compiler.quantise.statistics import CalibrationWarning
from compiler.search.cost import OBJECTIVES, Evaluator
from compiler.search.partition import Partition
from compiler.search.strategies import STRATEGIES
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Conv
from compiler.zoo.macs import multiply_accumulates
from compiler.zoo.networks import networks
from isa.config import MachineConfig, config_from_dict, preset

LISTED = {
    "cycles": ("vgg16_convolutions", "resnet50_v1", "resnet152_v1", "googlenet", "squeezenet", "mobilenet_v2"),
    "dram": (
        "alexnet", "alexnet/convolutions", "vgg16", "vgg16/convolutions", "googlenet", "squeezenet", "mobilenet_v1",
        "mobilenet_v2", "resnet18", "resnet50", "resnet152", "nasnet_a",
    ),
}  # fmt: skip
"""The networks of DNNVM's and of Optimus' tables."""
TILED = ("dnnvm", "optimus")
"""The strategies that are also weighed with the tiles of their papers."""
CONVOLUTIONS = "/convolutions"
PAPER_MS = {"vgg16": "0.48", "resnet50": "2.73", "resnet152": "5.01", "googlenet": "27.89", "squeezenet": "2.19",
    "nasnet_a": "8713"}  # fmt: skip
"""The milliseconds of Optimus' table 5, bottom-up."""
PAPER_GROUPS = {"vgg16": "180", "resnet50": "1019", "resnet152": "4671", "googlenet": "4235", "squeezenet": "716",
    "nasnet_a": "2.9e7"}  # fmt: skip


def imported(name: str, batch: int = 1) -> XGraph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return import_model(networks()[name](batch=batch)).graph


def timed(name: str, evaluator: Evaluator, objective: str) -> tuple[Partition, float]:
    since = time.process_time()
    partition = STRATEGIES[name](evaluator.graph, evaluator, OBJECTIVES[objective])
    return partition, time.process_time() - since


def small_machine(kib: int) -> MachineConfig:
    """The machine of Optimus' table 2 as near as this project comes: half the room for maps, 3/8 for weights, 1/16 for
    accumulators."""
    share = kib / 128
    return config_from_dict(
        {
            "base": "base", "name": f"{kib}_KiB", "px_p": 1, "conv_finish": 16, "pool_finish": 16, "pool_taps": 1,
            "fm_banks": round(8 * share), "fm_depth": 512,
            "weight_depth": round(192 * share), "param_depth": 32, "taps_depth": 64, "pool_param_depth": 16,
            "acc_depth": round(128 * share),
        },
        origin="bench",
    )  # fmt: skip


def fitting(graph: XGraph, config: MachineConfig) -> tuple[XGraph, list[str]]:
    """The graph without the operations that fit nowhere on a small machine and all after them, and the names of these."""
    evaluator = Evaluator(config, graph)
    ops = evaluator.sets.ops
    names = [op.name for n, op in enumerate(ops) if evaluator.cost_of(1 << n, OBJECTIVES["dram"]) is None]
    return (without(graph, names) if names else graph), names


def convolutions(graph: XGraph) -> XGraph:
    """The graph without the dense layers and all after them."""
    dense = [op.name for op in graph.ops if isinstance(op, Conv) and graph.tensors[op.inputs[0]].shape[1:3] == (1, 1)]
    return without(graph, dense)


def without(graph: XGraph, names: Sequence[str]) -> XGraph:
    gone: set[str] = set()
    kept = []
    for op in graph.ops:
        if op.name in names or any(name in gone for name in op.inputs):
            gone.update(op.outputs)
        else:
            kept.append(op)
    read = {name for op in kept for name in op.inputs}
    outputs = tuple(name for op in kept for name in op.outputs if name not in read or name in graph.outputs)
    used = {name for op in kept for name in (*op.inputs, *op.outputs)}
    tensors = {name: tensor for name, tensor in graph.tensors.items() if name in used}
    return XGraph(graph.name, tensors, tuple(kept), graph.inputs, outputs)


def cycles_row(name: str, config: MachineConfig) -> None:
    graph = imported(name)
    sets = OpSets(graph)
    since = time.process_time()
    embeddings = len(template_groups(sets))
    isomorphism = time.process_time() - since
    work = 2 * multiply_accumulates(networks()[name]())
    cycles = []
    for strategy in compared.TIMED[:-1]:
        partition, _ = timed(strategy, Evaluator(config, graph), "cycles")
        cycles.append(program_cycles(config, graph, plans_of(config, graph, partition.groups)))
    evaluator = Evaluator(config, graph)
    _, search = timed("best", evaluator, "cycles")
    since = time.process_time()
    alone = Evaluator(config, graph)
    cycles.append(program_cycles(config, graph, in_schemes(alone, fastest(alone))))
    final = time.process_time() - since
    measured = [config.name, name, str(len(sets.ops)), str(embeddings), f"{1000 * isomorphism:.1f}", str(evaluator.evaluated),
        f"{search:.2f}", f"{final:.1f}"]  # fmt: skip
    for row in compared.cycles_rows(measured, cycles, [work * config.clock_mhz / each / 1000 for each in cycles]):
        put_row(compared.CYCLES, compared.CYCLES_COLUMNS, row, 3, CYCLES)
        print(" | ".join(row), flush=True)


def dram_row(name: str, whole: XGraph, kib: int, batch: int) -> None:
    config = small_machine(kib)
    graph, left_out = fitting(whole, config)
    found, seconds, planned = {}, {}, {}
    for strategy in compared.SHOWN:
        evaluator = Evaluator(config, graph)
        found[strategy], seconds[strategy] = timed(strategy, evaluator, "dram")
        planned[strategy] = evaluator.evaluated
    tiled = {name: timed(name, Evaluator(config, graph, rows_only=True), "dram")[0].value for name in TILED}
    oracle = evaluator.floors.of(evaluator.sets.everything, OBJECTIVES["dram"])
    best, moved = found["best"], [found[strategy].value for strategy in compared.SHOWN]
    exact = "yes" if best.exact else "no"
    for row in compared.dram_rows([str(kib), str(batch), name], moved, tiled, oracle, exact, ", ".join(left_out)):
        put_row(compared.DRAM, compared.DRAM_COLUMNS, row, 4, DRAM)
        print(" | ".join(row), flush=True)
    if (kib, batch) == (128, 1):
        columns = ("network", "operations", "groups planned, optimus", "optimus s", "groups planned, online", "online s",
            "groups planned, best", "best s", compared.EXACT, compared.GAP, "paper: groups", "paper: ms")  # fmt: skip
        row = [name, str(len(evaluator.sets.ops))]
        for strategy in ("optimus", "optimus-online", "best"):
            row += [str(planned[strategy]), f"{seconds[strategy]:.2f}"]
        row += [exact, f"{best.gap:.1%}", PAPER_GROUPS.get(name, ""), PAPER_MS.get(name, "")]
        put_row(compared.SEARCH_TIME, columns, row, 1, DRAM)


def main() -> None:
    parser = command("strategies", __doc__)
    parser.add_argument("table", choices=("cycles", "dram"))
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--config", default="base")
    parser.add_argument("--kib", type=int, nargs="+", default=[128])
    parser.add_argument("--batch", type=int, nargs="+", default=[1])
    arguments = parser.parse_intermixed_args()
    for name in arguments.networks or LISTED[arguments.table]:
        if arguments.table == "cycles":
            cycles_row(name, preset(arguments.config))
            put_text(compared.CYCLES, compared.cycles_told(), CYCLES)
            continue
        for batch in arguments.batch:
            graph = imported(name.removesuffix(CONVOLUTIONS), batch)
            if name.endswith(CONVOLUTIONS):
                graph = convolutions(graph)
            for kib in arguments.kib:
                dram_row(name, graph, kib, batch)
        put_text(compared.DRAM, compared.dram_told(), DRAM)
        put_text(compared.SEARCH_TIME, compared.search_told(), DRAM)


if __name__ == "__main__":
    main()
