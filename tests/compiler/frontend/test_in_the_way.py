"""A factor for each row before a large layer that wants rows as pixels: the layer is on the machine, the factor is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from compiler.frontend.in_the_way import IN_THE_WAY, in_the_way
from tests.compiler.frontend.quantised_models import check_exact, imported, model, node, weights

ROWS, WIDE = 24, 16


def network(outputs: int) -> onnx.ModelProto:
    """Rows that the CPU computes, normalised by row, convolved along the rows; ``outputs``: of the convolution."""
    nodes = [
        node("Softmax", "x", "s", axis=1), node("Mul", "s factor", "m"), node("Add", "m offset", "a"),
        node("Transpose", "a", "t", perm=[0, 2, 1]), node("Conv", "t w"),
    ]  # fmt: skip
    table: dict[str, Any] = {"factor": np.abs(weights(1, ROWS, 1)) + 1, "offset": weights(1, ROWS, 1)}
    return model(nodes, (1, ROWS, WIDE), {**table, "w": weights(outputs, WIDE, 5)})


def test_the_layer_goes_to_the_machine() -> None:
    found = imported(network(32), "free")
    assert "Conv_y" not in found.reasons
    assert IN_THE_WAY in found.reasons.values()
    check_exact(found)


def test_what_reads_the_layout_as_it_is_gives_way_to_nothing() -> None:
    nodes = [node("Conv", "x w", "a"), node("Relu", "a", "b"), node("Softmax", "b")]
    found = imported(model(nodes, (1, 3, 6, 5), {"w": weights(4, 3, 3, 3)}), "free")
    assert found.model is not None
    assert not in_the_way(found.model, found.reasons)


def test_any_order_before_a_layer_on_planes() -> None:
    """A tensor of the CPU's lies as the convolution behind the transposition reads it."""
    nodes = [
        node("Softmax", "x", "s", axis=1), node("Transpose", "s", "t", perm=[0, 2, 1, 3]), node("Conv", "t w")
    ]  # fmt: skip
    found = imported(model(nodes, (1, ROWS, WIDE, 1), {"w": weights(8, WIDE, 5, 1)}), "free")
    assert "Conv_y" not in found.reasons
    check_exact(found)
