"""Divides a model: the machine takes what it can compute and somebody needs, and the host takes the rest.

Host nodes are gathered by *phase*: the number of times that data has changed sides before them. All nodes of a phase form one
CPU part. So there are as few parts as the graph allows, and parts and machine never wait for each other in a circle.
DequantizeLinear nodes, and nodes that depend on constants alone, are copied into every part that reads them. onnxruntime puts
integer kernels in the place of whole patterns, and finds no pattern that is cut in two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from compiler.frontend.importer.context import EIGHT_BITS, Context
from compiler.frontend.importer.values import Mapped
from compiler.frontend.model import Node, part_proto
from compiler.xgraph.graph import XGraph
from compiler.xgraph.ops import Cpu, Op, Port

MOVED_FOR_CPU = "it only moves data"
READ_ON_CPU = "its float result is read on the CPU"
OPERANDS_ON_CPU = "its operands are on the CPU"
UNQUANTISED_FOR_CPU = "its result is not quantised"
NEIGHBOURS = {
    MOVED_FOR_CPU: "A node that only moves data has the machine on one side: it makes what is moved, or computes with it.",
    READ_ON_CPU: "The float form of a quantised tensor is read on the machine.",
    OPERANDS_ON_CPU: "The operands are on the machine, or come to it quantised.",
    UNQUANTISED_FOR_CPU: "The result is quantised before the CPU reads it, or before it is an output of the model.",
}
"""What a node that the machine could compute needs of its neighbours, by the reason that it gets otherwise."""


@dataclass
class _Demand:
    """What the outputs need: nodes on the host, operations on the machine, and the tensors that cross."""

    host: dict[str, Node]
    machine: dict[str, Op]
    to_machine: dict[str, Mapped]
    to_host: dict[str, Mapped]


def partitioned(ctx: Context) -> tuple[XGraph, tuple[Port, ...], tuple[Port, ...]]:
    """The graph with its CPU parts, and the ports of model inputs and outputs that the machine reads and makes itself."""
    demand = _demanded(ctx)
    phase = _phases(ctx, demand)
    model = ctx.model
    homes = _homes(ctx, demand, phase)
    parts: dict[int, list[Node]] = {}
    for node in model.nodes:
        for index in homes.get(node.name, ()):
            parts.setdefault(index, []).append(node)
    cpu = [_cpu(ctx, demand, index, parts, phase) for index in sorted(parts)]
    made = [name for name, value in demand.to_machine.items() if name in model.inputs]
    inputs = tuple(port(ctx, name, demand.to_machine[name]) for name in made)
    outputs = tuple(port(ctx, name, demand.to_host[name]) for name in model.outputs if name in demand.to_host)
    input_names = tuple(dict.fromkeys(p.tensor for p in inputs))
    output_names = tuple(dict.fromkeys(p.tensor for p in outputs))
    ops = tuple(_ordered([op for op in ctx.ops if op.output in demand.machine], cpu))
    used = {t for op in ops for t in (*op.inputs, *op.outputs)} | {*input_names, *output_names}
    tensors = {name: tensor for name, tensor in ctx.tensors.items() if name in used}
    return XGraph(model.name or "model", tensors, ops, input_names, output_names), inputs, outputs


def segments(graph: XGraph) -> int:
    """How often the machine is started: the number of runs of its operations between CPU parts."""
    on_cpu = [True, *(isinstance(op, Cpu) for op in graph.ops)]
    return sum(before and not now for before, now in pairwise(on_cpu))


def _ordered(machine: list[Op], cpu: list[Cpu]) -> list[Op]:
    """Machine operations (given in order) and CPU parts, each behind the makers of its operands, host tensors included."""
    waiting = {name: part for part in cpu for name in (*part.outputs, *part.onnx_outputs)}
    makers: dict[str, Op] = {op.output: op for op in machine} | dict(waiting)
    done: set[str] = set()
    order: list[Op] = []
    for last in (*machine, *cpu):
        stack: list[Op] = [last]
        while stack:
            op = stack[-1]
            reads = (*op.inputs, *op.onnx_inputs) if isinstance(op, Cpu) else op.inputs
            missing = [makers[name] for name in reads if name in makers and makers[name].name not in done]
            if op.name in done or not missing:
                stack.pop()
                if op.name not in done:
                    done.add(op.name)
                    order.append(op)
            else:
                stack += missing
    return order


def port(ctx: Context, name: str, value: Mapped) -> Port:
    """The place of an ONNX tensor in a map, for the host."""
    weight = dict(zip("NHWC", _strides(ctx.map_shape(value)), strict=True))
    dims = tuple(tuple((weight[a.axis] * a.stride, a.size) for a in dim) for dim in value.layout.dims)
    return Port(name, value.tensor, dims)


def _strides(shape: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    _, h, w, c = shape
    return h * w * c, w * c, c, 1


def _demanded(ctx: Context) -> _Demand:
    makers = {op.output: op for op in ctx.ops}
    demand = _Demand({}, {}, {}, {})
    waiting = [(name, "") for name in ctx.model.outputs]
    seen: set[str] = set()
    while waiting:
        name, reader = waiting.pop()
        if name in seen or name in ctx.model.constants:
            continue
        seen.add(name)
        value = ctx.values.get(name)
        if isinstance(value, Mapped) and value.computed and ctx.model.elem(name) in EIGHT_BITS:
            demand.to_host[name] = value
            for root in _machine(ctx, demand, makers, value.tensor):
                demand.to_machine[root] = ctx.roots[root]
                if root not in ctx.model.inputs:
                    waiting.append((root, reader))
            continue
        node = ctx.producers.get(name)
        if node is not None and node.name not in demand.host:
            demand.host[node.name] = node
            ctx.reasons.setdefault(node.name, _why(ctx, node, reader))
            waiting += [(read, node.name) for read in node.reads()]
    return demand


def _why(ctx: Context, node: Node, reader: str) -> str:
    value = ctx.values.get(node.output)
    if isinstance(value, Mapped) and not value.computed and node.op_type != "DequantizeLinear":
        return f"{MOVED_FOR_CPU} that the CPU makes and reads, or that is an input and an output of the model"
    if node.op_type == "DequantizeLinear" or isinstance(value, Mapped):
        return f"{READ_ON_CPU}, by {reader or 'the model output'}"
    if value is None:
        return OPERANDS_ON_CPU
    if reader:
        return f"{UNQUANTISED_FOR_CPU} before {reader} reads it, which is on the CPU"
    return f"{UNQUANTISED_FOR_CPU}, and it is an output of the model"


def _machine(ctx: Context, demand: _Demand, makers: dict[str, Op], tensor: str) -> Iterable[str]:
    """Marks the operations behind a map as needed, and returns the host's tensors that they read."""
    waiting = [tensor]
    while waiting:
        name = waiting.pop()
        if name in ctx.roots:
            yield name
        elif name not in demand.machine:
            demand.machine[name] = makers[name]
            waiting += makers[name].inputs


