"""Checks of a model before anything is computed from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import onnx

from compiler.definitions import long_maps
from compiler.definitions.integer_graph import DOMAIN
from compiler.definitions.rows import DIVISORS, INPUTS, TABLES
from compiler.frontend.errors import ModelError
from compiler.frontend.model import MICROSOFT, Model, Node

SCALE_INPUTS: dict[str, tuple[int, ...]] = {
    "QuantizeLinear": (1,), "DequantizeLinear": (1,), "QLinearConv": (1, 4, 6), "QLinearMatMul": (1, 4, 6),
    "QLinearAdd": (1, 4, 6), "QLinearMul": (1, 4, 6), "QGemm": (1, 4, 7), "QLinearAveragePool": (1, 3),
    "QLinearGlobalAveragePool": (1, 3), "QLinearLeakyRelu": (1, 3), "QLinearSigmoid": (1, 3), "QLinearConcat": (0,),
    "QLinearSoftmax": (1, 3),
}  # fmt: skip
"""The inputs of each operator that are scales."""

_BOUNDED = ("Clip", "Pad")
_POOLS = ("MaxPool", "AveragePool", "LpPool")
_DOMAINS = ("", "ai.onnx.ml", MICROSOFT, DOMAIN)
_OF_ONNXRUNTIME = ("SimplifiedLayerNormalization",)
"""Operators that onnxruntime has in the domain of ONNX, though ONNX has not."""


def check_operators(nodes: Iterable[Node], opsets: Mapping[str, int]) -> None:
    for node in nodes:
        if node.domain not in _DOMAINS:
            raise ModelError(
                f"node {node.name}: operator {node.domain}.{node.op_type} is of an unknown domain; "
                f"expected one of ONNX, ai.onnx.ml and com.microsoft: replace the node or remove it"
            )
        if node.domain == "" and node.op_type not in _OF_ONNXRUNTIME and not _known(node.op_type, opsets.get("", 0)):
            raise ModelError(
                f"node {node.name}: operator {node.op_type} is unknown in ONNX operator set {opsets.get('', 0)}; "
                "replace the node, or export the model with the operator set that has it"
            )


def _known(op_type: str, version: int) -> bool:
    return bool(onnx.defs.has(op_type, max_inclusive_version=version, domain="")) or onnx.defs.has(op_type)


def ordered(nodes: Sequence[Node], given: set[str]) -> tuple[Node, ...]:
    """The nodes in topological order. A cycle, a name that is made twice, or a name that nobody makes is refused."""
    maker: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in node.outputs:
            if name and (name in maker or name in given):
                raise ModelError(f"node {node.name}: tensor {name} is made twice; give each output its own name")
            maker[name] = index
    waiting = [0] * len(nodes)
    users: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        for name in dict.fromkeys(node.reads()):
            if name in given:
                continue
            if name not in maker:
                raise ModelError(f"node {node.name}: input {name} is made by no node and is no input or constant of the model")
            users[maker[name]].append(index)
            waiting[index] += 1
    ready = [i for i in range(len(nodes)) if waiting[i] == 0]
    order: list[int] = []
    for index in ready:
        order.append(index)
        for user in users[index]:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    if len(order) < len(nodes):
        stuck = next(node for i, node in enumerate(nodes) if waiting[i])
        raise ModelError(f"node {stuck.name}: lies on a cycle; an ONNX graph must have none")
    return tuple(nodes[i] for i in (range(len(nodes)) if order == sorted(order) else order))


def check_constants(model: Model) -> None:
    for node in model.nodes:
        _check_quantisation(model, node)
        if node.domain == DOMAIN:
            _check_call(model, node)


def check_windows(nodes: Iterable[Node]) -> None:
    """Refuses dilated pools with SAME pads: onnxruntime leaves the dilation out of these pads, and infers another size."""
    for node in nodes:
        dilation = node.integers("dilations", ())
        mode = node.text("auto_pad", "NOTSET")
        if node.op_type in _POOLS and not node.domain and mode.startswith("SAME") and max(dilation, default=1) > 1:
            raise ModelError(
                f"node {node.name}: auto_pad is {mode} with dilations {list(dilation)}, which onnxruntime "
                "leaves out of the pads; export the model with pads in numbers"
            )


def check_shapes(model: Model) -> None:
    """Refuses shapes of convolutions that onnxruntime would only refuse when it runs the model."""
    for node in model.nodes:
        if node.op_type not in ("Conv", "ConvTranspose", "QLinearConv") or node.domain:
            continue
        data, weights = model.shape(node.inputs[0]), model.shape(node.inputs[3 if node.op_type == "QLinearConv" else 1])
        groups = node.integer("group", 1)
        if data is None or weights is None:
            continue
        expected = weights[0] if node.op_type == "ConvTranspose" else weights[1] * groups
        if data[1] != expected or weights[0] % groups:
            raise ModelError(
                f"node {node.name}: input {node.inputs[0]} has {data[1]} channels, {expected} are expected by its weights "
                f"{list(weights)} in {groups} group{'s' if groups > 1 else ''}; export the model again"
            )


def finite(model: Model, node: Node) -> bool:
    """Whether the constants that a node reads are finite; Clip and Pad may have infinite bounds."""
    read = () if node.op_type in _BOUNDED else (model.constants.get(name) for name in node.reads())
    return all(
        value is None or value.dtype.kind != "f" or value.dtype.itemsize == 1 or np.isfinite(value).all() for value in read
    )


def _check_call(model: Model, node: Node) -> None:
    """Checks a call of an integer definition: its inputs but the operand are int64 constants, as the compiler writes them."""
    definitions = {**INPUTS, **long_maps.INPUTS}
    names = definitions.get(node.op_type, ())
    if len(node.inputs) != len(names):
        known = ", ".join(f"{name} of {len(inputs)} inputs" for name, inputs in definitions.items())
        raise ModelError(
            f"node {node.name}: {node.domain}.{node.op_type} of {len(node.inputs)} inputs is unknown; expected {known}: "
            "replace the node or remove it"
        )
    for role, name in list(zip(names, node.inputs, strict=True))[1:]:
        value = model.constants.get(name)
        sound = value is not None and value.dtype == np.int64 and value.ndim == (role in TABLES)
        if node.op_type in long_maps.INPUTS:
            sound = value is not None
        if not sound or (role == "divisor" and value not in DIVISORS) or (role == "centred" and value not in (0, 1)):
            found = "no constant" if value is None else f"{value.dtype} {value.tolist()}"[:40]
            raise ModelError(
                f"node {node.name}: {role} {name} is {found}, what --save-onnx writes is expected; "
                "write it again"
            )


def _check_quantisation(model: Model, node: Node) -> None:
    for index in SCALE_INPUTS.get(node.op_type, ()):
        scale = model.constants.get(node.input(index))
        if scale is not None and not ((scale > 0) & (scale < np.inf)).all():
            wrong = scale[~((scale > 0) & (scale < np.inf))]
            raise ModelError(
                f"node {node.name}: scale {node.input(index)} is {float(wrong[0])}, a finite number above 0 is expected; "
                "quantise the model again"
            )
    if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
        zero_point = model.constants.get(node.input(2))
        data = model.constants.get(node.input(0))
        _check_axis(model, node)
        if zero_point is None:
            return
        if zero_point.dtype == np.int32 and zero_point.any():
            raise ModelError(
                f"node {node.name}: zero-point {node.input(2)} is {int(np.abs(zero_point).max())} for int32 data, "
                "0 is expected; quantise the model again"
            )
        if data is not None and data.dtype != zero_point.dtype:
            raise ModelError(
                f"node {node.name}: zero-point {node.input(2)} is {zero_point.dtype}, {data.dtype} like {node.input(0)} "
                "is expected; quantise the model again"
            )


def _check_axis(model: Model, node: Node) -> None:
    """Refuses an axis of scales that does not exist, or whose size is not the number of scales."""
    scale, data = model.constants.get(node.input(1)), model.constants.get(node.input(0))
    if scale is None or data is None or scale.ndim != 1 or scale.size == 1 or node.integer("block_size", 0):
        return
    axis = node.integer("axis", 1)
    if not -data.ndim <= axis < data.ndim:
        raise ModelError(
            f"node {node.name}: axis is {axis}, {-data.ndim} to {data.ndim - 1} are expected for {node.input(0)} of shape "
            f"{list(data.shape)} with {scale.size} scales; quantise the model again"
        )
    if data.shape[axis] != scale.size:
        raise ModelError(
            f"node {node.name}: {scale.size} scales, {data.shape[axis]} are expected for axis {axis} of {node.input(0)}, whose "
            f"shape is {list(data.shape)}; quantise the model again"
        )
