"""Constraints on element-wise operators."""

from __future__ import annotations

from compiler.frontend.constraints.base import constrains
from compiler.frontend.model import Array

UNARY = (
    "Relu", "Clip", "LeakyRelu", "PRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Elu", "Selu", "Celu", "Softplus",
    "Softsign", "Mish", "Gelu", "ThresholdedRelu", "Erf", "Exp", "Log", "Sqrt", "Abs", "Neg", "Reciprocal", "Sin", "Cos",
    "Floor", "Ceil", "Round", "Sign", "Swish",
)  # fmt: skip
"""Functions of each element by itself."""


@constrains("Clip", "Div", "Pow")
def scalar_operand(value: Array | None) -> bool:
    """The second operand is one constant number."""
    return value is not None and value.size == 1


@constrains("PRelu")
def constant_slope(slopes: Array | None) -> bool:
    """The slope is a constant: one number, or one per channel."""
    return slopes is not None


@constrains("Add", "Sub", "Mul", "Min", "Max", "PRelu", "QLinearAdd", "QLinearMul")
def broadcast_fits() -> bool:
    """The shapes are the same, or one operand has one value per channel, one per pixel, or one in all, or is a constant."""
    return False


@constrains("Min", "Max", "Sum")
def two_operands(count: int) -> bool:
    """There are two operands."""
    return count == 2


@constrains("Div", "Pow")
def kind_of_pair(kind: str) -> bool:
    """Two tensors can be added, subtracted, multiplied, compared; other functions need a constant or the same tensor twice."""
    return kind in ("Add", "Sub", "Mul", "Min", "Max")


@constrains("Min", "Max", "QuantizeLinear")
def exact_factors(found: object) -> bool:
    """For each operand's scale there is a whole-number factor that gives all 256 values as float32 arithmetic does."""
    return found is not None


@constrains("Add", "Sub", "Mul", "Min", "Max", "PRelu")
def constant_quantised(value: object) -> bool:
    """A constant operand that is not one number is int8 or uint8 with one scale, through DequantizeLinear."""
    return value is not None
