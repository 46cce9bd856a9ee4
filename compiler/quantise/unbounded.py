"""Infinity and NaN on purpose, as masks have them. Nodes that read such constants, or what they lead to, stay in float."""

from __future__ import annotations

import numpy as np
import onnx

from compiler.frontend.checks import finite
from compiler.frontend.model import Array, Model, part_proto
from compiler.frontend.session import run

_SEED = 5


def unbounded(model: Model) -> frozenset[str]:
    """The nodes that read such a constant, and those that make or read a tensor that holds infinity or NaN because of one.

    One random input shows which tensors do.
    """
    found = {node.name for node in model.nodes if not finite(model, node)}
    if not found:
        return frozenset()
    reached: set[str] = set()
    for node in model.nodes:
        if node.name in found or not reached.isdisjoint(node.reads()):
            reached |= {name for name in node.outputs if name and model.elem(name) == onnx.TensorProto.FLOAT}
    names = [name for name in dict.fromkeys(name for node in model.nodes for name in node.outputs) if name in reached]
    values = run(part_proto(model, model.nodes, model.inputs, names), _feeds(model), names)
    endless = {name for name, value in values.items() if not np.isfinite(value).all()}
    touched = {node.name for node in model.nodes if not endless.isdisjoint((*node.reads(), *node.outputs))}
    return frozenset(found | touched)


def _feeds(model: Model) -> dict[str, Array]:
    rng = np.random.default_rng(_SEED)
    feeds = {}
    for name in model.inputs:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(model.elem(name))
        noise = rng.standard_normal(model.shape(name) or ())
        feeds[name] = noise.astype(dtype) if dtype.kind == "f" else np.zeros(noise.shape, dtype)
    return feeds
