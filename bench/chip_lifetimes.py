"""What words shared on chip could save at best (Deep Fusion's figures 4 and 5), as a table in docs/memory.md.

``python -m bench.chip_lifetimes [--parts] [network ...] [--kib 64 128 256] [--batch 1]``

DRAM bytes of ``dnnvm`` and ``best`` on the machines of ``bench.strategies dram``, each as it is, and with a placement that no
real one can better: where layers run one after the other within a step, a map takes its whole ring only from the layer that
makes it to the last that reads it, what is loaded comes when it is first read, and in between only the rows that the next step
still needs are kept; what a layer makes lies over what it is the last to read, as far as there are bytes of both; any set of
such maps fits whose words at each time are no more than there are. ``--parts``: instead, what the bytes of ``best`` are.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from bench.network_table import put_row
from bench.strategies import CONVOLUTIONS, convolutions, fitting, imported, small_machine, timed
from compiler.layers.placed import Placed
from compiler.planning import planner
from compiler.planning.objective import OBJECTIVES
from compiler.planning.operations import Group
from compiler.planning.placement import place
from compiler.planning.plan import Plan
from compiler.planning.plans import plans_of
from compiler.planning.ranges import Ranges
from compiler.planning.residence import PARAMETER_BUFFERS
from compiler.planning.room import Room
from compiler.planning.tenancy import Tenancy, tenancies
from compiler.search.cost import Evaluator
from compiler.xgraph.graph import XGraph
from isa.config import MachineConfig

PAGE = Path(__file__).parents[1] / "docs" / "memory.md"
NETWORKS = ("alexnet/convolutions", "googlenet", "mobilenet_v2", "resnet18", "resnet50", "resnet152", "squeezenet",
    "vgg16/convolutions")  # fmt: skip
COMPARED = ("dnnvm", "best")


def at_best(
    config: MachineConfig, group: Group, ranges: Ranges, skew: Mapping[str, int], upwards: bool, held: Collection[str] = ()
) -> dict[str, Placed] | None:
    """The real places; where there are none, and no layer runs behind, any if the words suffice at each time."""
    found = place(config, group, ranges, skew, upwards, held)
    if found is not None or any(skew.values()):
        return found
    own = [(tenancy, *_rings(group, ranges, tenancy, held)) for tenancy in tenancies(config, group)]
    for now in range(len(group.layers)):
        rows = [ring if first <= now <= last else carried for _, ring, carried, first, last in own]
        words = sum(t.pitch * t.vectors * count for (t, *_), count in zip(own, rows, strict=True))
        born = ended = 0
        for t, ring, carried, first, last in own:
            if any(name == group.layers[now].output for name, *_ in t.planes):
                born += t.pitch * t.vectors * ring if first == now else 0
            elif last == now:
                ended += t.pitch * t.vectors * (ring - carried)
        if words - min(born, ended) > config.fm_words:
            return None
    return {
        name: Placed(0, tenancy.pitch, ring, group.tensors[name].height, group.width(name), planes)
        for tenancy, ring, *_ in own for name, _, planes in tenancy.planes
    }  # fmt: skip


def _rings(group: Group, ranges: Ranges, tenancy: Tenancy, held: Collection[str]) -> tuple[int, int, int, int]:
    """Rows of the ring, rows that the next step needs, and the first and the last layer of a step that touch it."""
    height = group.tensors[tenancy.planes[0][0]].height
    last = len(group.layers) - 1
    if tenancy.lives[0].first in held:
        return height, height, 0, last
    place_of = {layer.output: number for number, layer in enumerate(group.layers)}
    ring, carried = tenancy.least_ring, 0
    touching: list[int] = []
    for life in tenancy.lives:
        ring = max(ring, ranges.rows_kept(life.first, life.last, 0))
        made, kept = ranges.end[life.first].tolist(), ranges.begin[life.last].tolist()
        carried = max([carried, *(end - begin for end, begin in zip(made, kept[1:], strict=False))])
        touching += [place_of[name] for name in (life.maker, *life.readers) if name in place_of]
    ring = min(ring, height)
    return ring, min(ring, carried), min(touching, default=0), max(touching, default=last)


@contextmanager
def words_shared_at_best() -> Iterator[None]:
    with patch.object(planner, "place", at_best), patch.object(Room, "may_hold", lambda room, steps: True):
        yield


def moved(graph: XGraph, config: MachineConfig, strategy: str) -> int:
    return timed(strategy, Evaluator(config, graph), "dram")[0].value


def row(name: str, kib: int, batch: int) -> None:
    whole = imported(name.removesuffix(CONVOLUTIONS), batch)
    config = small_machine(kib)
    graph, _ = fitting(convolutions(whole) if name.endswith(CONVOLUTIONS) else whole, config)
    real = {strategy: moved(graph, config, strategy) for strategy in COMPARED}
    with words_shared_at_best():
        ideal = {strategy: moved(graph, config, strategy) for strategy in COMPARED}
    columns = ("KiB", "batch", "network", "dnnvm MB", "best MB", "best, shared at best MB", "saved at best", "best below dnnvm",
        "with sharing at best")  # fmt: skip
    cells = (
        kib, batch, name, f"{real['dnnvm'] / 1e6:.3f}", f"{real['best'] / 1e6:.3f}", f"{ideal['best'] / 1e6:.3f}",
        f"{1 - ideal['best'] / real['best']:.1%}", f"{1 - real['best'] / real['dnnvm']:.1%}",
        f"{1 - ideal['best'] / real['dnnvm']:.1%}",
    )  # fmt: skip
    print(" | ".join(map(str, cells)), flush=True)
    put_row("Words shared on chip", columns, [str(cell) for cell in cells], 3, PAGE)


def part_row(name: str, kib: int, batch: int) -> None:
    """Maps and parameters once for each group, and what of them is loaded again."""
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
    parser = argparse.ArgumentParser(description=__doc__)
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
