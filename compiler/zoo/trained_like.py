"""Traits of trained models that random ones lack: weights of odd distributions, and the forms that exporters write.

Each trait takes a float model and gives it another form, or other weights. Traits of form are for models that nobody quantises
afterwards: onnxruntime's tool does not know them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Float32 = NDArray[np.float32]
LAYERS = {"Conv": 0, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1}
"""The operators with weights, and the axis of the weights' output channels."""
PLANES = ("Conv", "ConvTranspose", "MaxPool", "AveragePool")
LEFT = 0.2
"""The share of sparse weights that is left."""


def trained_like(model: onnx.ModelProto, traits: Sequence[str], seed: int) -> onnx.ModelProto:
    """A copy of the model with these traits."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for trait in traits:
        {**WEIGHTS, **FORMS}[trait](made, np.random.default_rng(seed))
    return made


def _weights(model: onnx.ModelProto) -> list[tuple[onnx.TensorProto, int]]:
    """The constants that layers read as weights, with the axis of the outputs."""
    axes = {node.input[1]: LAYERS[node.op_type] for node in model.graph.node if node.op_type in LAYERS}
    found = [tensor for tensor in model.graph.initializer if tensor.name in axes and len(tensor.dims) >= 2]
    return [(tensor, axes[tensor.name]) for tensor in found if tensor.data_type == TensorProto.FLOAT]


def _change(model: onnx.ModelProto, function: Callable[[Float32, int], Any]) -> None:
    for tensor, axis in _weights(model):
        values = np.asarray(function(numpy_helper.to_array(tensor), axis), np.float32)
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))


def _by_channel(values: Float32, axis: int, factors: NDArray[np.float64]) -> Any:
    return values * factors.reshape([-1 if i == axis else 1 for i in range(values.ndim)])


def heavy_tails(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Makes a few weights many times as large as the others."""
    _change(model, lambda values, _: values * np.minimum(np.abs(rng.standard_t(2, values.shape)), 30))


def dead_channels(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Makes all weights of some outputs zero, as pruning and strong decay do."""
    _change(model, lambda values, axis: _by_channel(values, axis, np.where(rng.random(values.shape[axis]) > 0.3, 1.0, 0.0)))


def uneven_channels(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Makes outputs very different in size, as folded batch normalisation does."""
    _change(model, lambda values, axis: _by_channel(values, axis, np.exp2(rng.uniform(-6, 2, values.shape[axis]))))


def half_constants(model: onnx.ModelProto, _: np.random.Generator) -> None:
    """Stores weights in float16 behind a Cast."""
    for tensor, _axis in _weights(model):
        name, values = tensor.name, numpy_helper.to_array(tensor).astype(np.float16)
        tensor.CopyFrom(numpy_helper.from_array(values, f"{name}/half"))
        model.graph.node.insert(0, helper.make_node("Cast", [f"{name}/half"], [name], f"{name}/Cast", to=TensorProto.FLOAT))


def sparse_constants(model: onnx.ModelProto, rng: np.random.Generator) -> None:
    """Makes most weights zero, and leaves them out."""
    for tensor, _axis in _weights(model):
        values = numpy_helper.to_array(tensor)
        places = np.flatnonzero(rng.random(values.size) < LEFT).astype(np.int64)
        kept = numpy_helper.from_array(values.reshape(-1)[places], tensor.name)
        found = helper.make_sparse_tensor(kept, numpy_helper.from_array(places, f"{tensor.name}/places"), values.shape)
        model.graph.initializer.remove(tensor)
        model.graph.sparse_initializer.append(found)


def _more(model: onnx.ModelProto, nodes: Sequence[onnx.NodeProto], constants: dict[str, Any], output: str) -> None:
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items())
    model.graph.output.append(onnx.ValueInfoProto(name=output))


