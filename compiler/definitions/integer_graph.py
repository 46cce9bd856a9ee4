"""Writes an ONNX function of integer operators, node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "tilewright"
"""The domain of the functions. Their version is 1."""
_AXES_ARE_READ = {"ReduceSum": 13, "ReduceMax": 18}
"""The operator set from which on the axes are an input. Before, they are an attribute."""


class IntegerGraph:
    """Nodes on int64 values, in the order in which they are asked for. A value is a name.

    onnxruntime reads the nodes of a function by the operator set of the model, ``opset``. Where that makes no difference, the
    oldest operators serve.
    """

    def __init__(self, opset: int) -> None:
        self._opset = opset
        self._nodes: list[onnx.NodeProto] = []

    def _add(self, node: onnx.NodeProto) -> str:
        name = f"v{len(self._nodes)}"
        node.output.append(name)
        self._nodes.append(node)
        return name

    def constant(self, values: npt.ArrayLike) -> str:
        return self._add(helper.make_node("Constant", [], [], value=numpy_helper.from_array(np.asarray(values, np.int64))))

    def __call__(self, operator: str, *inputs: str | int, **attributes: Any) -> str:
        """Adds a node. Numbers among its inputs become constants."""
        names = [self.constant(value) if isinstance(value, int) else value for value in inputs]
        return self._add(helper.make_node(operator, names, [], **attributes))

    def whole(self, value: str) -> str:
        """A value of any type as int64."""
        return self("Cast", value, to=TensorProto.INT64)

    def over_row(self, operator: str, value: str) -> str:
        """A reduction over the last axis, which is kept."""
        if self._opset < _AXES_ARE_READ[operator]:
            return self(operator, value, axes=[-1], keepdims=1)
        return self(operator, value, self.constant([-1]), keepdims=1)

    def floor(self, value: str, divisor: str | int, most: int) -> str:
        """``value div divisor``, rounded down. Values are above ``-2^most``, which the divisor divides. ``Div`` rounds to 0."""
        return self("Sub", self("Div", self("Add", value, 1 << most), divisor), self("Div", 1 << most, divisor))

    def nearest(self, quotient: str, rest: str, divisor: str | int) -> str:
        """The quotient rounded to the nearest by its rest. Ties go to even."""
        twice = self("Mul", rest, 2)
        odd = self("Equal", self("Mod", quotient, 2), 1)
        up = self("Or", self("Greater", twice, divisor), self("And", self("Equal", twice, divisor), odd))
        return self("Add", quotient, self.whole(up))

    def least(self, value: str, other: str | int) -> str:
        """The lesser of both."""
        other = self.constant(other) if isinstance(other, int) else other
        return self("Where", self("Less", value, other), value, other)

    def bounded(self, value: str) -> str:
        """The value plus ``zero_point``, clamped to ``low`` and ``high``."""
        raised = self("Add", value, "zero_point")
        return self.least(self("Where", self("Less", raised, "low"), "low", raised), "high")

    def cast(self, value: str) -> str:
        """The value as the type that the attribute ``to`` names."""
        node = helper.make_node("Cast", [value], [])
        node.attribute.append(onnx.AttributeProto(name="to", ref_attr_name="to", type=onnx.AttributeProto.INT))
        return self._add(node)

    def saturated(self, value: str) -> str:
        """The value bounded, and then cast."""
        return self.cast(self.bounded(value))

    def referring(self, node: onnx.NodeProto, *attributes: str) -> str:
        """Adds a node whose ``attributes``, lists of numbers, are attributes of the function."""
        for name in attributes:
            node.attribute.append(onnx.AttributeProto(name=name, ref_attr_name=name, type=onnx.AttributeProto.INTS))
        return self._add(node)

    def function(
        self, name: str, inputs: Sequence[str], result: str, attributes: Sequence[str] = ("to",)
    ) -> onnx.FunctionProto:
        nodes = [*self._nodes, helper.make_node("Identity", [result], ["y"])]
        return helper.make_function(DOMAIN, name, inputs, ["y"], nodes, [helper.make_opsetid("", self._opset)], attributes)
