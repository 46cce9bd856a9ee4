"""Constraints on products of two activations."""

from __future__ import annotations

from compiler.frontend.constraints.base import constrains


@constrains("MatMul", "QLinearMatMul")
def products_built(built: bool) -> bool:
    """Two activations are multiplied by machines with build_products."""
    return built


@constrains("MatMul", "QLinearMatMul")
def two_matrices(rank: int, other: int) -> bool:
    """Both activations of a product have two dimensions or more."""
    return min(rank, other) >= 2


@constrains("MatMul", "QLinearMatMul", "QuantizeLinear")
def no_bias(biased: bool) -> bool:
    """Nothing is added to a product of two activations before it is quantised."""
    return not biased
