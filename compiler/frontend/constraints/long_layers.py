"""Constraints on layers of 16-bit activations."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from compiler.frontend.constraints.base import constrains
from compiler.frontend.model import Array
from isa.requantisation import LONG_SUM_BITS

LONG = ("Conv", "Gemm", "MatMul", "AveragePool", "GlobalAveragePool", "ReduceMean", "Add")
MOST = (1 << 15) + (1 << 7)
"""The greatest distance from 0 of a number of two bytes, the low one less 128."""
MOST_JOINED = 512
MOST_RATIO = 127


@constrains(*LONG)
def long_built(lanes: int, of_machine: int) -> bool:
    """With 16-bit activations, the machine has act16, and its words have as many channels as the model is divided by."""
    return lanes == of_machine


@constrains("Conv", "AveragePool", "GlobalAveragePool", "ReduceMean")
def long_group(groups: int, inputs: int) -> bool:
    """With 16-bit activations, groups fill whole words of channels, or the groups that share words have at most 512 inputs."""
    return groups == 1 or inputs <= MOST_JOINED


@constrains(*LONG)
def long_sides(rank: int) -> bool:
    """With 16-bit activations, the tensors have two to four dimensions."""
    return 2 <= rank <= 4


@constrains("AveragePool")
def long_counted(left_out: bool) -> bool:
    """With 16-bit activations, an average counts its padding, or has none."""
    return not left_out


@constrains("Add")
def long_ratio(nearest: Fraction, first: np.float32, second: np.float32) -> bool:
    """With 16-bit activations, the scales of the operands of a sum are as two whole numbers of at most 127."""
    few = 0 < nearest.numerator <= MOST_RATIO
    return few and bool(np.float32(float(first) / nearest.numerator * nearest.denominator) == second)


@constrains("Add")
def long_pair(alike: bool, inputs: int) -> bool:
    """With 16-bit activations, the operands of a sum have 16 bits, one shape, and at most 256 channels each."""
    return alike and inputs <= MOST_JOINED


@constrains(*LONG)
def long_sums(weights: Array, bias: Array) -> bool:
    """With 16-bit activations, no sum can leave 36 bits: the weights of an output amount to less than about 2^20."""
    amount = np.abs(weights).reshape(len(weights), -1).sum(axis=1, dtype=np.int64)
    return bool((amount * MOST + np.abs(bias) < 1 << LONG_SUM_BITS - 1).all())


@constrains(*LONG)
def long_bias(bias: Array) -> bool:
    """With 16-bit activations, the bias, with what zero-points add to it, fits 32 bits."""
    return bool((np.abs(bias) < 1 << 31).all())


@constrains("Concat", "Slice", "Split", "Reshape", "Flatten", "Squeeze", "Unsqueeze")
def long_moves(found: bool) -> bool:
    """With 16-bit activations, channels are joined and cut by whole words. A view keeps the map, or flattens it for a dense
    layer."""
    return found


@constrains("QuantizeLinear", "DequantizeLinear")
def long_edges() -> bool:
    """A map of 16 bits is made and read by layers of the machine: the CPU splits others into bytes, and joins them."""
    return False
