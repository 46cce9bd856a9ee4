"""Removes operations whose results nobody reads."""

from __future__ import annotations

from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu


def remove_dead(graph: XGraph) -> XGraph:
    """Removes operations whose results lead to no output and no CPU part."""
    needed = set(graph.outputs)
    kept = []
    for op in reversed(graph.ops):
        if isinstance(op, Cpu) or any(name in needed for name in op.outputs):
            needed.update(op.inputs)
            kept.append(op)
    return graph.with_ops(reversed(kept))
