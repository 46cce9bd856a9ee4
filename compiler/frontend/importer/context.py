"""The state of an import: what is known of each ONNX tensor, and the XGraph made so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx

from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import Constraint, require
from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.importer.guess import guess_letters
from compiler.frontend.importer.layout import Layout, Shape4, map_shape, plain
from compiler.frontend.importer.values import Mapped, Params, Value
from compiler.frontend.model import Array, Model, Node, scalar
from compiler.xgraph.ops import Op
from compiler.xgraph.tensor import Quantisation, Tensor

if TYPE_CHECKING:
    from compiler.frontend.importer.rows import Defined

EIGHT_BITS = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)

Rule = Callable[["Context", Node], None]
RULES: dict[tuple[str, str], Rule] = {}
"""The rules by domain and operator."""


def rule(*op_types: str, domain: str = "") -> Callable[[Rule], Rule]:
    """Declares which operators a rule imports."""

    def declare(function: Rule) -> Rule:
        for op_type in op_types:
            RULES[domain, op_type] = function
        return function

    return declare


class Context:
    """The state of an import. Rules read values by ONNX name, add operations, and set the values of a node's outputs."""

    def __init__(self, model: Model, extras: Extras = NO_EXTRAS) -> None:
        """Starts an import; ``extras`` are those of the machine."""
        self.model, self.extras = model, extras
        self.producers = model.producers()
        self.consumers = model.consumers()
        self.values: dict[str, Value] = {}
        self.tensors: dict[str, Tensor] = {}
        self.ops: list[Op] = []
        self.made: dict[str, Op] = {}
        """The operations by their output."""
        self.reasons: dict[str, str] = {}
        self.failed: dict[str, Constraint] = {}
        """The constraint that each refused node does not satisfy."""
        self.inexact: dict[str, str] = {}
        """The operations with cases in which no constants give onnxruntime's result, and how many cases these are."""
        self.shares: dict[str, float] = {}
        """The share of these cases among all cases, by operation."""
        self.current = ""
        """The node whose rule runs."""
        self.origins: dict[str, str] = {}
        """The node of each operation: the one with the same name, or else the one whose rule ran."""
        self._names = {node.name for node in model.nodes}
        self.defined: dict[str, Defined] = {}
        """The operations whose oracle is an integer definition."""
        self.roots: dict[str, Mapped] = {}
        """The maps that the host hands to the machine, by ONNX name."""

    # ONNX side

    def shape(self, name: str) -> tuple[int, ...]:
        shape = self.model.shape(name)
        require(general.shape_known, shape)
        assert shape is not None
        return shape

    def constant(self, name: str) -> Array | None:
        return self.model.constants.get(name) if name else None

    def value(self, name: str) -> Value | None:
        """The value of a tensor, if it is known. An int8 tensor from the host becomes a map that the host hands over."""
        if name not in self.values and name not in self.model.constants and self.model.elem(name) in EIGHT_BITS:
            self.values[name] = self._root(name)
        return self.values.get(name)

    def mapped(self, name: str) -> Mapped:
        value = self.value(name)
        require(general.quantised_input, value)
        assert isinstance(value, Mapped)
        return value

    def params(self, scale: str, zero_point: str, elem: int | None = None) -> Params:
        """The quantisation of an activation, from the names of its constants."""
        factor, zero = self.constant(scale), self.constant(zero_point)
        require(general.quantised_per_tensor, factor, zero if zero_point else None)
        if zero_point and zero is None:
            require(general.quantised_per_tensor, None, None)
        kind = self.model.elem(zero_point) if zero_point else (elem or onnx.TensorProto.UINT8)
        require(general.eight_bits, kind)
        unsigned = kind == onnx.TensorProto.UINT8
        stored = int(scalar(zero)) if zero is not None else 0
        assert factor is not None
        return Params(float(np.float32(scalar(factor))), stored - 128 if unsigned else stored, unsigned)

    def doubt(self, operation: str, wrong: int, cases: int, what: str, *, at_most: bool = False, stays: bool = False) -> None:
        """Notes that ``wrong`` of these cases of an operation are not onnxruntime's; with ``stays`` their share counts as 0."""
        if wrong:
            self.inexact[operation] = f"{'at most ' if at_most else ''}{wrong} of {cases} {what}"
            self.shares[operation] = 0.0 if stays else wrong / cases

    def _root(self, name: str) -> Mapped:
        shape = self.shape(name)
        require(general.at_most_four_dimensions, shape)
        letters = guess_letters(self.consumers, name, len(shape), self.model.constants, self.extras.rows)
        if letters == "WC" and shape[0] > general.MOST_SIDE:
            letters = "NC"
        params = self.host_params(name)
        where = map_shape(letters, shape)
        require(general.sides_fit, where)
        self.tensors[name] = Tensor(name, where, Quantisation(params.scale, params.zero_point), params.unsigned)
        self.roots[name] = Mapped(name, plain(letters, shape), params, computed=False)
        return self.roots[name]

    def host_params(self, name: str) -> Params:
        """The quantisation of a tensor from the host, as its maker has it, or else its first reader that has one."""
        unsigned = self.model.elem(name) == onnx.TensorProto.UINT8
        maker = self.producers.get(name)
        candidates = [(maker, 1)] if maker is not None and maker.op_type == "QuantizeLinear" else []
        candidates += [
            (node, node.inputs.index(name) + 1) for node in self.consumers.get(name, ())
            if node.op_type == "DequantizeLinear" or node.op_type.startswith("QLinear")
        ]  # fmt: skip
        for node, index in candidates:
            scale, zero = self.constant(node.input(index)), self.constant(node.input(index + 1))
            if scale is not None and scale.size == 1:
                stored = int(scalar(zero)) if zero is not None and zero.size == 1 else 0
                return Params(float(np.float32(scalar(scale))), stored - 128 if unsigned else stored, unsigned)
        return Params(1.0, -128 if unsigned else 0, unsigned)

    # XGraph side

    def fresh(self, name: str) -> str:
        """A tensor name that is free in XGraph and in the model."""
        while name in self.tensors or name in self.model.types:
            name += "'"
        return name

    def tensor(self, name: str, shape: Shape4, params: Params) -> str:
        """Makes a new map. It gets the ONNX name, if that is free."""
        require(general.sides_fit, shape)
        if name in self.tensors:
            name = self.fresh(name)
        self.tensors[name] = Tensor(name, shape, Quantisation(params.scale, params.zero_point), params.unsigned)
        return name

    def stored(self, value: Mapped) -> Params:
        """The quantisation of the map itself, which its views share."""
        tensor = self.tensors[value.tensor]
        return Params(tensor.quantisation.scale, tensor.quantisation.zero_point, tensor.flip)

    def add(self, op: Op, layout: Layout, params: Params, *, computed: bool = True, origin: str = "") -> Mapped:
        """Adds an operation. A second operation of a node, as for a float result that is quantised twice, gets a new name.

        ``origin`` is the node that asks for it, if it is neither the one with the same name nor the one whose rule runs.
        """
        origin = origin or (op.name if op.name in self._names else self.current)
        name = op.name
        while name in self.origins or (name != op.name and name in self._names):
            name += "'"
        op = replace(op, name=name)
        self.ops.append(op)
        self.made[op.output] = op
        self.origins[name] = origin
        return Mapped(op.output, layout, params, computed)

    def map_shape(self, value: Mapped) -> Shape4:
        return self.tensors[value.tensor].shape
