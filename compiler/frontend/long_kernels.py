"""Writes kernels along one dimension that are longer than a window as kernels of several rows over shifted copies of a map.

Row ``i`` is the map from sample ``i t`` on, and has the taps ``i t`` to ``(i + 1) t`` of the kernel. Every sum is the same.
"""

from __future__ import annotations

import numpy as np

from compiler.frontend.model import Array, Model, Node, TensorType
from compiler.frontend.rewrite import Replacement, rewritten

MOST = 255
"""The most taps of a row."""


def with_long_kernels_in_rows(model: Model) -> Model:
    """The model with such kernels in rows; the model itself, if it has none.

    ``model`` has its types, and operator set 13 or a later one.
    """
    return rewritten(model, _in_rows)


def _in_rows(model: Model, node: Node) -> Replacement | None:
    source, target = model.shape(node.input(0)), model.shape(node.output)
    weights = model.constants.get(node.input(1))
    if node.op_type != "Conv" or node.domain or source is None or target is None or weights is None:
        return None
    if len(source) not in (3, 4) or node.text("auto_pad", "NOTSET") != "NOTSET":
        return None
    rank = len(source) - 2
    size = max(weights.shape[2:])
    along = weights.shape[2:].index(size)
    strides, dilations, pads = (node.integers(name, (default,) * count) for name, default, count in
                                (("strides", 1, rank), ("dilations", 1, rank), ("pads", 0, 2 * rank)))  # fmt: skip
    others = [i for i in range(rank) if i != along]
    alone = all(source[2 + i] == weights.shape[2 + i] == 1 and pads[i] == pads[rank + i] == 0 for i in others)
    # Long strides over one channel become phases (compiler/quantise/phases.py).
    if size <= MOST or not alone or set(dilations) != {1} or (strides[along] > 1 and weights.shape[1] == 1):
        return None
    rows = -(-size // MOST)
    taps = -(-size // rows)
    wide = (target[2 + along] - 1) * strides[along] + taps
    n, channels, outputs = source[0], source[1], len(weights)
    before, length = pads[along], source[2 + along]
    behind = max(0, wide + (rows - 1) * taps - length - before)
    label, elem = node.output, model.elem(node.output)
    kernel = np.zeros((outputs, weights.shape[1], rows * taps), weights.dtype)
    kernel[:, :, :size] = weights.reshape(outputs, weights.shape[1], size)
    constants: dict[str, Array] = {
        f"{label}/pads": np.array([0, 0, 0, before, 0, 0, 0, behind]), f"{label}/axis": np.array([3]),
        f"{label}/rows_axis": np.array([2]),
        f"{label}/taps": kernel.reshape(outputs, weights.shape[1], rows, taps),
    }  # fmt: skip
    row, line, whole, result = (f"{label}/{name}" for name in ("row", "line", "rows", "result"))

    def turned(name: str, source: str, made: str, kind: str) -> Node:
        """The node between the map and one that has the samples in its columns."""
        if rank == 1:
            return Node(name, kind, (source, f"{label}/rows_axis"), (made,))
        return Node(name, "Transpose", (source,), (made,), {"perm": [0, 1, 2, 3] if along else [0, 1, 3, 2]})

    nodes = [turned(row, node.inputs[0], row, "Unsqueeze")]
    types = {row: TensorType(elem, (n, channels, 1, length))}
    if before or behind:
        nodes.append(Node(line, "Pad", (row, f"{label}/pads"), (line,)))
        types[line] = TensorType(elem, (n, channels, 1, before + length + behind))
    parts, line = [], nodes[-1].output
    for index in range(rows):
        part, bounds = f"{label}/row{index}", (index * taps, index * taps + wide)
        constants |= {f"{part}/{name}": np.array([bound]) for name, bound in zip(("from", "to"), bounds, strict=True)}
        nodes.append(Node(part, "Slice", (line, f"{part}/from", f"{part}/to", f"{label}/axis"), (part,)))
        types[part] = TensorType(elem, (n, channels, 1, wide))
        parts.append(part)
    attributes = {
        "kernel_shape": [rows, taps], "strides": [1, strides[along]], "group": node.integer("group", 1), "pads": [0] * 4,
        "dilations": [1, 1],
    }  # fmt: skip
    nodes += [
        Node(whole, "Concat", tuple(parts), (whole,), {"axis": 2}),
        Node(node.name, "Conv", (whole, f"{label}/taps", *node.inputs[2:]), (result,), attributes),
        turned(f"{label}/turned", result, label, "Squeeze"),
    ]
    types |= {
        whole: TensorType(elem, (n, channels, rows, wide)), result: TensorType(elem, (n, outputs, 1, target[2 + along]))
    }
    return Replacement(nodes, constants, types)
