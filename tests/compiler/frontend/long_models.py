"""Models of 16-bit activations, and a machine that takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from isa.config import preset

LONG = replace(preset("nano"), name="nano16", act16=True)
INT8, UINT8, INT16, UINT16 = TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16
_NUMPY: dict[int, type] = {INT8: np.int8, UINT8: np.uint8, INT16: np.int16, UINT16: np.uint16}


@dataclass(frozen=True)
class End:
    """How a tensor is quantised."""

    elem: int = INT16
    zero: int = 0
    factor: float = 1.0
    """Of its scale."""

    @property
    def scale(self) -> np.float32:
        return np.float32(0.0001 if self.elem in (INT16, UINT16) else 0.025) * np.float32(self.factor)


def convolutions(
    ends: Sequence[End], shape: Sequence[int] = (1, 5, 9, 11), outputs: Sequence[int] = (7, 9), *, kernel: int = 3,
    clamp: str = "", weights: int = 127, least: int = -20_000, most: int = 20_000, **attributes: Any,
) -> onnx.ModelProto:  # fmt: skip
    """From ``x`` to ``y``, both quantised; ``clamp`` behind the first of them; biases from ``least`` to ``most``.

    Attributes are those of all.
    """
    rng = np.random.default_rng(3)
    held: dict[str, Any] = {}
    nodes: list[onnx.NodeProto] = []
    name, inputs = "x", shape[1]
    sides, groups = (kernel,) * (len(shape) - 2), attributes.get("group", 1)
    for number, channels in enumerate(outputs):
        end, to = ends[number], ends[number + 1]
        scales = (rng.uniform(0.5, 1.5, channels) * 0.6 / 127 / np.sqrt(inputs) / kernel).astype(np.float32)
        held |= {
            f"s{number}": end.scale, f"z{number}": _NUMPY[end.elem](end.zero),
            f"b{number}": rng.integers(least, most, channels, np.int32),
            f"w{number}": rng.integers(-weights, weights + 1, (channels, inputs // groups, *sides)).astype(np.int8),
            f"ws{number}": scales, f"wz{number}": np.zeros(channels, np.int8),
            f"bs{number}": end.scale * scales, f"bz{number}": np.zeros(channels, np.int32),
        }  # fmt: skip
        made = f"sum{number}"
        nodes += [
            _node("DequantizeLinear", [name, f"s{number}", f"z{number}"], f"real{number}"),
            _node("DequantizeLinear", [f"w{number}", f"ws{number}", f"wz{number}"], f"weights{number}", axis=0),
            _node("DequantizeLinear", [f"b{number}", f"bs{number}", f"bz{number}"], f"bias{number}", axis=0),
            _node("Conv", [f"real{number}", f"weights{number}", f"bias{number}"], made, **attributes),
        ]
        if clamp and not number:
            nodes.append(_node(clamp, [made, *(("low", "high") if clamp == "Clip" else ())], "clamped"))
            made = "clamped"
        last = number == len(outputs) - 1
        name = "y" if last else f"y{number}"
        nodes.append(_node("QuantizeLinear", [made, f"ys{number}", f"yz{number}"], name))
        held |= {f"ys{number}": to.scale, f"yz{number}": _NUMPY[to.elem](to.zero)}
        if not last:
            nodes[-1].input[1:] = [f"s{number + 1}", f"z{number + 1}"]
        inputs = channels
    held |= {"low": np.float32(-0.5), "high": np.float32(1.25)}
    return _model(nodes, held, shape, ends)


def dense(ends: Sequence[End], operator: str = "Gemm", inputs: int = 21) -> onnx.ModelProto:
    """A layer of seven results on two rows of ``inputs``."""
    rng = np.random.default_rng(4)
    held = {
        "s": ends[0].scale, "z": _NUMPY[ends[0].elem](ends[0].zero),
        "ys": ends[1].scale, "yz": _NUMPY[ends[1].elem](ends[1].zero),
        "w": rng.integers(-127, 128, (inputs, 7)).astype(np.int8), "ws": np.float32(0.002),
    }  # fmt: skip
    nodes = [
        _node("DequantizeLinear", ["x", "s", "z"], "real"), _node("DequantizeLinear", ["w", "ws"], "weights"),
        _node(operator, ["real", "weights"], "sum"), _node("QuantizeLinear", ["sum", "ys", "yz"], "y"),
    ]  # fmt: skip
    return _model(nodes, held, (2, inputs), ends)


def _node(operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(operator, list(inputs), [output], name=f"{output}/{operator}", **attributes)


def _model(nodes: Sequence[onnx.NodeProto], held: dict[str, Any], shape: Sequence[int], ends: Sequence[End]) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", ends[0].elem, shape)
    y = helper.make_tensor_value_info("y", ends[-1].elem, None)
    read = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        list(nodes), "long", [x], [y], [numpy_helper.from_array(np.asarray(v), k) for k, v in held.items() if k in read]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class Net:
    """A network from ``x``, written node by node; tensors are known by their names, real ones by ``real/`` and the name."""

    def __init__(self, shape: Sequence[int], end: End = End()) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._held: dict[str, Any] = {}
        self._shape, self._ends = shape, [end, end]
        self._read("x", end)

    def _numbers(self, name: str, end: End) -> list[str]:
        self._held |= {f"{name}/scale": end.scale, f"{name}/zero": _NUMPY[end.elem](end.zero)}
        return [f"{name}/scale", f"{name}/zero"]

    def _read(self, name: str, end: End) -> str:
        self._nodes.append(_node("DequantizeLinear", [name, *self._numbers(name, end)], f"real/{name}"))
        return f"real/{name}"

    def constant(self, name: str, value: Any) -> str:
        self._held[name] = np.asarray(value)
        return name

    def weights(self, name: str, *shape: int) -> str:
        """Of 8 bits, dequantised."""
        rng = np.random.default_rng(len(name))
        self.constant(f"{name}/stored", rng.integers(-127, 128, shape).astype(np.int8))
        self.constant(f"{name}/scale", np.float32(0.5 / 127 / np.sqrt(np.prod(shape[1:]))))
        self._nodes.append(_node("DequantizeLinear", [f"{name}/stored", f"{name}/scale"], name))
        return name

    def real(self, operator: str, inputs: Sequence[str], name: str, outputs: int = 1, **attributes: Any) -> str:
        """A node of real tensors; of several ``outputs`` others are called ``name1`` and so on."""
        node = _node(operator, inputs, name, **attributes)
        node.output.extend(f"{name}{number}" for number in range(1, outputs))
        self._nodes.append(node)
        return name

    def quantised(self, real: str, name: str, end: End = End()) -> str:
        self._nodes.append(_node("QuantizeLinear", [real, *self._numbers(name, end)], name))
        self._ends[1] = end
        return self._read(name, end)

    def layer(self, operator: str, inputs: Sequence[str], name: str, end: End = End(), **attributes: Any) -> str:
        """A node and what quantises its result."""
        return self.quantised(self.real(operator, inputs, f"sum/{name}", **attributes), name, end)

    def model(self) -> onnx.ModelProto:
        """The result is the tensor called ``y``."""
        return _model(self._nodes, self._held, self._shape, self._ends)
