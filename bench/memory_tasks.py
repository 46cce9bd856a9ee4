"""The tasks by which a network's memory is counted: its float32 nodes, or the groups of one operation of its int8 program."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from onnx import GraphProto, ModelProto, NodeProto, shape_inference

from compiler.frontend.pipeline import import_model
from compiler.memory.least_order import tasks_of
from compiler.memory.lifetimes import Step
from compiler.memory.tasks import Tasks, Use
from compiler.planning.grouping import make_group, one_each
from compiler.planning.operations import Group
from compiler.planning.running_order import needs_of, ordered_groups
from compiler.quantise.statistics import CalibrationWarning
from compiler.xgraph.ops import Cpu
from isa.config import preset

IN_PLACE = ("Relu", "Clip", "Add")
"""The operators whose result takes the place of an operand that nobody else reads."""


def float_tasks(model: ModelProto) -> Tasks:
    """The nodes of a model in float32. Each result is a tensor of its own, except for those in place."""
    graph = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    constants = {tensor.name for tensor in graph.initializer}
    bytes_of = {
        value.name: 4 * math.prod(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        for value in (*graph.input, *graph.value_info, *graph.output)
    }
    maker = {name: number for number, node in enumerate(graph.node) for name in node.output}
    places = _places(graph, bytes_of)
    touching: dict[str, int] = {}
    before = []
    for number, node in enumerate(graph.node):
        read = [name for name in node.input if name and name not in constants]
        before.append(sum({1 << maker[name] for name in read if name in maker}))
        for name in (*read, *node.output):
            place = places.get(name, name)
            touching[place] = touching.get(place, 0) | 1 << number
    given = {value.name for value in graph.input}
    kept = {places.get(value.name, value.name) for value in graph.output}
    uses = tuple(Use(bytes_of[name], mask, name in given, name in kept) for name, mask in touching.items())
    return Tasks(tuple(before), uses, (0,) * len(before))


def _places(graph: GraphProto, bytes_of: dict[str, int]) -> dict[str, str]:
    """Maps each result in place to the first result that lies there."""
    readers: dict[str, int] = {}
    for node in graph.node:
        for name in node.input:
            readers[name] = readers.get(name, 0) + 1
    made = {name for node in graph.node for name in node.output} - {value.name for value in graph.output}
    places: dict[str, str] = {}

    def free(node: NodeProto, name: str) -> bool:
        return name in made and readers[name] == 1 and bytes_of[name] == bytes_of[node.output[0]]

    for node in graph.node:
        taken = next((name for name in node.input if free(node, name)), None) if node.op_type in IN_PLACE else None
        if taken is not None:
            places[node.output[0]] = places.get(taken, taken)
    return places


def machine_tasks(model: ModelProto) -> Tasks:
    """The tasks of one operation to a group on ``base``, with what WORK holds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        graph = import_model(model).graph
    config = preset("base")
    alone = [*one_each(graph), *((op,) for op in graph.ops if isinstance(op, Cpu))]
    steps = []
    groups = ordered_groups(graph, alone)
    for ops in groups:
        first = ops[0]
        if isinstance(first, Cpu):
            steps.append(Step(first.inputs, first.outputs, True, first.onnx_inputs, first.onnx_outputs))
        else:
            group: Group = make_group(config, graph, ops)
            steps.append(Step(group.inputs, group.outputs))
    return tasks_of(graph, steps, needs_of(graph, groups))


def greedy(tasks: Tasks) -> list[int]:
    """The order that always takes the task after which the least is in use."""
    order: list[int] = []
    done, in_use = 0, tasks.in_use(0)
    while len(order) < len(tasks):
        ready = [t for t in range(len(tasks)) if not done >> t & 1 and not tasks.before[t] & ~done]
        task = min(ready, key=lambda t: (tasks.after_running(done, t, in_use), t))
        in_use = tasks.after_running(done, task, in_use)
        done |= 1 << task
        order.append(task)
    return order


def even_cuts(tasks: Sequence[object] | Tasks, parts: int) -> list[int]:
    """The cuts into parts of equally many tasks, whatever is in use between them."""
    return [len(tasks) * number // parts for number in range(1, parts)]
