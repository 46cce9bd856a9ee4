"""Constraints on tensors and their quantisation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from compiler.frontend.constraints.base import always, constrains
from compiler.frontend.importer.requantise import representable
from compiler.frontend.importer.values import Mapped
from compiler.frontend.model import Array

LINEAR = ("Conv", "QLinearConv", "ConvTranspose", "Gemm", "QGemm", "MatMul", "QLinearMatMul")
QUANTISED = (
    "QLinearConv", "QLinearMatMul", "QGemm", "QLinearAdd", "QLinearMul", "QLinearConcat", "QLinearAveragePool",
    "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearSigmoid", "QLinearSoftmax",
)  # fmt: skip
"""Operators that carry scales and zero-points of activations."""
PAIRS = ("Add", "Sub", "Mul", "Min", "Max", "QLinearAdd", "QLinearMul")
MOST_SIDE = 65_535
"""The most channels, in bytes of a pixel, that LOAD and SAVE can name (in their fields ``run`` and ``step``)."""


@constrains("QuantizeLinear", "DequantizeLinear", *QUANTISED)
def quantised_per_tensor(scale: Array | None, zero_point: Array | None) -> bool:
    """Activations have one constant scale and one constant zero-point for the whole tensor."""
    return scale is not None and scale.size == 1 and (zero_point is None or zero_point.size == 1)


@constrains("QuantizeLinear", "DequantizeLinear", *QUANTISED)
def eight_bits(elem: int) -> bool:
    """The quantised type is int8 or uint8, or with act16 also int16 or uint16 where sums of products are quantised."""
    return elem in (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)


@always
def quantised_input(value: object) -> bool:
    """The input is quantised: int8, uint8 or the result of DequantizeLinear, and not float made on the CPU."""
    return isinstance(value, Mapped)


@always
def input_or_sum(value: object) -> bool:
    """The input is on the machine: quantised, or a sum of products that is about to be."""
    return value is not None


@always
def made_on_machine(value: object) -> bool:
    """What is quantised is made by the machine (float inputs of the model and results of the CPU are quantised on the CPU)."""
    return value is not None


@always
def finite_constants(finite: bool) -> bool:
    """Constants that it reads are finite (bounds of Clip and Pad need not be)."""
    return finite


@always
def shape_known(shape: tuple[int, ...] | None) -> bool:
    """All shapes are known before the model runs."""
    return shape is not None


@always
def at_most_four_dimensions(shape: Sequence[int]) -> bool:
    """The tensor has one to four dimensions (batch, height, width, channels)."""
    return 1 <= len(shape) <= 4


@always
def sides_fit(shape: Sequence[int]) -> bool:
    """Height, width and channels (and inputs of a dense layer) are at most 65535, and nothing is empty."""
    return max(shape[1:]) <= MOST_SIDE and min(shape) > 0


@constrains(*LINEAR)
def weights_constant(weights: object) -> bool:
    """The weights are constants in int8 or uint8 (directly, or through DequantizeLinear)."""
    return weights is not None


@constrains(*LINEAR)
def weights_fit(values: Array) -> bool:
    """The weights with one zero-point for all output channels fit int8, or each is the sum of two that do."""
    return bool(values.min(initial=0) >= -128 and values.max(initial=0) <= 127)


@constrains(*LINEAR)
def bias_constant(bias: Array | None, channels: int) -> bool:
    """The bias is a constant: one number for each output channel, or one in all."""
    return bias is not None and (bias.size == 1 or (bias.size == channels and bias.shape[-1] == channels))


@constrains("BatchNormalization")
def parameters_constant(values: Sequence[Array | None]) -> bool:
    """Scale, offset, mean and variance are constants (directly, or through DequantizeLinear)."""
    return all(value is not None for value in values)


@constrains("Conv", "ConvTranspose", "Gemm", "MatMul", "QuantizeLinear")
def bias_fits(units: Array) -> bool:
    """A float bias over the scales of input and weights fits 32 bits."""
    return bool((np.abs(units) < 2.0**31).all())


@constrains(*LINEAR, *PAIRS, "QuantizeLinear")
def scale_fits(scale: Array) -> bool:
    """The input scales over the output scale are below 2^24."""
    return representable(np.asarray(scale))


@constrains(
    "Conv", "ConvTranspose", "Gemm", "MatMul", "Add", "Sub", "Mul", "Min", "Max", "AveragePool", "ReduceMean", "ReduceSum",
    "BatchNormalization",
)  # fmt: skip
def quantised_after() -> bool:
    """What follows, before the result is quantised, is at most an added constant, ReLU or Clip."""
    return False


@always
def layout_reachable(reached: bool) -> bool:
    """The order of the dimensions asks for no transposition in memory (channel shuffles and space to depth are fine); with
    build_products, for one of at most 64 pieces."""
    return reached
