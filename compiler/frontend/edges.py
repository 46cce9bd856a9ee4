"""The edges of a model as its user has the data: raw pixels, channels last, 8-bit inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import onnx

from compiler.frontend.errors import ModelError
from compiler.frontend.importer.values import Params
from compiler.frontend.model import Array, Model, Node, TensorType

AS_IT_IS = "model"
TYPES = {"int8": onnx.TensorProto.INT8, "uint8": onnx.TensorProto.UINT8}
LAYOUTS = (AS_IT_IS, "nhwc")


@dataclass(frozen=True)
class Edges:
    """The form of the user's inputs and outputs, where it differs from the model's.

    With ``mean`` and ``scale``, one number or one for each channel, the model gets ``(x - mean) / scale`` of each float input.
    ``input_type`` and ``output_type`` are 8-bit types in place of float. With a mean or a scale an 8-bit input has whole
    numbers, as pixels are; else it has the numbers that the float input would be quantised to. ``input_layout`` is ``nhwc`` for
    inputs whose channels come last, though second in the model.
    """

    input_type: str = AS_IT_IS
    output_type: str = AS_IT_IS
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    input_layout: str = AS_IT_IS

    def check(self) -> None:
        """Refuses unknown types and layouts and impossible numbers, before any work is done."""
        for what, value, known in (
            ("input type", self.input_type, (AS_IT_IS, *TYPES)), ("output type", self.output_type, (AS_IT_IS, *TYPES)),
            ("input layout", self.input_layout, LAYOUTS),
        ):  # fmt: skip
            if value not in known:
                raise ModelError(f"{what} {value!r}: unknown; choose one of {', '.join(known)}")
        if not all(np.isfinite(self.mean)) or not all(np.isfinite(v) and v != 0 for v in self.scale):
            raise ModelError(
                f"input mean {list(self.mean)}, scale {list(self.scale)}: finite numbers are expected, and no scale of 0"
            )

    @property
    def raw(self) -> bool:
        """Whether the model prepares raw inputs with a mean or a scale."""
        return bool(self.mean or self.scale)

    def forms(self, model: Model) -> dict[str, Params]:
        """The forms of inputs that have whole numbers."""
        if not self.raw or self.input_type == AS_IT_IS:
            return {}
        return dict.fromkeys(float_inputs(model), Params(1.0, -128 if self.input_type == "uint8" else 0))


def prepared(model: Model, edges: Edges, inputs: Iterable[str]) -> Model:
    """The model with these inputs as the user has them: raw, and channels last if that is so."""
    for name in inputs if edges.raw or edges.input_layout != AS_IT_IS else ():
        model = _prepared(model, name, edges)
    return model


def _prepared(model: Model, name: str, edges: Edges) -> Model:
    shape = model.types[name].shape or ()
    nodes: list[Node] = []
    constants: dict[str, Array] = dict(model.constants)
    types = dict(model.types)
    current = name
    if edges.input_layout == "nhwc":
        if len(shape) < 3:
            raise ModelError(f"input {name}: shape {list(shape)} has no channels to bring to the end; leave the layout out")
        types[name] = TensorType(types[name].elem, (shape[0], *shape[2:], shape[1]))
        order = [0, len(shape) - 1, *range(1, len(shape) - 1)]
        nodes.append(Node(f"{name}/Transpose", "Transpose", (current,), (f"{name}/channels_second",), {"perm": order}))
        current = nodes[-1].output
    for kind, values in (("Sub", edges.mean), ("Div", edges.scale)):
        if values:
            constants[f"{name}/{kind}_by"] = _by_channel(name, values, shape)
            nodes.append(Node(f"{name}/{kind}", kind, (current, f"{name}/{kind}_by"), (f"{name}/{kind}_result",)))
            current = nodes[-1].output
    _check_not_captured(model, name)
    readers = [_reading(node, {name: current}) for node in model.nodes]
    return replace(model, types=types).with_nodes([*nodes, *readers], constants)


def _by_channel(name: str, values: tuple[float, ...], shape: tuple[int, ...]) -> Array:
    if len(values) == 1:
        return np.array(values[0], np.float32)
    channels = shape[1] if len(shape) > 1 else 1
    if len(values) != channels:
        raise ModelError(
            f"input {name}: {len(values)} means or scales for {channels} channels; give one number, or one for each channel"
        )
    return np.array(values, np.float32).reshape(channels, *(1,) * (len(shape) - 2))


def typed(model: Model, edges: Edges) -> Model:
    """A quantised model with 8-bit inputs and outputs where it has float ones that the machine reads or makes in 8 bits."""
    if edges.input_type != AS_IT_IS:
        inputs = float_inputs(model)
        if not inputs:
            raise ModelError(f"input type {edges.input_type}: the model has no float input; leave it out")
        for name in inputs:
            model = _typed_input(model, name, TYPES[edges.input_type])
    if edges.output_type != AS_IT_IS:
        makers = model.producers()
        outputs = [name for name in model.outputs if model.elem(name) == onnx.TensorProto.FLOAT]
        conversions = {name: makers[name] for name in outputs if makers[name].op_type == "DequantizeLinear"}
        quantised = [name for name, maker in conversions.items() if _per_tensor(model, maker)]
        if not quantised:
            raise ModelError(
                f"output type {edges.output_type}: no output is the float form of an 8-bit tensor "
                f"({', '.join(f'{n} is made by {makers[n].op_type}' for n in outputs) or 'none is float'}); leave it out"
            )
        for name in quantised:
            model = _typed_output(model, name, TYPES[edges.output_type])
    return model


def _typed_input(model: Model, name: str, elem: int) -> Model:
    found = next((n for n in model.consumers().get(name, ()) if n.op_type == "QuantizeLinear" and _per_tensor(model, n)), None)
    if found is None:
        readers = ", ".join(node.name for node in model.consumers().get(name, ()))
        raise ModelError(f"input {name}: is not quantised by what reads it ({readers}); leave the input type out")
    _check_not_captured(model, name)
    constants: dict[str, Array] = dict(model.constants)
    same = found.inputs[1:]
    zero = _zero_point(model, found, elem, name, constants)
    real = f"{name}/real"
    nodes = [Node(f"{name}/DequantizeLinear", "DequantizeLinear", (name, found.inputs[1], zero), (real,))]
    nodes += [
        Node(node.name, "Identity", (name,), node.outputs)
        if node.op_type == "QuantizeLinear" and node.inputs == (name, *same) and _elem(model, node) == elem
        else _reading(node, {name: real})
        for node in model.nodes
    ]
    types = {**model.types, name: TensorType(elem, model.shape(name)), real: model.types[name]}
    return replace(model, types=types).with_nodes(_read(nodes, model.outputs), constants)


def _typed_output(model: Model, name: str, elem: int) -> Model:
    maker = model.producers()[name]
    _check_not_captured(model, name)
    constants: dict[str, Array] = dict(model.constants)
    zero = _zero_point(model, maker, elem, name, constants)
    real = f"{name}/real"
    nodes = [_reading(node, {name: real}) for node in model.nodes if node.name != maker.name]
    place = model.nodes.index(maker)
    nodes.insert(place, replace(maker, outputs=(real,)))
    if elem == _elem(model, maker):
        nodes.append(Node(f"{name}/Identity", "Identity", (maker.inputs[0],), (name,)))
    else:
        nodes.append(Node(f"{name}/QuantizeLinear", "QuantizeLinear", (real, maker.inputs[1], zero), (name,)))
    types = {**model.types, name: TensorType(elem, model.shape(name)), real: model.types[name]}
    return replace(model, types=types).with_nodes(_read(nodes, model.outputs), constants)


def _zero_point(model: Model, node: Node, elem: int, name: str, constants: dict[str, Array]) -> str:
    """The name of a conversion's zero-point for another 8-bit type."""
    if elem == _elem(model, node):
        return node.input(2)
    stored = model.constants.get(node.input(2))
    value = int(stored.reshape(-1)[0]) if stored is not None else 0
    moved = value + (128 if elem == onnx.TensorProto.UINT8 else -128)
    given = f"{name}/zero_point"
    constants[given] = np.array(moved, onnx.helper.tensor_dtype_to_np_dtype(elem))
    return given


