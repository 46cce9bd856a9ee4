"""Writes resizes of a float model as constant linear maps, where the machine has nothing finer for them.

A resize by a whole factor adds each pixel, times the same taps, to the pixels around its place. This is a transposed
convolution of each channel on the map with repeated edges. Any other resize (of a part of the map, to any size, against
aliasing) is a matrix over all pixels, which is a dense layer, if it is small enough. The weights are then quantised like those
of any layer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.model import Array, Model, Node, TensorType, part_proto
from compiler.frontend.rewrite import Replacement, rewritten
from compiler.frontend.session import run_session, session

Float64 = NDArray[np.float64]
MOST_WEIGHTS = 1 << 20
"""The most weights of a resize as a matrix."""
FINE = (2, 3, 4, 5, 6, 7, 8)
"""Factors of linear resizes for which int8 holds the exact shares."""
PLAIN = ("half_pixel", "pytorch_half_pixel", "asymmetric")
WIDEST = 3
"""The most copies of the edge that are tried."""
NEAR = 1e-5


@dataclass(frozen=True, eq=False)
class Taps:
    """One side: pixel ``i`` of the map with ``edge`` copies of its ends adds ``weights[k]`` at ``i factor + k - pad``."""

    factor: int
    weights: Float64
    pad: int
    edge: int


def as_linear_maps(model: Model) -> Model:
    return rewritten(model, _replaced)


def _replaced(model: Model, node: Node) -> Replacement | None:
    """The nodes and constants that replace a resize."""
    source, target = model.shape(node.input(0)), model.shape(node.output) if node.outputs else None
    mode = node.text("mode", "nearest")
    if node.op_type != "Resize" or mode == "nearest" or source is None or target is None or len(source) != 4:
        return None
    known = all(name in model.constants for name in node.inputs[1:] if name)
    if source[:2] != target[:2] or model.elem(node.input(0)) != 1 or not known:
        return None
    if mode == "linear" and _is_fine(node, source, target):
        return None
    apart = node.text("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize"
    apart = apart and node.text("keep_aspect_ratio_policy", "stretch") == "stretch"
    sides = [_taps(model, node, axis) for axis in (2, 3)] if apart and target[2] >= source[2] and target[3] >= source[3] else []
    y, x = sides if sides else (None, None)
    made = _transposed(node, source, y, x) if y and x else None
    if made is not None:
        return made
    if (source[1] ** 2) * math.prod(source[2:]) * math.prod(target[2:]) <= MOST_WEIGHTS:
        return _matrix(model, node, source, target)
    return None


def _is_fine(node: Node, source: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether the importer has exact shares for the resize."""
    factors = [t // s for s, t in zip(source[2:], target[2:], strict=True)]
    whole = all(f * s == t and (f == 1 or f in FINE) and s > 2 for f, s, t in zip(factors, source[2:], target[2:], strict=True))
    return whole and not node.integer("antialias", 0) and node.text("coordinate_transformation_mode", "half_pixel") in PLAIN


def _resized(model: Model, node: Node, values: Array, axis: int | None = None) -> Float64:
    """The node's result on values; ``axis`` resizes that side alone, and the other side is 1."""
    full = model.shape(node.inputs[0])
    target = model.shape(node.output)
    assert full is not None
    assert target is not None
    axes = [a % 4 for a in node.integers("axes", range(4))]
    constants, kept = dict(model.constants), (2, 3) if axis is None else (axis,)
    for index, name in enumerate(node.inputs):
        value = constants.get(name)
        if index == 0 or value is None or value.size != len(axes):
            continue
        others = values.shape if value.dtype == np.int64 else (1,) * 4
        constants[name] = np.array([v if a in kept else others[a] for a, v in zip(axes, value, strict=True)], value.dtype)
    types = {**model.types, node.inputs[0]: TensorType(1, values.shape), node.output: TensorType(1, None)}
    part = part_proto(replace(model, types=types, constants=constants), [node], [node.inputs[0]], [node.output])
    found = run_session(session(part, threads=1), {node.inputs[0]: np.ascontiguousarray(values, np.float32)})
    result: Float64 = found[node.output].astype(np.float64)
    return result


def _taps(model: Model, node: Node, axis: int) -> Taps | None:
    """The taps of one side, if they are the same for all its pixels and the edges are as if the map went on."""
    shape, target = model.shape(node.inputs[0]), model.shape(node.output)
    assert shape is not None
    assert target is not None
    size, made = shape[axis], target[axis]
    factor = made // size
    unit = np.eye(size)
    cut = unit.reshape(1, size, size, 1) if axis == 2 else unit.reshape(1, size, 1, size)
    found = _resized(model, node, cut, axis)
    if found.shape[axis] != made or factor * size != made:
        return None
    matrix = found.reshape(size, made).T
    used = np.flatnonzero(matrix[:, size // 2])
    first = int(used[0]) - factor * (size // 2)
    weights = matrix[used[0] : used[-1] + 1, size // 2]
    for edge in range(WIDEST + 1):
        expected = np.zeros_like(matrix)
        for source in range(-edge, size + edge):
            for row, weight in enumerate(weights, source * factor + first):
                if 0 <= row < made:
                    expected[row, min(max(source, 0), size - 1)] += weight
        if np.abs(expected - matrix).max() < NEAR:
            return Taps(factor, weights, edge * factor - first, edge)
    return None


def _transposed(node: Node, source: tuple[int, ...], y: Taps, x: Taps) -> Replacement | None:
    """Nodes that repeat the edges, then run one transposed convolution for each channel."""
    name, channels = node.output, source[1]
    kernel = np.outer(y.weights, x.weights).astype(np.float32)
    pads = [y.pad, x.pad, *(t.factor * (2 * t.edge - 1) + len(t.weights) - t.pad for t in (y, x))]
    if min(pads) < 0:
        return None
    attributes = {
        "group": channels, "kernel_shape": list(kernel.shape), "strides": [y.factor, x.factor], "pads": pads,
    }  # fmt: skip
    constants: dict[str, Array] = {
        f"{name}/edges": np.array([0, 0, y.edge, x.edge] * 2, np.int64),
        f"{name}/taps": np.ascontiguousarray(np.broadcast_to(kernel, (channels, 1, *kernel.shape))),
    }
    nodes = [
        Node(f"{node.name}/edges", "Pad", (node.inputs[0], f"{name}/edges"), (f"{name}/wide",), {"mode": "edge"}),
        Node(node.name, "ConvTranspose", (f"{name}/wide", f"{name}/taps"), (name,), attributes),
    ]
    return Replacement(nodes, constants)


def _matrix(model: Model, node: Node, source: tuple[int, ...], target: tuple[int, ...]) -> Replacement | None:
    """A dense layer over all pixels and channels, with channels last. Its bias is the number for pixels beyond the map."""
    n, c, h, w = source
    pixels, made = h * w, target[2] * target[3]
    nothing = _resized(model, node, np.zeros((1, 1, h, w)))
    if nothing.size != made:
        return None
    rows = _resized(model, node, np.eye(pixels).reshape(1, pixels, h, w)).reshape(pixels, made) - nothing.reshape(-1)
    weights = np.zeros((c, pixels, made, c), np.float32)
    for channel in range(c):
        weights[channel, :, :, channel] = rows
    name = node.output
    constants: dict[str, Array] = {
        f"{name}/row": np.array([n, c * pixels], np.int64), f"{name}/shape": np.array([n, *target[2:], c], np.int64),
        f"{name}/matrix": weights.reshape(c * pixels, made * c),
        f"{name}/beyond": nothing.reshape(-1).repeat(c).astype(np.float32),
    }  # fmt: skip
    nodes = [
        Node(f"{node.name}/row", "Reshape", (node.inputs[0], f"{name}/row"), (f"{name}/pixels",)),
        Node(node.name, "Gemm", (f"{name}/pixels", f"{name}/matrix", f"{name}/beyond"), (f"{name}/made",)),
        Node(f"{node.name}/map", "Reshape", (f"{name}/made", f"{name}/shape"), (f"{name}/last",)),
        Node(f"{node.name}/second", "Transpose", (f"{name}/last",), (name,), {"perm": [0, 3, 1, 2]}),
    ]
    return Replacement(nodes, constants)