def _phases(ctx: Context, demand: _Demand) -> dict[str, int]:
    """The phase of every host node. A machine map has the phase of what it is made from; crossing to the host adds one."""
    of_map: dict[str, int] = {}
    of_node: dict[str, int] = {}
    order = {op.output: index for index, op in enumerate(ctx.ops)}
    pending = sorted(demand.machine, key=lambda name: order[name])
    by_node = {name: node for node in ctx.model.nodes for name in node.outputs}

    def map_phase(tensor: str) -> int:
        stack = [tensor]
        while stack:
            name = stack[-1]
            if name in of_map:
                stack.pop()
            elif name in ctx.roots:
                maker = by_node.get(name)
                of_map[name] = of_node[maker.name] if maker is not None and maker.name in of_node else -1
            else:
                missing = [i for i in demand.machine[name].inputs if i not in of_map]
                if missing:
                    stack += missing
                else:
                    of_map[name] = max((of_map[i] for i in demand.machine[name].inputs), default=-1)
        return of_map[tensor]

    for node in ctx.model.nodes:
        if node.name not in demand.host:
            continue
        phase = 0
        for name in node.reads():
            if name in demand.to_host:
                phase = max(phase, map_phase(demand.to_host[name].tensor) + 1)
            elif name in by_node and by_node[name].name in of_node:
                phase = max(phase, of_node[by_node[name].name])
        of_node[node.name] = phase
    assert all(name in demand.machine for name in pending)
    return of_node


