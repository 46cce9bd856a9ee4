"""Describes the steps of a program for lifetimes and orders: the maps in DRAM that they touch."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.memory.least_order import tasks_of
from compiler.memory.lifetimes import Step
from compiler.memory.tasks import Tasks
from compiler.planning.plan import Plan
from compiler.planning.running_order import needs_of
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op


def touched(step: Plan | Cpu) -> Step:
    """The maps in DRAM that a step reads and writes."""
    if isinstance(step, Cpu):
        return Step(step.inputs, step.outputs, True, step.onnx_inputs, step.onnx_outputs)
    return Step((*step.group.inputs, *step.group.stored), step.group.outputs)


def memory_tasks(graph: XGraph, steps: Sequence[Plan | Cpu], shared: bool = False) -> Tasks:
    """The steps as tasks to be ordered. Task ``n`` is step ``n``. ``shared``: inputs and outputs lie in WORK."""
    return tasks_of(graph, [touched(step) for step in steps], needs_of(graph, [_ops(step) for step in steps]), shared)


def _ops(step: Plan | Cpu) -> list[Op]:
    return [step] if isinstance(step, Cpu) else [layer.op for layer in step.group.layers]


def peak_ops(graph: XGraph, steps: Sequence[Plan | Cpu], shared: bool = False) -> list[Op]:
    """The operations that run, in this order of steps, while the most of WORK is in use."""
    tasks = memory_tasks(graph, steps, shared)
    done, in_use = 0, tasks.in_use(0)
    running = []
    for task in range(len(tasks)):
        running.append(tasks.while_running(done, task, in_use))
        in_use = tasks.after_running(done, task, in_use)
        done |= 1 << task
    return _ops(steps[max(range(len(tasks)), key=running.__getitem__)])
