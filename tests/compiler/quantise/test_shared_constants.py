"""Constants that several nodes read, as the steps of an unrolled recurrence do: written once, however they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from compiler.frontend.model import to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.quantise.fuse import fused
from compiler.quantise.quantise import quantise
from tests.compiler.frontend.quantised_models import model, node, weights

ROWS = np.exp2(np.arange(8, dtype=np.float32))[:, None]
LARGE = {"W": weights(8, 8), "V": weights(8, 8) * ROWS, "B": weights(8), "K": weights(4, 4, 2, 2), "S": weights(4, 1, 1)}
SHARED: dict[str, tuple[tuple[int, ...], list[onnx.NodeProto]]] = {
    "the bias of two products' sum in each step": ((1, 8), [
        node("MatMul", "x W", "a"), node("MatMul", "x V", "b"), node("Add", "a b", "c"), node("Add", "c B", "d"),
        node("MatMul", "d W", "e"), node("MatMul", "d V", "f"), node("Add", "e f", "g"), node("Add", "g B"),
    ]),
    "a deconvolution's kernel": ((1, 4, 3, 3), [node("ConvTranspose", "x K", "a"), node("ConvTranspose", "a K")]),
    "slopes": ((1, 4, 3, 3), [node("PRelu", "x S", "a"), node("ConvTranspose", "a K", "b"), node("PRelu", "b S")]),
    "a matrix by rows and by columns": ((1, 8), [node("Gemm", "x V", "a", transB=1), node("Gemm", "a V")]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_what_several_nodes_read_is_quantised_for_all_of_them(name: str) -> None:
    shape, nodes = SHARED[name]
    before = read(model(nodes, shape, {k: LARGE[k] for k in {i for n in nodes for i in n.input} & set(LARGE)}))
    feeds = {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    expected, made = run(to_proto(before), feeds), run(to_proto(quantise(before, feeds).model), feeds)
    for key, value in expected.items():
        assert np.sqrt(np.mean(np.square(made[key] - value))) <= 0.05 * np.sqrt(np.mean(np.square(value)))


def test_weights_of_all_steps_are_one_constant() -> None:
    """A bias that joins a product leaves the matrix as it is."""
    nodes = [
        node("MatMul", "x W", "a"), node("Add", "a B", "c"), node("Tanh", "c", "d"), node("MatMul", "d W", "e"),
        node("Add", "e B"),
    ]  # fmt: skip
    found = fused(read(model(nodes, (1, 8), {"W": LARGE["W"], "B": LARGE["B"]})))
    matrices: list[Any] = [each.inputs[1] for each in found.nodes if each.op_type == "Gemm"]
    assert matrices == ["W", "W"]
