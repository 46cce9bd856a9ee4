"""Functions of one tensor that are a tensor's only readers: the tensor needs only what the function makes of it.

Where a function is flat (below -3 for a hard swish, far out for a sigmoid), the range of its input may end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import onnx
from numpy.typing import NDArray

from compiler.frontend.constraints.elementwise import UNARY
from compiler.frontend.model import Model, Node, TensorType, part_proto
from compiler.frontend.session import run_session, session
from compiler.quantise.forms import BINARY, Form, Forms, activations_of

Float = NDArray[np.float32]
Function = Callable[[Float], Float]


def functions_of(forms: Forms) -> dict[str, Function]:
    """The functions by the tensor that they read. The results of several functions of a tensor lie beside each other."""
    model = forms.model
    readers, makers = model.consumers(), model.producers()
    regions: dict[str, list[tuple[str, list[Node]]]] = {}
    for node in model.nodes:
        if forms.of.get(node.name) is Form.FLOAT and node.op_type in BINARY.union(UNARY):
            nodes, sources = _region(forms, makers, node)
            if len(sources) == 1 and all(model.constants[name].size == 1 for each in nodes for name in _constants(model, each)):
                regions.setdefault(sources.pop(), []).append((node.output, nodes))
    found = dict[str, Function]()
    for source, results in regions.items():
        names = {node.name for _, part in results for node in part}
        if all(reader.name in names for reader in readers[source]) and source not in model.outputs:
            whole = [node for node in model.nodes if node.name in names]
            found[source] = _function(model, source, whole, [name for name, _ in results])
    return found


def _constants(model: Model, node: Node) -> list[str]:
    return [name for name in node.reads() if name in model.constants]


def _region(forms: Forms, makers: Mapping[str, Node], last: Node) -> tuple[list[Node], set[str]]:
    """The nodes of a function, and the tensors that it reads in int8."""
    nodes, sources = {last.name: last}, set[str]()
    left = [last]
    while left:
        for name in activations_of(forms.model, left.pop()):
            maker = makers.get(name)
            if maker is None or forms.of.get(maker.name) is not Form.INSIDE:
                sources.add(name)
            elif maker.name not in nodes:
                nodes[maker.name] = maker
                left.append(maker)
    return [*nodes.values()], sources


def _function(model: Model, source: str, nodes: list[Node], results: list[str]) -> Function:
    """The nodes as a function of values of any shape; functions of one tensor do not depend on the place."""
    free: Mapping[str, TensorType] = {
        name: TensorType(onnx.TensorProto.FLOAT, None) for node in nodes for name in (source, *node.outputs)
    }
    constants = {
        name: value.reshape(()) if value.size == 1 and value.dtype == np.float32 else value
        for name, value in model.constants.items()
    }
    part = replace(model, types={**model.types, **free}, constants=constants)
    loaded = session(part_proto(part, nodes, [source], results), threads=1)

    def function(values: Float) -> Float:
        found = run_session(loaded, {source: np.ascontiguousarray(values, np.float32)}, results)
        return np.stack([np.asarray(found[name], np.float32) for name in results])

    return function
