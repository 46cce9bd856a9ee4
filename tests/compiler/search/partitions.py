"""Random small graphs, and all their partitions by plain enumeration."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from compiler.fusion.legal import Mask, OpSets
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import EltwiseKind, Op, PoolKind, Reshape
from tests.compiler.graphs import Builder


def random_graph(seed: int, most: int = 7) -> XGraph:
    """Convolutions, pools, sums and an occasional view on maps of one size; everything that nobody reads is an output."""
    rng = random.Random(seed)
    b = Builder(seed)
    maps = [b.input(6, 6, 8), b.input(6, 6, 8)][: rng.randint(1, 2)]
    for number in range(rng.randint(3, most)):
        recent = maps[-3:]
        kind = rng.choice(["conv", "conv", "point", "add", "add", "pool", "view"])
        if kind == "add" and len(recent) > 1:
            left, right = rng.sample(recent, 2)
            maps.append(b.eltwise(EltwiseKind.ADD, left, right))
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
    views = {op.output: op.inputs[0] for op in graph.ops if isinstance(op, Reshape)}
    made = set(graph.inputs)
    for group in partition:
        for op in group:
            for name in op.inputs:
                while name in views:
                    name = views[name]
                if name not in made:
                    return False
            made.add(op.output)
    executed = [op for group in partition for op in group]
    return len(executed) == len(set(executed)) and set(executed) == {op for op in graph.ops if not isinstance(op, Reshape)}
