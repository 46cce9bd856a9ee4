"""The order in which groups run: each behind those that it reads from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush

from compiler.planning.grouping import machine_ops
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op
from isa.errors import TilewrightError


def running_order(needs: Sequence[Collection[int]], rank: Sequence[int]) -> list[int]:
    """The numbers of groups, each behind all that it ``needs``. Of the groups that can run, the first by ``rank`` comes next.

    Groups that wait for each other, and all that need them, are left out.
    """
    users: list[list[int]] = [[] for _ in needs]
    for number, needed in enumerate(needs):
        for other in needed:
            users[other].append(number)
    waits = [len(needed) for needed in needs]
    ready = [(rank[number], number) for number, count in enumerate(waits) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        _, number = heappop(ready)
        order.append(number)
        for user in users[number]:
            waits[user] -= 1
            if not waits[user]:
                heappush(ready, (rank[user], user))
    return order


def needs_of(graph: XGraph, partition: Sequence[Sequence[Op]]) -> list[set[int]]:
    """For each group, the groups that it reads from, directly or through views."""
    index = {op.name: number for number, group in enumerate(partition) for op in group}
    missing = [op.name for op in machine_ops(graph) if op.name not in index]
    if missing:
        raise TilewrightError(f"groups: operation {missing[0]} is in no group; list it, alone if need be")
    needs: list[set[int]] = [set() for _ in partition]
    on_host = {name: index[op.name] for op in graph.ops if isinstance(op, Cpu) for name in op.onnx_outputs}
    reach: dict[str, set[int]] = {}
    for op in graph.ops:
        before: set[int] = set()
        for producer in graph.predecessors(op):
            before |= {index[producer.name]} if producer.name in index else reach[producer.name]
        if isinstance(op, Cpu):
            before |= {on_host[name] for name in op.onnx_inputs if name in on_host}
        reach[op.name] = before
        if op.name in index:
            needs[index[op.name]] |= before - {index[op.name]}
    return needs


def ordered_groups(graph: XGraph, partition: Sequence[Sequence[Op]]) -> list[tuple[Op, ...]]:
    """The groups, and the operations of each, in the order of the program. A partition with a cycle is refused."""
    position = {op.name: n for n, op in enumerate(graph.ops)}
    last = [max(position[op.name] for op in group) for group in partition]
    order = running_order(needs_of(graph, partition), last)
    if len(order) < len(partition):
        waiting = sorted({*range(len(partition))}.difference(order), key=last.__getitem__)
        names = ", ".join("+".join(op.name for op in partition[n]) for n in waiting[:2])
        raise TilewrightError(f"groups: {names} wait for each other; split one of them")
    return [tuple(sorted(partition[n], key=lambda op: position[op.name])) for n in order]
