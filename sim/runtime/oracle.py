"""Settings of onnxruntime as people run a quantised model: QDQ patterns become integer kernels, floats are computed node by
node.

onnxruntime's own optimiser makes the replacement. Its other changes to float nodes are off, and all quantisations that the
model names are made. Two traps of its x86 kernels are avoided, which does not change what the model says. int8 activations may
use the integer kernels (as on ARM). int8 weights beside uint8 activations become uint8 weights with zero-point 128, because
without VNNI instructions the kernel for the mixture saturates its sums of two products at 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from sim.runtime.sessions import onnxruntime

FLOAT, INTEGER, WHOLE, EXACT = "float", "integer", "optimised", "optimised exactly"
"""The ways in which onnxruntime reads a model: node by node, with integer kernels, with every optimisation, and with every
optimisation but without the traps."""
ORACLES = (INTEGER, FLOAT)
CHANGE_FLOATS = (
    "AttentionFusion", "BiasDropoutFusion", "BiasGeluFusion", "BiasSkipLayerNormFusion", "BiasSoftmaxFusion",
    "ConvActivationFusion", "ConvAddActivationFusion", "ConvAddFusion", "ConvBNFusion", "ConvMulFusion", "DivMulFusion",
    "DynamicQuantizeMatMulFusion", "EmbedLayerNormFusion", "FastGeluFusion", "GeluFusionL1", "GeluFusionL2",
    "GemmActivationFusion", "GroupQueryAttentionFusion", "LayerNormFusionL1", "LayerNormFusionL2", "MatMulActivationFusion",
    "MatMulIntegerToFloatFusion", "MatMulScaleFusion", "MatMul_BatchNormalization_Fusion", "MatmulTransposeFusion",
    "QuickGeluFusion", "SimplifiedLayerNormFusion", "SkipLayerNormFusion",
)  # fmt: skip
"""The optimisers that compute float nodes in another order or with another kernel."""
JOINS_ROUNDINGS = ("DoubleQDQPairsRemover",)
"""The optimisers that join two quantisations in a row to one, with a range that the model does not name. A number that the
model rounds twice is then rounded once."""
_INT8_ALLOWED = "session.qdqisint8allowed"
_WEIGHTS_OF = {"QLinearConv": (2, 3, 5), "QLinearMatMul": (2, 3, 5), "QGemm": (2, 3, 5)}
"""The places of the activation's zero-point, of the weights, and of their zero-point among the inputs of a node."""
_FUSED = ("Conv", "MatMul", "Gemm")


def options(kind: str) -> tuple[onnxruntime.SessionOptions, tuple[str, ...]]:
    """The options of a session that reads models this way, and the optimisers to leave out."""
    chosen = onnxruntime.SessionOptions()
    chosen.graph_optimization_level = {
        FLOAT: onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
        INTEGER: onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
        WHOLE: onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
        EXACT: onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
    }[kind]
    if kind in (INTEGER, EXACT):
        chosen.add_session_config_entry(_INT8_ALLOWED, "1")
    return chosen, (*CHANGE_FLOATS, *JOINS_ROUNDINGS) if kind == INTEGER else ()


def prepared(model: bytes, kind: str) -> bytes:
    """The model to load. Without the traps, int8 weights beside uint8 activations become uint8 ones of the same real values."""
    if kind not in (INTEGER, EXACT):
        return model
    proto = onnx.load_model_from_string(model)
    weights = _Weights(proto)
    places = list(weights.mixed())
    for place in places:
        weights.shift(*place)
    whole: bytes = proto.SerializeToString() if places else model
    return whole


def traps(model: bytes) -> list[str]:
    """The reasons why onnxruntime with every optimisation may differ from its integer kernels on this model."""
    proto = onnx.load_model_from_string(model)
    weights = _Weights(proto)
    found = []
    if next(weights.mixed(), None) is not None:
        found.append("without VNNI its kernel for uint8 activations and int8 weights saturates")
    if any(weights.signed_pattern(node) for node in proto.graph.node):
        found.append("on x86 it leaves a part of the int8 patterns in float")
    return found


class _Weights:
    """The weights of a model that meet activations of the other signedness."""

    def __init__(self, proto: onnx.ModelProto) -> None:
        self.graph = proto.graph
        self.constants = {tensor.name: tensor for tensor in proto.graph.initializer}
        self.makers = {name: node for node in proto.graph.node for name in node.output}

    def mixed(self) -> Iterator[tuple[onnx.NodeProto, int, int, int]]:
        """Yields a node, and the places of weights, their zero-point and their scale among its inputs."""
        found = set()
        for node in self.graph.node:
            if node.op_type in _WEIGHTS_OF:
                activation, weights, zero_point = _WEIGHTS_OF[node.op_type]
                if self._unsigned(node, activation) and self._type(node, weights) == TensorProto.INT8:
                    yield node, weights, zero_point, weights + 1
            elif node.op_type in _FUSED:
                x, w = (self.makers.get(name) for name in node.input[:2])
                pair = x is not None and w is not None and x.op_type == w.op_type == "DequantizeLinear"
                if not pair or x is None or w is None or w.output[0] in found:
                    continue
                if self._unsigned(x, 2) and self._type(w, 0) == TensorProto.INT8:
                    found.add(w.output[0])
                    yield w, 0, 2, 1

    def signed_pattern(self, node: onnx.NodeProto) -> bool:
        return node.op_type == "DequantizeLinear" and node.input[0] in self.makers and self._type(node, 2) == TensorProto.INT8

    def _type(self, node: onnx.NodeProto, place: int) -> int:
        tensor = self.constants.get(node.input[place]) if place < len(node.input) else None
        return int(tensor.data_type) if tensor is not None else TensorProto.UNDEFINED

    def _unsigned(self, node: onnx.NodeProto, place: int) -> bool:
        """Whether the zero-point is uint8, which also holds for one that is left out."""
        missing = place >= len(node.input) or not node.input[place]
        return missing or self._type(node, place) == TensorProto.UINT8

    def shift(self, node: onnx.NodeProto, weights: int, zero_point: int, scale: int) -> None:
        node.input.extend([""] * (zero_point + 1 - len(node.input)))
        name = node.input[zero_point]
        if name:
            zeros: NDArray[np.int8] = numpy_helper.to_array(self.constants[name])
        else:
            zeros = np.zeros(tuple(self.constants[node.input[scale]].dims), np.int8)
        values: NDArray[np.int8] = numpy_helper.to_array(self.constants[node.input[weights]])
        node.input[zero_point] = self._unsigned_copy(name or f"{node.input[weights]}/zero_point", zeros)
        node.input[weights] = self._unsigned_copy(node.input[weights], values)

    def _unsigned_copy(self, name: str, values: NDArray[np.int8]) -> str:
        shifted = f"{name}/unsigned"
        if shifted not in self.constants:
            moved = (values.astype(np.int16) + 128).astype(np.uint8)
            self.constants[shifted] = numpy_helper.from_array(moved, shifted)
            self.graph.initializer.append(self.constants[shifted])
        return shifted
