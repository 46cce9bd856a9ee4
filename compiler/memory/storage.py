"""Views: concat, slice, reshape and interleave become places in shared storage, and cost nothing.

Every map has a home: storage of its own, or part of another map's storage. A map must be copied if several others contain it,
or if its layout cannot be expressed within the map that contains it. ``needs_copy`` tells the pass that inserts the copies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from compiler.layers.views import View, dense_view
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Concat, Constant, Cpu, Interleave, Op, Reshape, Slice
from isa.instructions import Region

VIEW_OPS = (Concat, Slice, Reshape, Interleave, Constant)
"""Operations that only say where bytes lie."""


@dataclass(frozen=True)
class Home:
    """A view into the storage of ``root``, whose offset counts from that storage's start."""

    root: str
    view: View


@lru_cache(maxsize=4)
def storage_of(graph: XGraph) -> dict[str, Home]:
    """The home of every map. The graph must need no copies."""
    containers: dict[str, tuple[Op, int]] = {}
    for op in graph.ops:
        if isinstance(op, Concat | Interleave):
            for index, name in enumerate(op.inputs):
                containers[name] = (op, index)
    homes: dict[str, Home] = {}

    def home(name: str) -> Home:
        if name not in homes:
            homes[name] = _find(name)
        return homes[name]

    def _find(name: str) -> Home:
        tensor = graph.tensors[name]
        producer = graph.producer(name)
        if isinstance(producer, Slice):
            return Home(home(producer.inputs[0]).root, _slice(home(producer.inputs[0]).view, producer, tensor.shape))
        if isinstance(producer, Reshape):
            parent = home(producer.inputs[0])
            return Home(parent.root, dense_view(Region.WORK, parent.view.offset, tensor.shape))
        if name in containers:
            op, index = containers[name]
            parent = home(op.output)
            return Home(parent.root, _part(graph, parent.view, op, index))
        return Home(name, dense_view(Region.WORK, 0, tensor.shape))

    for name in graph.tensors:
        home(name)
    return homes


def needs_copy(graph: XGraph) -> list[tuple[Op, int]]:
    """The operations and the numbers of their inputs that must be copied first.

    These are inputs of concats, interleaves and reshapes. If there are none, they are maps that serve as parameters and whose
    pixels lie at different distances.
    """
    found: list[tuple[Op, int]] = []
    contained: set[str] = set()
    for op in graph.ops:
        if isinstance(op, Concat | Interleave):
            for index, name in enumerate(op.inputs):
                producer = graph.producer(name)
                fixed = name in contained or name in graph.inputs or name in graph.outputs
                if fixed or isinstance(producer, Slice | Reshape | Constant | Cpu):
                    found.append((op, index))
                contained.add(name)
    for op in graph.ops:
        if isinstance(op, Reshape):
            name = op.inputs[0]
            if name in contained or isinstance(graph.producer(name), Slice):
                found.append((op, 0))
    if not found:
        homes = storage_of(graph)
        found += [
            (op, index) for op in graph.ops for index in range(len(op.streamed), len(op.inputs))
            if not homes[op.inputs[index]].view.in_one_row
        ]  # fmt: skip
    return found


def _slice(parent: View, op: Slice, shape: tuple[int, int, int, int]) -> View:
    y, x, c = op.begin
    s_y, s_x = op.step
    return replace(
        parent, offset=parent.offset + y * parent.row_stride + x * parent.step + c,
        height=shape[1], width=shape[2], channels=shape[3],
        row_stride=parent.row_stride * s_y, step=parent.step * s_x,
    )  # fmt: skip


def _part(graph: XGraph, parent: View, op: Op, index: int) -> View:
    shape = graph.tensors[op.inputs[index]].shape
    if isinstance(op, Interleave):
        y, x = divmod(index, op.block[1])
        return replace(
            parent, offset=parent.offset + y * parent.row_stride + x * parent.step, height=shape[1], width=shape[2],
            row_stride=parent.row_stride * op.block[0], step=parent.step * op.block[1],
        )  # fmt: skip
    assert isinstance(op, Concat)
    before = sum(graph.tensors[name].shape[op.axis] for name in op.inputs[:index])
    pitch = {1: parent.row_stride, 2: parent.step, 3: 1}[op.axis]
    return replace(parent, offset=parent.offset + before * pitch, height=shape[1], width=shape[2], channels=shape[3])
