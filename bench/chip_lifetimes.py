"""What words shared on chip save (Deep Fusion's figures 4 and 5), and what they could at best.

``python -m bench.chip_lifetimes [--parts] [network ...] [--kib 64 128 256] [--batch 1]`` puts rows into docs/results/memory.md.

DRAM bytes of ``dnnvm`` and ``best`` on the machines of ``bench.strategies dram``: as they are; of ``best`` with every map in
words of its own; and with a placement that no real one can better: where layers run one after the other within a step, a map
takes its whole ring only from the layer that makes it to the last that reads it, what is loaded comes when it is first read,
and in between only the rows that the next step still needs are kept; what a layer makes lies over what it is the last to read,
as far as there are bytes of both; any set of such maps fits whose words at each time are no more than there are. ``--parts``:
instead, what the bytes of ``best`` are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from bench.command import command
from bench.network_table import MEMORY as PAGE
from bench.network_table import put_row
from bench.strategies import CONVOLUTIONS, convolutions, fitting, imported, small_machine, timed
from compiler.layers.placed import Placed
from compiler.planning import candidates
from compiler.planning.objective import OBJECTIVES
from compiler.planning.operations import Group
from compiler.planning.plan import Plan
from compiler.planning.plan_partition import plans_of
from compiler.planning.presence import presences
from compiler.planning.ranges import Ranges
from compiler.planning.residence import PARAMETER_BUFFERS
from compiler.planning.tenancy import tenancies
from compiler.search.cost import Evaluator
from compiler.xgraph.graph import XGraph
from isa.config import MachineConfig

NETWORKS = ("alexnet/convolutions", "googlenet", "mobilenet_v2", "resnet18", "resnet50", "resnet152", "squeezenet",
    "vgg16/convolutions")  # fmt: skip


def at_best(
    config: MachineConfig, group: Group, ranges: Ranges, skew: Mapping[str, int], upwards: bool, held: Collection[str]
) -> tuple[dict[str, Placed], frozenset[str]] | None:
    """A placement with any places, if no layer runs behind and the words suffice at each time."""
    if any(skew.values()):
        return None
    last = len(group.layers) - 1
    own = tenancies(config, group)
    found = presences(group, ranges, own, held)
    words = [(present.end - present.begin).reshape(ranges.steps, last + 1) * (tenancy.pitch * tenancy.vectors)
             for tenancy, present in zip(own, found, strict=True)]  # fmt: skip
    for now, layer in enumerate(group.layers):
        begun, ended = np.zeros(ranges.steps), np.zeros(ranges.steps)
        for each, present, tenancy in zip(words, found, own, strict=True):
            if any(name == layer.output for name, *_ in tenancy.planes):
                begun += each[:, now] if present.first == now else 0
            elif present.last == now:
                # The words that the next step still reads are not freed.
                ended += each[:, now] - (each[:, now + 1] if now < last else np.append(each[1:, 0], 0.0))
        over = np.minimum(begun, ended)
        if (np.sum([each[:, now] for each in words], axis=0) - over).max() > config.fm_words:
            return None
    return {
        name: Placed(0, tenancy.pitch, present.most, group.tensors[name].height, group.width(name), planes)
        for tenancy, present in zip(own, found, strict=True) for name, _, planes in tenancy.planes
    }, frozenset()  # fmt: skip


def apart(*_: object) -> None:
    """A placement that finds no words to share."""


@contextmanager
def sharing(how: Callable[..., object]) -> Iterator[None]:
    with patch.object(candidates, "place_shared", how):
        yield


def moved(graph: XGraph, config: MachineConfig, strategy: str) -> int:
    return timed(strategy, Evaluator(config, graph), "dram")[0].value


def row(name: str, kib: int, batch: int) -> None:
    whole = imported(name.removesuffix(CONVOLUTIONS), batch)
    config = small_machine(kib)
    graph, _ = fitting(convolutions(whole) if name.endswith(CONVOLUTIONS) else whole, config)
    dnnvm, best = (moved(graph, config, strategy) for strategy in ("dnnvm", "best"))
    with sharing(apart):
        before = moved(graph, config, "best")
    with sharing(at_best):
        bound = moved(graph, config, "best")
    columns = ("KiB", "batch", "network", "dnnvm MB", "best, no words shared MB", "best MB", "saved", "best below dnnvm",
        "shared at best MB", "shared at best below dnnvm")  # fmt: skip
    cells = (
        kib, batch, name, f"{dnnvm / 1e6:.3f}", f"{before / 1e6:.3f}", f"{best / 1e6:.3f}", f"{1 - best / before:.1%}",
        f"{1 - best / dnnvm:.1%}", f"{bound / 1e6:.3f}", f"{1 - bound / dnnvm:.1%}",
    )  # fmt: skip
    print(" | ".join(map(str, cells)), flush=True)
    put_row("Words shared on chip", columns, [str(cell) for cell in cells], 3, PAGE)


def part_row(name: str, kib: int, batch: int) -> None:
    """Prints the bytes of maps and parameters once for each group, and those that are loaded again."""
    config = small_machine(kib)
    whole = imported(name.removesuffix(CONVOLUTIONS), batch)
    graph, _ = fitting(convolutions(whole) if name.endswith(CONVOLUTIONS) else whole, config)
    partition, _ = timed("best", Evaluator(config, graph), "dram")
    depth = {buffer: config.buffer_depth(buffer.name) for buffer in PARAMETER_BUFFERS}
    maps = parameters = reloaded = total = fused = 0
    for step in plans_of(config, graph, partition.groups, OBJECTIVES["dram"]):
        if isinstance(step, Plan):
            group = step.group
            maps += sum(group.tensors[each].bytes for each in (*group.inputs, *group.outputs))
            parameters += sum(block.bytes(config) for layer in group.layers for block in layer.blocks(depth))
            reloaded += step.reloaded
            total += step.cost.dram_bytes
            fused += len(group.layers) > 1
    columns = ("KiB", "batch", "network", "groups", "of several operations", "MB", "maps once", "parameters once",
        "parameters again", "inputs again")  # fmt: skip
    sizes = (total, maps, parameters, reloaded, total - maps - parameters - reloaded)
    cells = (kib, batch, name, len(partition.groups), fused, *(f"{size / 1e6:.3f}" for size in sizes))
    print(" | ".join(map(str, cells)), flush=True)
    put_row("Bytes that fusion leaves", columns, [str(cell) for cell in cells], 3, PAGE)


def main() -> None:
    parser = command("chip_lifetimes", __doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--kib", nargs="+", type=int, default=(64, 128, 256))
    parser.add_argument("--batch", nargs="+", type=int, default=(1,))
    asked = parser.parse_args()
    for name in asked.networks:
        for kib in asked.kib:
            for batch in asked.batch:
                (part_row if asked.parts else row)(name, kib, batch)


if __name__ == "__main__":
    main()
