"""Writes long kernels over one channel, as models of sound begin with, as short kernels over a channel for each phase.

With stride ``s``, sample ``s w + p`` becomes pixel ``w`` of channel ``p``. These are the same bytes where channels come last. A
kernel of ``k`` samples then has ``k / s`` columns, and fills the lanes of the array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from compiler.frontend.model import Array, Model, Node, TensorType
from compiler.frontend.rewrite import Replacement, rewritten

LEAST = 16
"""The fewest samples of a kernel; shorter ones have little to win."""


def by_phases(model: Model) -> Model:
    """The model with such kernels replaced; the model itself, if it has none."""
    return rewritten(model, _replaced)


def _replaced(model: Model, node: Node) -> Replacement | None:
    source, target = model.shape(node.input(0)), model.shape(node.output)
    weights = model.constants.get(node.input(1))
    if node.op_type != "Conv" or node.domain or source is None or target is None or weights is None:
        return None
    rank = len(source) - 2
    axis = int(np.argmax(source[2:])) if rank > 0 else 0
    if not _along(model, node, axis):
        return None
    length, size = source[2 + axis], weights.shape[2 + axis]
    stride = node.integers("strides", (1,) * rank)[axis]
    before = node.integers("pads", (0,) * 2 * rank)[axis]
    if stride < 2 or size < max(LEAST, stride):
        return None
    early = -before % stride
    columns, first = -(-(early + size) // stride), (before + early) // stride
    pixels = target[2 + axis] - 1 + columns - first
    behind = max(0, pixels - -(-length // stride))
    pixels -= behind
    if pixels < 1:
        return None
    kernel = np.zeros((len(weights), columns * stride), weights.dtype)
    kernel[:, early : early + size] = weights.reshape(len(weights), size)
    apart = kernel.reshape(len(weights), columns, stride).transpose(0, 2, 1)
    return _written(model, node, axis, pixels, stride, (first, behind), np.ascontiguousarray(apart))


def _along(model: Model, node: Node, axis: int) -> bool:
    """Whether a kernel works along one dimension, over one channel of a map whose other dimensions are 1."""
    source, weights = model.shape(node.inputs[0]) or (), model.constants[node.inputs[1]]
    rank = len(source) - 2
    pads = node.integers("pads", (0,) * 2 * rank)
    others = [i for i in range(rank) if i != axis]
    plain = node.text("auto_pad", "NOTSET") == "NOTSET" and set(node.integers("dilations", (1,))) == {1}
    alone = all(source[2 + i] == weights.shape[2 + i] == 1 and pads[i] == pads[rank + i] == 0 for i in others)
    return plain and rank in (1, 2) and source[1] == 1 and weights.shape[1] == 1 and alone and min(pads) >= 0


def _written(
    model: Model, node: Node, axis: int, pixels: int, stride: int, pads: tuple[int, int], kernel: Array
) -> Replacement:
    name, elem, source = node.output, model.elem(node.output), model.shape(node.inputs[0]) or ()
    rank = len(source) - 2
    spatial = [pixels if i == axis else 1 for i in range(rank)]
    constants: dict[str, Array] = {}
    types: dict[str, TensorType] = {}
    nodes: list[Node] = []
    current = node.inputs[0]

    def put(op_type: str, what: str, shape: tuple[int, ...], extra: Mapping[str, Array], **attributes: object) -> None:
        nonlocal current
        constants.update({f"{name}/{each}": value for each, value in extra.items()})
        types[f"{name}/{what}"] = TensorType(elem, shape)
        inputs = (current, *(f"{name}/{each}" for each in extra))
        nodes.append(Node(f"{node.name}/{what}", op_type, inputs, (f"{name}/{what}",), attributes))
        current = f"{name}/{what}"

    whole = tuple(pixels * stride if i == 2 + axis else size for i, size in enumerate(source))
    more = pixels * stride - source[2 + axis]
    if more < 0:
        ends = {"begin": [0], "end": [pixels * stride], "axis": [2 + axis]}
        put("Slice", "whole", whole, {k: np.array(v, np.int64) for k, v in ends.items()})
    elif more > 0:
        filled = [more if i == len(source) + 2 + axis else 0 for i in range(2 * len(source))]
        put("Pad", "whole", whole, {"filled": np.array(filled, np.int64)})
    last = (source[0], *spatial, stride)
    put("Reshape", "phases_last", last, {"shape_of_phases": np.array(last, np.int64)})
    put("Transpose", "phases", (source[0], stride, *spatial), {}, perm=[0, rank + 1, *range(1, rank + 1)])
    shape = [kernel.shape[2] if i == axis else 1 for i in range(rank)]
    constants[f"{name}/kernel"] = kernel.reshape(*kernel.shape[:2], *shape)
    around = [[end if i == axis else 0 for i in range(rank)] for end in pads]
    attributes = {
        "kernel_shape": shape, "pads": [*around[0], *around[1]], "strides": [1] * rank, "dilations": [1] * rank, "group": 1,
    }  # fmt: skip
    inputs = (current, f"{name}/kernel", *node.inputs[2:])
    return Replacement([*nodes, replace(node, inputs=inputs, attributes=attributes)], constants, types)
