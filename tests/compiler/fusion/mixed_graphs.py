"""Random small graphs of machine operations, views, concats and CPU parts, and their relations by walking the graph."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import networkx

from compiler.memory.storage import VIEW_OPS
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, Cpu, EltwiseKind, Op, PoolKind, Reshape
from tests.compiler.graphs import Builder

SHAPE = (1, 4, 4, 4)


def mixed_graph(seed: int, count: int = 9) -> tuple[XGraph, dict[str, tuple[str, ...]]]:
    """A graph, and those of its concats that are put together on chip, with their parts."""
    rng = random.Random(seed)
    b = Builder(seed)
    maps = [b.input(4, 4, 4), b.input(4, 4, 4)]
    on_host: list[str] = []
    joined: dict[str, tuple[str, ...]] = {}
    for number in range(count):
        source, other = rng.choices(maps[-4:], k=2)
        kind = rng.choice(["conv", "conv", "conv", "pool", "add", "add", "view", "cpu", "concat", "join"])
        if kind == "pool":
            maps.append(b.pool(source, PoolKind.MAX, 3, 1, 1))
        elif kind == "add":
            maps.append(b.eltwise(EltwiseKind.ADD, source, other))
        elif kind == "view":
            maps.append(b.view(Reshape, f"view{number}", (source,), SHAPE))
        elif kind == "cpu":
            reads = tuple(rng.sample(on_host, rng.randint(0, min(1, len(on_host)))))
            on_host.append(f"float{number}")
            maps.append(
                b.view(
                    Cpu, f"cpu{number}", (source,), SHAPE, model=b"", reasons={}, onnx_inputs=reads, onnx_outputs=(on_host[-1],)
                )
            )
        elif kind == "concat":
            whole = b.view(Concat, f"concat{number}", (source, other), (1, 4, 4, 8))
            maps.append(b.conv(whole, 4, (1, 1)))
        elif kind == "join":
            parts = (b.conv(source, 4, (1, 1)), b.conv(other, 4, (1, 1)))
            whole = b.view(Concat, f"join{number}", parts, (1, 4, 4, 8))
            joined[whole] = parts
            maps.append(b.conv(whole, 4, (1, 1)))
            maps.append(rng.choice(parts))
        else:
            maps.append(b.conv(source, 4))
    read = {name for op in b.ops for name in op.inputs}
    unread = [op.output for op in b.ops if op.output not in read]
    return b.graph(*dict.fromkeys([*unread, rng.choice(maps[2:])])), joined


class Walked:
    """What ``OpSets`` says, told from the definitions; operations are numbered as they come."""

    def __init__(self, graph: XGraph, joined: Mapping[str, Sequence[str]]) -> None:
        self.graph, self.joined = graph, joined
        self.ops = [op for op in graph.ops if not isinstance(op, (*VIEW_OPS, Cpu))]
        self.flow: networkx.DiGraph = networkx.DiGraph()
        self.flow.add_nodes_from(range(len(self.ops)))
        self.flow.add_edges_from((a, b) for b, op in enumerate(self.ops) for a in self.sources(op))

    def number(self, op: Op) -> int:
        return self.ops.index(op)

    def sources(self, op: Op) -> set[int]:
        """Whose results it needs: those next to it, whatever views and CPU parts lie between."""
        before = {maker for name in op.inputs if (maker := self.graph.producer(name))}
        if isinstance(op, Cpu):
            hosts = [other for other in self.graph.ops if isinstance(other, Cpu)]
            before |= {other for other in hosts if {*op.onnx_inputs} & {*other.onnx_outputs}}
        return {n for maker in before for n in ([self.number(maker)] if maker in self.ops else self.sources(maker))}

    def direct_users(self, n: int) -> set[int]:
        return {m for m, op in enumerate(self.ops) if self.ops[n].output in op.inputs}

    def users(self, n: int) -> set[int]:
        wholes = [whole for whole, parts in self.joined.items() if self.ops[n].output in parts]
        return self.direct_users(n) | {m for m, op in enumerate(self.ops) if {*wholes} & {*op.inputs}}

    def shares(self, n: int) -> set[int]:
        return {m for m, op in enumerate(self.ops) if m != n and {*op.inputs} & {*self.ops[n].inputs}}

    def stored_between(self, a: int, b: int) -> bool:
        """Whether one of them reads the other's result through a view or a CPU part."""
        first, last = min(a, b), max(a, b)
        return any(
            first in self.sources(maker) for name in self.ops[last].inputs
            if (maker := self.graph.producer(name)) and maker not in self.ops and name not in self.joined
        )  # fmt: skip

    def stored(self, n: int) -> bool:
        name = self.ops[n].output
        readers = [op for op in self.graph.ops if name in op.inputs and op not in self.ops and op.output not in self.joined]
        return name in self.graph.outputs or bool(readers)

    def legal(self, group: set[int]) -> bool:
        """Together, in one piece, and no path leaves it and comes back."""
        pairs = [(a, b) for a in group for b in group if a < b]
        if any(self.stored_between(a, b) for a, b in pairs):
            return False
        pieces: networkx.Graph = networkx.Graph()
        pieces.add_nodes_from(group)
        pieces.add_edges_from((a, b) for a, b in pairs if b in self.users(a) or b in self.shares(a))
        return networkx.is_connected(pieces) and self.convex(group)

    def convex(self, group: set[int]) -> bool:
        return not any(
            networkx.has_path(self.flow, a, n) and networkx.has_path(self.flow, n, b)
            for n in range(len(self.ops)) if n not in group for a in group for b in group
        )  # fmt: skip

    def can_run(self, partition: Sequence[set[int]]) -> bool:
        """Whether the groups do not wait for each other in a circle."""
        group_of = {n: place for place, group in enumerate(partition) for n in group}
        waits: networkx.DiGraph = networkx.DiGraph()
        waits.add_edges_from((group_of[a], group_of[b]) for a, b in self.flow.edges if group_of[a] != group_of[b])
        return bool(networkx.is_directed_acyclic_graph(waits))
