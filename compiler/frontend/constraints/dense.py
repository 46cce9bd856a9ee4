"""Constraints on dense layers."""

from __future__ import annotations

from compiler.frontend.constraints.base import constrains
from compiler.frontend.model import Array, Node


@constrains("Gemm", "QGemm")
def plain_gemm(node: Node) -> bool:
    """The first operand is not transposed, alpha is 1, and beta is 1."""
    return (
        not node.integer("transA", 0)
        and float(node.attributes.get("alpha", 1.0)) == 1.0
        and float(node.attributes.get("beta", 1.0)) == 1.0
    )


@constrains("QGemm")
def quantised_result(node: Node) -> bool:
    """The result is quantised (it has an output scale)."""
    return bool(node.input(7) and node.input(8))


@constrains("MatMul", "QLinearMatMul", "Gemm", "QGemm")
def matrix(weights: Array) -> bool:
    """The weights are one matrix."""
    return weights.ndim == 2


@constrains("MatMul", "QLinearMatMul")
def dense_rank(letters: str | None) -> bool:
    """The first operand has one to four dimensions."""
    return letters is not None
