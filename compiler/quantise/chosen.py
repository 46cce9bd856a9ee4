"""Finds the calibration method of each tensor: the one that makes least noise in the layers that read the tensor.

Layers are linear: the noise of a result is what the layer, without its bias, makes of the noise of its input. The ranges come
from other inputs than those on which methods are chosen. Naive reference: run the layer on both tensors, and subtract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx
from numpy.typing import NDArray

from compiler.frontend.importer.values import Params
from compiler.frontend.model import Array, Model, Node, TensorType, part_proto
from compiler.frontend.session import run_session, session
from compiler.quantise.draft import Draft
from compiler.quantise.forms import Form
from compiler.quantise.methods import Method
from compiler.quantise.reference import showing
from compiler.quantise.statistics import Feeds

Float = NDArray[np.float32]
Layer = Callable[[Float], Float]
WINDOW = 64
"""The rows and columns of a map that are looked at in each input; kernels that reach further get more."""
_SEED = 4


def methods_of(draft: Draft, feeds: Iterable[Feeds], tried: Mapping[str, Method]) -> dict[str, str]:
    """The name of the best method for each set of tensors that share a scale, by root.

    A tensor is left out where all methods give it the same form.
    """
    forms = {name: draft.params(method) for name, method in tried.items()}
    tensors = {name: root for root, names in draft.members.items() for name in names if _differ(forms, name)}
    readers = {name: _readers(draft, name) for name in tensors}
    sizes = {name: _window_of(draft, name) for name in tensors}
    shown = [name for name in tensors if name not in draft.model.inputs]
    loaded = session(showing(draft.model, shown), optimised=True) if shown else None
    rng = np.random.default_rng(_SEED)
    power: dict[str, NDArray[np.float64]] = {}
    for each in feeds:
        values = {**each, **(run_session(loaded, each, shown) if loaded is not None else {})}
        for name in tensors:
            found = _powers(_window(values[name], rng, sizes[name]), [forms[how][name] for how in tried], readers[name])
            power[name] = power[name] + found if name in power else found
    noise = dict[str, NDArray[np.float64]]()
    for name, root in tensors.items():
        shares = power[name][:, 1:] / np.maximum(power[name][:, :1], 1e-30)
        noise[root] = noise.get(root, np.zeros(len(tried))) + shares.sum(axis=0)
    names = [*tried]
    return {root: names[int(found.argmin())] for root, found in noise.items()}


def _differ(forms: Mapping[str, Mapping[str, Params]], name: str) -> bool:
    return len({params[name] for params in forms.values()}) > 1


def _readers(draft: Draft, name: str) -> list[Layer]:
    """The functions whose results are compared: each layer that reads the tensor, and the identity for any other reader.

    A node that only moves the tensor does not count.
    """
    found: list[Layer] = []
    root, itself = draft.forms.root(name), name in draft.model.outputs
    for node in draft.model.consumers().get(name, ()):
        if draft.forms.of.get(node.name) in (Form.CONV, Form.GEMM):
            found.append(_layer(draft.model, node))
        elif not any(draft.forms.root(each) == root for each in node.outputs):
            itself = True
    return [*found, _same] if itself or not found else found


def _same(values: Float) -> Float:
    return values


def _layer(model: Model, node: Node) -> Layer:
    """The layer as a function, without its bias, for any number of inputs."""
    source, result = node.inputs[0], node.output
    free = {name: TensorType(onnx.TensorProto.FLOAT, None) for name in (source, result)}
    bare = replace(model, types={**model.types, **free})
    loaded = session(part_proto(bare, [replace(node, inputs=node.inputs[:2])], [source], [result]), threads=1, optimised=True)
    return lambda values: run_session(loaded, {source: values}, [result])[result]


def _window_of(draft: Draft, name: str) -> int:
    """The size of the window for a tensor: ``WINDOW``, or twice the reach of the largest kernel that reads it."""
    most = WINDOW
    for node in draft.model.consumers().get(name, ()):
        if node.op_type == "Conv":
            kernel = (draft.model.shape(node.inputs[1]) or ())[2:]
            most = max(most, 2 * max(kernel, default=1) * max(node.integers("dilations", (1,))))
    return most


def _window(values: Array, rng: np.random.Generator, most: int) -> Float:
    """A window of the map at a random place, if the map is larger than the window."""
    places = [slice(None)] * min(values.ndim, 2)
    for size in values.shape[2:]:
        first = int(rng.integers(0, max(size - most, 0) + 1))
        places.append(slice(first, first + most))
    return np.ascontiguousarray(values[tuple(places)], np.float32)


def _powers(values: Float, forms: Sequence[Params], readers: Sequence[Layer]) -> NDArray[np.float64]:
    """A row for each reader: the power of the signal in its result, then the power of the noise of each form."""
    noise = [values, *(_rounded(values, params) - values for params in forms)]
    stacked = np.concatenate(noise)
    made = [read(stacked).reshape(len(noise), -1) for read in readers]
    return np.array([np.square(each, dtype=np.float64).sum(axis=1) for each in made])


def _rounded(values: Float, params: Params) -> Float:
    scale = np.float32(params.scale)
    stored = np.clip(np.rint(values / scale) + params.zero_point, -128, 127)
    return np.asarray((stored - params.zero_point) * scale, np.float32)
