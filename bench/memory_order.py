"""Orders of least memory, as in tables II to VI of memory-aware scheduling.

``python -m bench.memory_order [--programme] [network ...]``

For each network twice: the float32 model, each node's result a tensor of its own, the input in use until its last reader;
and the int8 program on ``base``, one operation to a group, where what counts is WORK as the program really stores it
(concat's parts lie in their target, inputs and outputs in regions of their own). Peaks of the order as given, of reverse
post-order, of a greedy choice and of ours, with its bound; tasks before and after fusion; CPU seconds of ours with and
without fusion; bytes of the arena, and the seconds that it took. ``--programme`` adds HiGHS' integer programme on the
fused float32 graph, with and without pruning: variables, peak, bound and seconds, ten seconds each at most.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from onnx import ModelProto, shape_inference

from compiler.codegen.operations import Group
from compiler.emit.grouping import make_group, needs_of, one_each, ordered_groups
from compiler.frontend.pipeline import import_model
from compiler.memory.arena import arrange
from compiler.memory.blocks import Block
from compiler.memory.fuse import fuse
from compiler.memory.least import least_order
from compiler.memory.lifetimes import Step
from compiler.memory.order import memory_order, tasks_of
from compiler.memory.programme import solve
from compiler.memory.tasks import Tasks, Use, members
from compiler.quantise.statistics import CalibrationWarning
from compiler.xgraph.ops import Cpu
from compiler.zoo.networks import networks
from isa.config import preset

NETWORKS = (
    "nasnet_a", "amoebanet_a", "darts", "randwire0", "randwire1", "randwire2", "hrnet_w18_small", "hrnet_w18_small_v2",
    "hrnet_w32", "inception_resnet_v2", "nasnet_a_cifar", "amoebanet_a_cifar", "darts_cifar", "nasnet_a_large",
)  # fmt: skip
SECONDS = 10.0
"""For one integer programme."""
PLAIN_STATES = 3_000
"""Without fusion: most networks then need more states than there is time for."""


def float_tasks(model: ModelProto) -> Tasks:
    """The nodes of a model, in float32."""
    graph = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    constants = {tensor.name for tensor in graph.initializer}
    bytes_of = {
        value.name: 4 * math.prod(dim.dim_value for dim in value.type.tensor_type.shape.dim)
        for value in (*graph.input, *graph.value_info, *graph.output)
    }
    maker = {name: number for number, node in enumerate(graph.node) for name in node.output}
    touching: dict[str, int] = {}
    before = []
    for number, node in enumerate(graph.node):
        read = [name for name in node.input if name and name not in constants]
        before.append(sum({1 << maker[name] for name in read if name in maker}))
        for name in (*read, *node.output):
            touching[name] = touching.get(name, 0) | 1 << number
    given, kept = ({value.name for value in values} for values in (graph.input, graph.output))
    uses = tuple(Use(bytes_of[name], mask, name in given, name in kept) for name, mask in touching.items())
    return Tasks(tuple(before), uses, (0,) * len(before))


def machine_tasks(model: ModelProto) -> Tasks:
    """One operation to a group, on ``base``."""
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


def reverse_post_order(tasks: Tasks) -> list[int]:
    """What TensorFlow Lite does: depth first from the ends, turned round."""
    order: list[int] = []
    seen: set[int] = set()
    for root in range(len(tasks)):
        stack = [(root, iter(members(tasks.after[root])))] if root not in seen and not tasks.before[root] else []
        seen.update(task for task, _ in stack)
        while stack:
            task, following = stack[-1]
            found = next((other for other in following if other not in seen), None)
            if found is None:
                order.append(task)
                stack.pop()
            else:
                seen.add(found)
                stack.append((found, iter(members(tasks.after[found]))))
    return order[::-1]


def greedy(tasks: Tasks) -> list[int]:
    """Always the task after which the least is in use."""
    order: list[int] = []
    done, in_use = 0, tasks.in_use(0)
    while len(order) < len(tasks):
        ready = [t for t in range(len(tasks)) if not done >> t & 1 and not tasks.before[t] & ~done]
        task = min(ready, key=lambda t: (tasks.after_running(done, t, in_use), t))
        in_use = tasks.after_running(done, task, in_use)
        done |= 1 << task
        order.append(task)
    return order


def arena_bytes(tasks: Tasks, order: Sequence[int]) -> int:
    place = {task: time for time, task in enumerate(order)}
    blocks = []
    for use in tasks.uses:
        times = [place[task] for task in members(use.tasks)]
        begin, end = 0 if use.given else min(times), len(tasks) if use.kept else max(times) + 1
        blocks.append(Block(begin, end, use.size))
    return arrange(blocks).total


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    since = time.process_time()
    return call(), time.process_time() - since


def row(name: str, kind: str, tasks: Tasks) -> str:
    given = range(len(tasks))
    order, seconds = timed(lambda: memory_order(tasks, given))
    plain, plain_seconds = timed(lambda: least_order(tasks, PLAIN_STATES))
    arena, arena_seconds = timed(lambda: arena_bytes(tasks, order.tasks))
    cells = [
        name, kind, len(tasks), len(fuse(tasks).tasks), tasks.peak(given), tasks.peak(reverse_post_order(tasks)),
        tasks.peak(greedy(tasks)), order.peak, order.bound, f"{seconds:.2f}", plain.peak, f"{plain_seconds:.2f}",
        arena, f"{arena_seconds:.2f}",
    ]  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def programme_row(name: str, tasks: Tasks) -> str:
    cells: list[object] = [name]
    fused = fuse(tasks).tasks
    known = reverse_post_order(fused)
    for pruned in (True, False):
        since = time.perf_counter()
        found = solve(fused, known, pruned=pruned, seconds=SECONDS)
        seconds = time.perf_counter() - since
        cells += [found.variables, found.order.peak, found.order.bound, f"{seconds:.1f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--programme", action="store_true")
    asked = parser.parse_args()
    if asked.programme:
        print("| network | variables | peak | bound | s | variables, not pruned | peak | bound | s |")
    else:
        print(
            "| network | bytes | tasks | fused | as given | reverse post-order | greedy | ours | bound | s "
            "| without fusion | s | arena | s |"
        )
    for name in asked.networks:
        model = networks()[name]()
        if asked.programme:
            print(programme_row(name, float_tasks(model)), flush=True)
        else:
            print(row(name, "float32", float_tasks(model)), flush=True)
            print(row(name, "int8", machine_tasks(model)), flush=True)


if __name__ == "__main__":
    main()
