"""Random small graphs, and all their partitions by plain enumeration."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache

from compiler.fusion.legal import Mask, OpSets
from compiler.memory.storage import VIEW_OPS
from compiler.search.cost import Evaluator
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, EltwiseKind, Op, PoolKind, Reshape
from isa.config import MachineConfig, config_from_dict
from tests.compiler.graphs import Builder


def random_graph(seed: int, most: int = 7) -> XGraph:
    """Convolutions, pools, sums, an occasional view, and concats that a convolution reads, on maps of one size.

    Everything that nobody reads is an output.
    """
    rng = random.Random(seed)
    b = Builder(seed)
    maps = [b.input(6, 6, 8), b.input(6, 6, 8)][: rng.randint(1, 2)]
    count = rng.randint(3, most)
    for number in range(count):
        recent = maps[-3:]
        kind = rng.choice(["conv", "conv", "point", "add", "add", "pool", "view", "join"])
        if len(b.ops) + (4 if kind == "join" else 1) > count:
            continue
        if kind == "add" and len(recent) > 1:
            left, right = rng.sample(recent, 2)
            maps.append(b.eltwise(EltwiseKind.ADD, left, right))
        elif kind == "join":
            parts = tuple(b.conv(source, rng.choice([3, 5, 8]), (1, 1)) for source in rng.choices(recent, k=2))
            channels = sum(b.tensors[part].channels for part in parts)
            maps.append(b.conv(b.view(Concat, f"join{number}", parts, (1, 6, 6, channels)), 8))
        elif kind == "pool":
            maps.append(b.pool(rng.choice(recent), PoolKind.MAX, 3, 1, 1))
        elif kind == "view" and number:
            maps.append(b.view(Reshape, f"view{number}", (rng.choice([b.ops[-1].output, recent[0]]),), (1, 6, 6, 8)))
        else:
            maps.append(b.conv(rng.choice(recent), 8, (1, 1) if kind == "point" else (3, 3)))
    read = {name for op in b.ops for name in op.inputs}
    outputs = [op.output for op in b.ops if op.output not in read]
    used = [name for name in b.inputs if name in read]
    tensors = {name: tensor for name, tensor in b.tensors.items() if name in used or name not in b.inputs}
    return XGraph("random", tensors, tuple(b.ops), tuple(used), tuple(outputs))


def small() -> MachineConfig:
    """Many groups of the random graphs do not fit."""
    return config_from_dict({"base": "nano", "name": "small", "weight_depth": 48, "fm_depth": 16}, origin="test")


@cache
def evaluator(seed: int) -> Evaluator:
    """Of a random graph, whose groups it remembers."""
    return Evaluator(small(), random_graph(seed))


def all_groups(sets: OpSets, joins: Sequence[Mask]) -> list[Mask]:
    """By definition: every set that is connected, convex, and not across views."""
    return [
        mask for mask in range(1, sets.everything + 1)
        if sets.connected(mask, joins) and sets.convex(mask) and sets.together(mask)
    ]  # fmt: skip


def all_partitions(sets: OpSets, groups: Sequence[Mask], left: Mask | None = None) -> Iterator[list[Mask]]:
    """Also those that cannot run."""
    left = sets.everything if left is None else left
    if not left:
        yield []
        return
    for group in groups:
        if group & (left & -left) and group & left == group:
            for rest in all_partitions(sets, groups, left & ~group):
                yield [group, *rest]


def runs(graph: XGraph, partition: Sequence[Sequence[Op]]) -> bool:
    """Every group in turn finds what it reads, and every operation that a unit executes is in one group."""
    views = {op.output: op.inputs for op in graph.ops if isinstance(op, VIEW_OPS)}
    made = set(graph.inputs)

    def there(name: str) -> bool:
        return all(there(part) for part in views[name]) if name in views else name in made

    for group in partition:
        for op in group:
            if not all(there(name) for name in op.inputs):
                return False
            made.add(op.output)
    executed = [op for group in partition for op in group]
    return len(executed) == len(set(executed)) and set(executed) == {op for op in graph.ops if not isinstance(op, VIEW_OPS)}