def _elem(model: Model, node: Node) -> int:
    """The 8-bit type of a conversion; without a zero-point it is uint8."""
    return model.elem(node.input(2)) if node.input(2) else onnx.TensorProto.UINT8


def _per_tensor(model: Model, node: Node) -> bool:
    scale = model.constants.get(node.input(1))
    known = not node.input(2) or node.input(2) in model.constants
    return scale is not None and scale.size == 1 and known and _elem(model, node) in TYPES.values()


def _reading(node: Node, names: Mapping[str, str]) -> Node:
    if not any(name in names for name in node.inputs):
        return node
    return replace(node, inputs=tuple(names.get(name, name) for name in node.inputs))


def _read(nodes: Iterable[Node], outputs: tuple[str, ...]) -> list[Node]:
    """The nodes whose results are read; only DequantizeLinear nodes can be without readers."""
    found = list(nodes)
    wanted = {name for node in found for name in node.reads()} | set(outputs)
    return [node for node in found if node.op_type != "DequantizeLinear" or node.output in wanted]


def float_inputs(model: Model) -> list[str]:
    return [name for name in model.inputs if model.elem(name) == onnx.TensorProto.FLOAT]


def _check_not_captured(model: Model, name: str) -> None:
    inside = next((node for node in model.nodes if name in node.captures()), None)
    if inside is not None or (name in model.outputs and name in model.inputs):
        where = f"is read inside of node {inside.name}" if inside else "is an output, too"
        raise ModelError(f"tensor {name}: {where}, so that its type, layout and values are to stay; leave these options out")
