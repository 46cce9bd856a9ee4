"""Helpers for passes that replace operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op


def sole_reader(graph: XGraph, tensor: str, reader: Op) -> bool:
    """Whether only ``reader`` reads a map, and the map is no output of the graph."""
    return tensor not in graph.outputs and [op.name for op in graph.consumers(tensor)] == [reader.name]


def with_inputs(op: Op, names: Mapping[str, str]) -> Op:
    """The operation with other names of its inputs. A CPU part keeps its maps, which the host knows by name."""
    if isinstance(op, Cpu) or not any(name in names for name in op.inputs):
        return op
    return replace(op, inputs=tuple(names.get(name, name) for name in op.inputs))
