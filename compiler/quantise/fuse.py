"""Intrinsic fusion on the float model: batch normalisation, scales, biases and pads become part of their convolution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from compiler.frontend.model import Array, Model, Node

Float = NDArray[np.float32]
_SCALES = ("Mul", "Div", "Add", "Sub")
_FOLDED_INTO = ("Conv", "ConvTranspose", "Gemm")


def fused(model: Model) -> Model:
    """A model with the same function and fewer operators."""
    return _Fuser(model).run()


def _affine_of(op_type: str, constant: Array, place: int) -> tuple[Array, Array] | None:
    """The factor and the offset that stand for an operator whose operand ``place`` is the constant."""
    one, zero = np.ones_like(constant), np.zeros_like(constant)
    match op_type:
        case "Mul":
            return constant, zero
        case "Div":
            return (1 / constant, zero) if constant.all() else None
        case "Add":
            return one, constant
    return (one, -constant) if place else (-one, constant)


class _Fuser:
    """Walks the nodes once; ``made`` has the node that makes each tensor so far."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.constants: dict[str, Array] = dict(model.constants)
        self.readers = {name: len(nodes) for name, nodes in model.consumers().items()}
        for name in model.outputs:
            self.readers[name] = self.readers.get(name, 0) + 1
        self.made: dict[str, Node] = {}
        self.order: dict[str, Node] = {}

    def run(self) -> Model:
        rules: dict[str, Callable[[Node], Node | None]] = {
            **dict.fromkeys(_SCALES, self._scale),
            "BatchNormalization": self._batch_norm, "Conv": self._conv, "MatMul": self._matmul, "Gemm": self._gemm,
        }  # fmt: skip
        for node in self.model.nodes:
            if node.op_type == "Sum" and len(node.inputs) != 2:
                self._chain(node)
                continue
            if node.op_type == "Sum":
                node = replace(node, op_type="Add")
            rule = rules.get(node.op_type) if not node.domain else None
            self._put((rule(node) if rule else None) or node)
        return self.model.with_nodes(self.order.values(), self.constants)

    def _put(self, node: Node) -> None:
        self.order[node.name] = node
        for name in node.outputs:
            self.made[name] = node

    def _chain(self, node: Node) -> None:
        """Writes a sum of many tensors as sums of two."""
        if len(node.inputs) == 1:
            self._put(Node(node.name, "Identity", node.inputs, node.outputs))
            return
        total = node.inputs[0]
        for index, name in enumerate(node.inputs[1:], start=1):
            out = node.output if index == len(node.inputs) - 1 else f"{node.output}/sum{index}"
            self.readers.setdefault(out, 1)
            self._put(Node(f"{node.name}/{index}", "Add", (total, name), (out,)))
            total = out

    def _alone(self, name: str, *op_types: str) -> Node | None:
        """The maker of a tensor that only one node reads, if it is one of these operators and has constant weights."""
        maker = self.made.get(name)
        if maker is None or maker.op_type not in op_types or self.readers.get(name, 0) != 1:
            return None
        return maker if all(i in self.constants for i in maker.inputs[1:] if i) else None

    def _constant(self, name: str, value: Array) -> str:
        while name in self.constants or name in self.model.types:
            name += "'"
        self.constants[name] = value
        return name

    def _batch_norm(self, node: Node) -> Node | None:
        values = [self.constants.get(name) for name in node.inputs[1:5]]
        if any(value is None for value in values) or any(node.outputs[1:]):
            return None
        gamma, beta, mean, variance = (np.asarray(value, np.float64) for value in values)
        factor = gamma / np.sqrt(variance + float(node.attributes.get("epsilon", 1e-5)))
        return self._affine(node, factor, beta - mean * factor)

    def _scale(self, node: Node) -> Node | None:
        """A layer that includes an affine function with a constant for each channel, if there is one."""
        behind = self._scale_behind(node)
        if behind is not None:
            return behind
        found = self._operand(node)
        shape = self.model.shape(node.output)
        if found is None or shape is None:
            return None
        source, wide, place = found
        if wide.size not in (1, shape[1] if len(shape) > 1 else 1) or (wide.size > 1 and wide.shape[1] != wide.size):
            return None
        if wide.size == 1 and not self._alone(source, *_FOLDED_INTO):
            return None
        affine = _affine_of(node.op_type, np.broadcast_to(wide.reshape(-1), shape[1]), place)
        return self._affine(replace(node, inputs=(source,)), *affine) if affine else None

    def _affine(self, node: Node, factor: Array, offset: Array) -> Node | None:
        """``factor * x + offset`` per channel, as part of the layer before or as a depthwise convolution of its own."""
        source = node.inputs[0]
        shape = self.model.shape(node.output)
        maker = self._alone(source, *_FOLDED_INTO)
        if maker is not None and shape is not None:
            del self.order[maker.name]
            return self._folded(maker, factor, offset, node.output)
        if shape is None or len(shape) not in (3, 4):
            return None
        channels = shape[1]
        kernel = factor.astype(np.float32).reshape(channels, *(1,) * (len(shape) - 1))
        inputs = (
            source, self._constant(f"{node.output}/weights", kernel),
            self._constant(f"{node.output}/bias", offset.astype(np.float32)),
        )  # fmt: skip
        return Node(node.name, "Conv", inputs, (node.output,), {"group": channels, "kernel_shape": [1] * (len(shape) - 2)})

    def _folded(self, maker: Node, factor: Array, offset: Array, output: str) -> Node:
        """The layer with its result multiplied by ``factor`` and increased by ``offset``."""
        weights = self.constants[maker.inputs[1]].astype(np.float64)
        bias = self.constants[maker.input(2)].astype(np.float64) if maker.input(2) else np.zeros(len(factor))
        scaled = weights * self._along_outputs(maker, factor, weights)
        whole = np.broadcast_to(bias.reshape(-1), len(factor)) * factor + offset
        scaled_name = maker.inputs[1]
        if (factor != 1).any():
            scaled_name = self._constant(f"{output}/weights", scaled.astype(np.float32))
        bias_name = self._constant(f"{output}/bias", whole.astype(np.float32))
        return replace(maker, inputs=(maker.inputs[0], scaled_name, bias_name), outputs=(output,))

    def _scale_behind(self, node: Node) -> Node | None:
        """The node after an affine function of a layer's features has joined the layer. Only moves may lie between the two."""
        found = self._operand(node)
        if found is None:
            return None
        source, constant, place = found
        wide = [i for i, size in enumerate(constant.shape) if size > 1]
        if len(wide) > 1:
            return None
        dim = wide[0] if wide else None
        moves: list[Node] = []
        while (move := self._alone(source, "Reshape", "Transpose")) is not None:
            dim = self._before(move, dim) if dim is not None else None
            if wide and dim is None:
                return None
            moves.append(move)
            source = move.inputs[0]
        maker = self._alone(source, *_FOLDED_INTO)
        shape = self.model.shape(source)
        if maker is None or not moves or shape is None or dim not in (None, 1) or constant.size not in (1, shape[1]):
            return None
        affine = _affine_of(node.op_type, np.broadcast_to(constant.reshape(-1), shape[1]), place)
        if affine is None:
            return None
        self._put(self._folded(maker, *affine, maker.output))
        del self.order[moves[0].name]
        return replace(moves[0], outputs=(node.output,))

    def _before(self, move: Node, dim: int) -> int | None:
        """The dimension of what is moved that becomes this dimension of the result."""
        before, after = self.model.shape(move.inputs[0]), self.model.shape(move.output)
        if before is None or after is None:
            return None
        if move.op_type == "Transpose":
            return move.integers("perm", tuple(range(len(after)))[::-1])[dim]
        return len(before) - 1 if dim == len(after) - 1 and before[-1:] == after[-1:] else None

    def _operand(self, node: Node) -> tuple[str, Array, int] | None:
        """The tensor, the constant that is combined with it (with as many dimensions), and the place of the constant."""
        shape = self.model.shape(node.output)
        place = next((i for i in (0, 1) if node.inputs[i] in self.constants), None)
        if place is None or shape is None or (node.op_type == "Div" and place == 0):
            return None
        constant = self.constants[node.inputs[place]].astype(np.float64)
        if self.model.shape(node.inputs[1 - place]) != shape or constant.ndim > len(shape):
            return None
        return node.inputs[1 - place], constant.reshape((1,) * (len(shape) - constant.ndim) + constant.shape), place

    @staticmethod
    def _along_outputs(maker: Node, factor: Array, weights: Array) -> Array:
        """The factor broadcast over the weights' output channels."""
        if maker.op_type == "Conv":
            return factor.reshape(-1, *(1,) * (weights.ndim - 1))
        if maker.op_type == "Gemm":
            return factor.reshape(-1, 1) if maker.integer("transB", 0) else factor
        groups = maker.integer("group", 1)
        per_group = factor.reshape(groups, 1, -1)
        spread = np.broadcast_to(per_group, (groups, weights.shape[0] // groups, weights.shape[1]))
        return spread.reshape(weights.shape[0], weights.shape[1], *(1,) * (weights.ndim - 2))

    def _conv(self, node: Node) -> Node | None:
        """A zero pad before a convolution becomes its padding."""
        maker = self.made.get(node.inputs[0])
        if maker is None or maker.op_type != "Pad" or self.readers.get(node.inputs[0], 0) != 1:
            return None
        pads, value = self.constants.get(maker.input(1)), self.constants.get(maker.input(2)) if maker.input(2) else None
        shape = self.model.shape(maker.inputs[0])
        plain = maker.text("mode", "constant") == "constant" and not maker.input(3) and (value is None or not value.any())
        if pads is None or shape is None or not plain or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
            return None
        rank = len(shape)
        before, after = pads.reshape(2, rank).astype(int)
        if before[:2].any() or after[:2].any() or (pads < 0).any():
            return None
        del self.order[maker.name]
        own = node.integers("pads", [0] * 2 * (rank - 2))
        total = [int(a + b) for a, b in zip(own, (*before[2:], *after[2:]), strict=True)]
        attributes = {k: v for k, v in node.attributes.items() if k != "auto_pad"}
        return replace(node, inputs=(maker.inputs[0], *node.inputs[1:]), attributes={**attributes, "pads": total})

    def _matmul(self, node: Node) -> Node | None:
        """Writes a matrix product of two dimensions as a Gemm, which can take a bias."""
        shape = self.model.shape(node.inputs[0])
        weights = self.constants.get(node.inputs[1])
        if weights is None or weights.ndim != 2 or shape is None or len(shape) != 2:
            return None
        return replace(node, op_type="Gemm")

    def _gemm(self, node: Node) -> Node | None:
        """Lets alpha and beta become part of weights and bias."""
        alpha, beta = float(node.attributes.get("alpha", 1.0)), float(node.attributes.get("beta", 1.0))
        if (
            node.inputs[1] not in self.constants
            or (node.input(2) and node.input(2) not in self.constants)
            or (alpha, beta) == (1, 1)
        ):
            return None
        inputs = [node.inputs[0], self._constant(f"{node.output}/weights", self.constants[node.inputs[1]] * np.float32(alpha))]
        if node.input(2):
            inputs.append(self._constant(f"{node.output}/bias", self.constants[node.input(2)] * np.float32(beta)))
        attributes = {k: v for k, v in node.attributes.items() if k not in ("alpha", "beta")}
        return replace(node, inputs=tuple(inputs), attributes=attributes)
