"""Constraints on layers of 16-bit activations."""

from __future__ import annotations

from compiler.frontend.constraints.base import constrains
from compiler.frontend.model import Array, Node

LONG = ("Conv", "Gemm", "MatMul")


@constrains(*LONG)
def built(lanes: int, of_machine: int) -> bool:
    """Of 16-bit activations: the machine has act16, and words of as many channels as the model is divided by."""
    return lanes == of_machine


@constrains(*LONG)
def one_group(node: Node) -> bool:
    """Of 16-bit activations: it is dense, with one group."""
    return node.integer("group", 1) == 1


@constrains(*LONG)
def matrix(shape: tuple[int, ...]) -> bool:
    """Of 16-bit activations: the input of a dense layer has two dimensions, that of a convolution three or four."""
    return len(shape) == 2


@constrains(*LONG)
def sums_fit(products: int) -> bool:
    """Of 16-bit activations: a sum has at most 131072 products, as accumulators of 40 bits hold."""
    return products <= 1 << 17


@constrains(*LONG)
def bias_fits(bias: Array) -> bool:
    """Of 16-bit activations: the bias, with what zero-points add to it, fits 32 bits."""
    return bool((abs(bias) < 1 << 31).all())
