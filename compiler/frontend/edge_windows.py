"""Windows at the edge of a map for which onnxruntime infers another size than it makes.

It may count a last window of ``ceil_mode`` that begins behind the map, or padding of an output that ``auto_pad`` takes away
again. With pads in numbers it infers what it makes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import helper

from compiler.frontend.errors import ModelError
from compiler.frontend.model import Model, Node, TensorType, part_proto
from compiler.frontend.session import run


def with_pads_in_numbers(model: Model) -> Model:
    """The model with pads in numbers for the first node that needs them; the same model, if none does."""
    for index, node in enumerate(model.nodes):
        size = _other_size(model, node) if _may_differ(node) else None
        if size is not None:
            padded = _padded_transposed if node.op_type == "ConvTranspose" else _padded_pool
            return replace(model, nodes=(*model.nodes[:index], padded(model, node, size), *model.nodes[index + 1 :]))
    return model


def _may_differ(node: Node) -> bool:
    return bool(node.integer("ceil_mode", 0)) or any(node.integers("output_padding", ()))


def _other_size(model: Model, node: Node) -> tuple[int, ...] | None:
    """The size of the output that onnxruntime makes of zeros; None, if it infers the same."""
    read = {name: model.types[name] for name in node.reads() if name not in model.constants}
    inferred = model.shape(node.output)
    if inferred is None or any(known.shape is None for known in read.values()):
        return None
    types = {**model.types, node.output: TensorType(model.elem(node.output), None)}
    part = part_proto(replace(model, types=types), [node], [*read], [node.output])
    zeros = {n: np.zeros(t.shape or (), helper.tensor_dtype_to_np_dtype(t.elem)) for n, t in read.items()}
    made = run(part, zeros)[node.output].shape
    return None if made == inferred else made[2:]


def _padded_transposed(model: Model, node: Node, made: tuple[int, ...]) -> Node:
    size, kernel = ((model.shape(name) or ())[2:] for name in node.inputs[:2])
    strides, extra = node.integers("strides", [1] * len(size)), node.integers("output_padding", [0] * len(size))
    first, last = [], []
    for i, reach in enumerate(_reaches(node, kernel)):
        total = max(0, strides[i] * (size[i] - 1) + extra[i] + reach - made[i])
        first.append(total // 2 if node.text("auto_pad", "") == "SAME_UPPER" else total - total // 2)
        last.append(total - first[i])
    return _with_pads(node, [*first, *last], ())


def _padded_pool(model: Model, node: Node, made: tuple[int, ...]) -> Node:
    size, kernel = (model.shape(node.inputs[0]) or ())[2:], node.integers("kernel_shape", ())
    rank = len(size)
    strides, given = node.integers("strides", [1] * rank), node.integers("pads", [0] * 2 * rank)
    counted = node.integer("count_include_pad", 0) and any(given)
    last = []
    for i, reach in enumerate(_reaches(node, kernel)):
        last.append(max(given[i + rank], strides[i] * (made[i] - 1) + reach - size[i] - given[i]))
        if last[i] > given[i + rank] and (counted or last[i] >= kernel[i]):
            raise ModelError(
                f"node {node.name}: ceil_mode adds a window on one side and none on the other, whose padding cannot be "
                "given in numbers; export the model with ceil_mode 0"
            )
    return _with_pads(node, [*given[:rank], *last], () if any(given) else ("count_include_pad",))


def _reaches(node: Node, kernel: tuple[int, ...]) -> list[int]:
    """Pixels from the first to the last tap of a window."""
    dilations = node.integers("dilations", [1] * len(kernel))
    return [(taps - 1) * dilation + 1 for taps, dilation in zip(kernel, dilations, strict=True)]


def _with_pads(node: Node, pads: list[int], without: tuple[str, ...]) -> Node:
    attributes = {name: value for name, value in node.attributes.items() if name not in ("auto_pad", "ceil_mode", *without)}
    return replace(node, attributes={**attributes, "pads": pads})
