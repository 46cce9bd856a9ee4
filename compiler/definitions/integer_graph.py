"""An ONNX model of integer operators, written node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21


class IntegerGraph:
    """Nodes on int64 values, in the order in which they are asked for; values are known by their names."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, values: npt.ArrayLike) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(values, np.int64), name))
        return name

    def __call__(self, operator: str, *inputs: str | int, **attributes: Any) -> str:
        """A node; numbers among its inputs become constants."""
        names = [self.constant(value) if isinstance(value, int) else value for value in inputs]
        result = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, names, [result], **attributes))
        return result

    def over_row(self, operator: str, value: str) -> str:
        """A reduction of the last axis, which is kept."""
        return self(operator, value, self.constant([-1]), keepdims=1)

    def floor(self, value: str, divisor: str | int, most: int) -> str:
        """``value div divisor``, rounded down, of values above ``-2^most``; the divisor divides that. ``Div`` rounds to 0."""
        return self("Sub", self("Div", self("Add", value, 1 << most), divisor), self("Div", 1 << most, divisor))

    def nearest(self, quotient: str, rest: str, divisor: str | int) -> str:
        """The quotient, or one more, by the rest: ties to even."""
        twice = self("Mul", rest, 2)
        odd = self("Equal", self("Mod", quotient, 2), 1)
        up = self("Or", self("Greater", twice, divisor), self("And", self("Equal", twice, divisor), odd))
        return self("Add", quotient, self("Cast", up, to=TensorProto.INT64))

    def int8(self, value: str, zero_point: int) -> str:
        """With its zero-point, saturated."""
        return self("Cast", self("Clip", self("Add", value, zero_point), -128, 127), to=TensorProto.INT8)

    def model(self, length: int, result: str) -> onnx.ModelProto:
        """From ``x``, rows of int8, to ``y``."""
        nodes = [helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.INT64), *self._nodes]
        nodes.append(helper.make_node("Identity", [result], ["y"]))
        x, y = (helper.make_tensor_value_info(name, TensorProto.INT8, ["rows", length]) for name in "xy")
        graph = helper.make_graph(nodes, "definition", [x], [y], self._constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