def _homes(ctx: Context, demand: _Demand, phase: dict[str, int]) -> dict[str, set[int]]:
    """The parts that have each host node."""
    model = ctx.model
    constant, homes, wanted = set[str](), dict[str, set[int]](), {*model.outputs, *demand.to_machine}
    for node in model.nodes:
        if node.name in demand.host and all(name in model.constants or name in constant for name in node.reads()):
            constant |= {*node.outputs}
    readers: dict[str, set[int]] = {}
    for node in reversed(model.nodes):
        if node.name not in demand.host:
            continue
        follows = node.op_type == "DequantizeLinear" or constant.issuperset(node.outputs)
        asked = {index for name in node.outputs for index in readers.get(name, ())} if follows else set[int]()
        homes[node.name] = asked | ({phase[node.name]} if not asked or not wanted.isdisjoint(node.outputs) else set())
        for name in node.reads():
            readers.setdefault(name, set()).update(homes[node.name])
    return homes


def _with_readers(nodes: list[Node], crossing: Iterable[str]) -> list[Node]:
    """Adds an Identity for each tensor that QuantizeLinear reads here and that is also read elsewhere.

    If QuantizeLinear is the only reader of a result, onnxruntime quantises the float weights behind it. It does not see that
    the part hands the result to other readers; in the whole model it sees them.
    """
    quantised = {node.inputs[0] for node in nodes if node.op_type == "QuantizeLinear"}
    renamed = {name: f"{name}/here" for name in crossing if name in quantised}
    if not renamed:
        return nodes
    here = [
        replace(
            node, inputs=tuple(renamed.get(name, name) for name in node.inputs),
            outputs=tuple(renamed.get(name, name) for name in node.outputs),
        )
        for node in nodes
    ]  # fmt: skip
    return [*here, *(Node(f"{name}/away", "Identity", (inside,), (name,)) for name, inside in renamed.items())]


def _cpu(ctx: Context, demand: _Demand, index: int, parts: dict[int, list[Node]], phase: dict[str, int]) -> Cpu:
    """The CPU part of one phase. If a node has copies, the copy in its own phase makes the tensor that others read."""
    model, nodes = ctx.model, parts[index]
    made = {name for node in nodes for name in node.outputs if name}
    read = [n for n in dict.fromkeys(n for node in nodes for n in node.reads()) if n not in made and n not in model.constants]
    wanted = {*model.outputs, *demand.to_machine}
    for other in parts.values():
        made_there = {name for node in other for name in node.outputs}
        wanted |= {name for node in other for name in node.reads()} - made_there
    given = [name for node in nodes if phase[node.name] == index for name in node.outputs if name and name in wanted]
    inputs = tuple(port(ctx, name, demand.to_host[name]) for name in read if name in demand.to_host)
    outputs = tuple(port(ctx, name, demand.to_machine[name]) for name in given if name in demand.to_machine)
    small = replace(model, name=f"{model.name or 'model'} cpu{index}")
    proto = part_proto(small, _with_readers(nodes, [name for name in given if name not in model.outputs]), read, given)
    return Cpu(
        f"cpu{index}", tuple(dict.fromkeys(p.tensor for p in inputs)), tuple(dict.fromkeys(p.tensor for p in outputs)),
        proto.SerializeToString(deterministic=True), {node.name: ctx.reasons[node.name] for node in nodes},
        tuple(read), tuple(given), (*inputs, *outputs),
    )  # fmt: skip
