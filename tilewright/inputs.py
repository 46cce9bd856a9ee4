"""Random inputs of a program that its model can run on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from isa.program import Program
from tilewright.profile.shapes import model_of, shapes_of

Array = NDArray[Any]

_INDEXED = {
    "Gather": 1, "GatherElements": 1, "GatherND": 1, "ScatterElements": 1, "Scatter": 1, "ScatterND": 1, "RoiAlign": 2,
}  # fmt: skip
"""The operators that look something up, each with the input that says where."""
_SAME_VALUES = {
    "Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Slice", "Expand", "Concat", "Tile",
}  # fmt: skip
_WIDE_BYTES = 4
"""The least bytes of integers that are sizes, places and flags, not quantised values."""


def random_inputs(program: Program, seed: int = 0) -> dict[str, Array]:
    """Inputs of the right shape and type: normal floats, uniform integers and flags; indices are places that exist."""
    rng = np.random.default_rng(seed)
    wide = [t for t in program.inputs if np.dtype(t.type).kind in "iu" and np.dtype(t.type).itemsize >= _WIDE_BYTES]
    places = _places(program) if wide else {}
    made: dict[str, Array] = {}
    for tensor in program.inputs:
        kind = np.dtype(tensor.type)
        if kind.kind == "f":
            made[tensor.name] = rng.normal(size=tensor.shape).astype(kind)
        elif kind.kind == "b" or tensor in wide:
            made[tensor.name] = rng.integers(0, places.get(tensor.name, 2), tensor.shape).astype(kind)
        else:
            limits = np.iinfo(kind)
            made[tensor.name] = rng.integers(limits.min, limits.max + 1, tensor.shape).astype(kind)
    return made


def _places(program: Program) -> dict[str, int]:
    """For each input that holds indices, the number of places to choose from wherever it is used."""
    model = model_of(program)
    if model is None:
        return {}
    origins: dict[str, set[str]] = {tensor.name: {tensor.name} for tensor in program.inputs}
    for node in model.graph.node:
        if node.op_type in _SAME_VALUES:
            origins[node.output[0]] = set().union(*(origins.get(name, set()) for name in node.input))
    users = [node for node in model.graph.node if node.op_type in _INDEXED]
    shapes = shapes_of(model, program.inputs, (name for node in users for name in node.input[:3]))
    found: dict[str, int] = {}
    for node in users:
        data, where = node.input[0], node.input[_INDEXED[node.op_type]]
        if data in shapes and where in shapes:
            sizes = list(_looked_up(node, shapes[data], shapes[where]))
            for name in origins.get(where, ()):
                found[name] = min([*sizes, found.get(name, 1 << 31)])
    return found


def _looked_up(node: onnx.NodeProto, data: tuple[int, ...], indices: tuple[int, ...]) -> Iterator[int]:
    """The sizes of the dimensions that the indices run over."""
    given = {attribute.name: attribute.i for attribute in node.attribute}
    if node.op_type in ("GatherND", "ScatterND"):
        first = given.get("batch_dims", 0)
        yield from data[first : first + indices[-1]]
    else:  # RoiAlign chooses among the images
        yield data[given.get("axis", 0)]
