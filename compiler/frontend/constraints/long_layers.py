"""Constraints on layers of 16-bit activations."""

from __future__ import annotations

import numpy as np

from compiler.frontend.constraints.base import constrains
from compiler.frontend.model import Array, Node
from isa.requantisation import LONG_SUM_BITS

LONG = ("Conv", "Gemm", "MatMul")
MOST = (1 << 15) + (1 << 7)
"""What a number of two bytes, the low one less 128, is at most."""


@constrains(*LONG)
def long_built(lanes: int, of_machine: int) -> bool:
    """Of 16-bit activations: the machine has act16, and words of as many channels as the model is divided by."""
    return lanes == of_machine


@constrains(*LONG)
def long_group(node: Node) -> bool:
    """Of 16-bit activations: it is dense, with one group."""
    return node.integer("group", 1) == 1


@constrains(*LONG)
def long_matrix(shape: tuple[int, ...]) -> bool:
    """Of 16-bit activations: the input of a dense layer has two dimensions, that of a convolution three or four."""
    return len(shape) == 2


@constrains(*LONG)
def long_sums(weights: Array, bias: Array) -> bool:
    """Of 16-bit activations: no sum can leave 36 bits, that is, weights of an output amount to less than about 2^20."""
    amount = np.abs(weights.astype(np.int64)).reshape(len(weights), -1).sum(axis=1)
    return bool((amount * MOST + np.abs(bias) < 1 << LONG_SUM_BITS - 1).all())


@constrains(*LONG)
def long_bias(bias: Array) -> bool:
    """Of 16-bit activations: the bias, with what zero-points add to it, fits 32 bits."""
    return bool((np.abs(bias) < 1 << 31).all())


@constrains("QuantizeLinear", "DequantizeLinear")
def long_edges() -> bool:
    """A map of 16 bits is made and read by layers of the machine: the CPU splits others into bytes, and joins them."""
    return False
