"""The steps of a program as the memory's account sees them."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen.plan import Plan
from compiler.emit.grouping import needs_of
from compiler.memory.lifetimes import Step
from compiler.memory.order import tasks_of
from compiler.memory.tasks import Tasks
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op


def touched(step: Plan | Cpu) -> Step:
    """Which maps a step reads and leaves in DRAM."""
    if isinstance(step, Cpu):
        return Step(step.inputs, step.outputs, True, step.onnx_inputs, step.onnx_outputs)
    return Step(step.group.inputs, step.group.outputs)


def memory_tasks(graph: XGraph, steps: Sequence[Plan | Cpu]) -> Tasks:
    """The steps to be ordered; task ``n`` is step ``n``."""
    return tasks_of(graph, [touched(step) for step in steps], needs_of(graph, [_ops(step) for step in steps]))


def _ops(step: Plan | Cpu) -> list[Op]:
    return [step] if isinstance(step, Cpu) else [layer.op for layer in step.group.layers]