def endless_constants(model: onnx.ModelProto, _: np.random.Generator) -> None:
    """Adds a mask of minus infinity and NaN for missing values behind the first output, then a bound and zeros for them."""
    y = model.graph.output[0].name
    constants = {
        "mask/zero": np.float32(0), "mask/least": np.float32(-3), "mask/endless": np.float32(-np.inf),
        "mask/nan": np.float32(np.nan),
    }  # fmt: skip
    nodes = [
        helper.make_node("Less", [y, "mask/zero"], ["mask/below"], "mask/Less"),
        helper.make_node("Where", ["mask/below", "mask/endless", y], ["mask/masked"], "mask/Where"),
        helper.make_node("Max", ["mask/masked", "mask/least"], ["mask/y"], "mask/Max"),
        helper.make_node("Where", ["mask/below", "mask/nan", y], ["mask/holes"], "mask/Holes"),
        helper.make_node("IsNaN", ["mask/holes"], ["mask/hole"], "mask/IsNaN"),
        helper.make_node("Where", ["mask/hole", "mask/zero", "mask/y"], ["mask/filled"], "mask/Fill"),
    ]
    _more(model, nodes, constants, "mask/filled")


def captured(model: onnx.ModelProto, _: np.random.Generator) -> None:
    """Adds an If and a Loop that read the first output from within."""
    y = model.graph.output[0].name
    info = onnx.ValueInfoProto
    whole, flag = (helper.make_tensor_value_info(n, t, []) for n, t in (("turn", TensorProto.INT64), ("on", TensorProto.BOOL)))
    state = helper.make_tensor_value_info("state", TensorProto.FLOAT, None)
    then = helper.make_graph([helper.make_node("Mul", [y, "inner/half"], ["then"])], "then", [], [info(name="then")])
    other = helper.make_graph([helper.make_node("Neg", [y], ["else"])], "else", [], [info(name="else")])
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["state", "inner/half"], ["less"]), helper.make_node("Add", ["less", y], ["next"]),
            helper.make_node("Identity", ["on"], ["still"]),
        ],
        "body", [whole, flag, state], [info(name="still"), info(name="next")],
    )  # fmt: skip
    nodes = [
        helper.make_node("ReduceMax", [y], ["inner/most"], "inner/ReduceMax", keepdims=0),
        helper.make_node("Less", ["inner/half", "inner/most"], ["inner/above"], "inner/Less"),
        helper.make_node("If", ["inner/above"], ["inner/chosen"], "inner/If", then_branch=then, else_branch=other),
        helper.make_node("Loop", ["inner/turns", "inner/true", "inner/chosen"], ["inner/y"], "inner/Loop", body=body),
    ]
    constants = {"inner/half": np.float32(0.5), "inner/turns": np.int64(2), "inner/true": np.True_}
    _more(model, nodes, constants, "inner/y")


def channels_last(model: onnx.ModelProto, _: np.random.Generator) -> None:
    """Puts every window on planes between a Transpose to channels second and one back, as converters of other formats do."""
    ranks = {tensor.name: len(tensor.dims) for tensor in model.graph.initializer}
    nodes: list[onnx.NodeProto] = []
    for number, node in enumerate(model.graph.node):
        by_weights = ranks.get((*node.input, "", "")[1], 0) - 2
        sides = next((len(a.ints) for a in node.attribute if a.name == "kernel_shape"), by_weights)
        if node.op_type not in PLANES or sides != 2 or len(node.output) != 1:
            nodes.append(node)
            continue
        before, after = node.input[0], node.output[0]
        names = [f"last{number}/{each}" for each in ("x", "first", "made", "y")]
        node.input[0], node.output[0] = names[1], names[2]
        there, back = [0, 2, 3, 1], [0, 3, 1, 2]
        nodes += [
            helper.make_node("Transpose", [before], [names[0]], f"{names[0]}/T", perm=there),
            helper.make_node("Transpose", [names[0]], [names[1]], f"{names[1]}/T", perm=back), node,
            helper.make_node("Transpose", [names[2]], [names[3]], f"{names[3]}/T", perm=there),
            helper.make_node("Transpose", [names[3]], [after], f"{after}/T", perm=back),
        ]  # fmt: skip
    kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(kept)


Trait = Callable[[onnx.ModelProto, np.random.Generator], None]
WEIGHTS: dict[str, Trait] = {"heavy tails": heavy_tails, "dead channels": dead_channels, "uneven channels": uneven_channels}
FORMS: dict[str, Trait] = {
    "half constants": half_constants, "sparse constants": sparse_constants, "endless constants": endless_constants,
    "captured": captured, "channels last": channels_last,
}  # fmt: skip
