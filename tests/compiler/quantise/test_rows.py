"""Dense layers on tokens: their bias, what scales their features, and what follows them stay on the machine."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.model import to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.frontend.types import with_types
from compiler.quantise.fuse import fused
from compiler.quantise.rows import on_rows
from compiler.xgraph.ops import Conv, Cpu, Eltwise
from tests.compiler.frontend.quantised_models import check_exact, host_operators, imported, model, node, weights

TABLE = {
    "w": weights(8, 12), "v": weights(12, 8), "b": weights(12), "c": weights(8), "scale": weights(8) + 1,
    "half": np.array(0.5, np.float32), "g": weights(8, 1, 1) + 1,
}  # fmt: skip
LINEAR = [node("MatMul", "x w", "m"), node("Add", "b m", "a")]


@pytest.mark.parametrize("shape", [(1, 6, 8), (2, 5, 8), (1, 3, 4, 8)])
@pytest.mark.parametrize(
    ("nodes", "left"),
    [
        ([], ["Reshape", "Gemm", "Reshape"]),
        ([node("Mul", "a half", "h")], ["Reshape", "Gemm", "Reshape"]),
        ([node("Relu", "a", "r"), node("MatMul", "r v", "n"), node("Mul", "scale n", "s"), node("Sub", "c s", "h")],
         ["Reshape", "Gemm", "Reshape", "Relu", "Reshape", "Gemm", "Reshape"]),
        ([node("MatMul", "x w", "n"), node("Add", "a n", "h")],
         ["Reshape", "Gemm", "Reshape", "Gemm", "Reshape", "Add"]),
    ],
)  # fmt: skip
def test_products_with_a_matrix_become_dense_layers_on_rows(
    shape: tuple[int, ...], nodes: list[object], left: list[str]
) -> None:
    whole = [*LINEAR, *nodes, node("Identity", "h" if nodes else "a")]
    before = read(model(whole, shape, TABLE))  # type: ignore[arg-type]
    after = fused(on_rows(before))
    assert sorted(n.op_type for n in with_types(after).nodes) == sorted(left)
    feeds = {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
    expected, found = run(to_proto(before), feeds)["y"], run(to_proto(after), feeds)["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_factors_behind_a_transposition_go_into_the_layer() -> None:
    """ConvNeXt's layer scale: channels are second again when they are scaled."""
    nodes = [
        node("MatMul", "x w", "m"), node("MatMul", "m v", "n"), node("Add", "n c", "o"),
        node("Transpose", "o", "t", perm=[0, 3, 1, 2]), node("Mul", "g t"),
    ]  # fmt: skip
    before = read(model(nodes, (1, 3, 4, 8), TABLE))
    after = fused(on_rows(before))
    assert [n.op_type for n in after.nodes][-3:] == ["Gemm", "Reshape", "Transpose"]
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 3, 4, 8)).astype(np.float32)}
    np.testing.assert_allclose(run(to_proto(after), feeds)["y"], run(to_proto(before), feeds)["y"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scheme", ["power_of_two", "free"])
@pytest.mark.parametrize("shape", [(1, 6, 8), (1, 3, 4, 8)])
def test_a_perceptron_and_its_residual_are_two_convolutions_and_a_sum(shape: tuple[int, ...], scheme: str) -> None:
    """GELU spelt out is the first layer's table."""
    nodes = [
        *LINEAR, node("Div", "a root", "d"), node("Erf", "d", "e"), node("Add", "e one", "f"), node("Mul", "a f", "g1"),
        node("Mul", "g1 half", "gelu"), node("MatMul", "gelu v", "n"), node("Add", "c n", "o"), node("Add", "x o"),
    ]  # fmt: skip
    table = {**TABLE, "root": np.array(2**0.5, np.float32), "one": np.array(1, np.float32)}
    found = imported(model(nodes, shape, table), scheme=scheme)
    check_exact(found)
    assert not host_operators(found)
    assert [type(op) for op in found.graph.ops if not isinstance(op, Cpu)] == [Conv, Conv, Eltwise]


def test_a_sum_with_tokens_from_the_cpu_stays_on_the_machine() -> None:
    nodes = [
        node("Softmax", "x", "s"), node("MatMul", "s w", "m"), node("MatMul", "m v", "n"), node("Add", "s n", "t"),
        node("MatMul", "t w"),
    ]  # fmt: skip
    found = imported(model(nodes, (1, 6, 8), TABLE))
    check_exact(found)
    assert host_operators(found) <= {"Softmax", "Reshape"}


@pytest.mark.parametrize(("kernel", "size"), [((16, 16), (32, 48)), ((17, 5), (36, 12)), ((3, 20), (9, 61))])
def test_patches_are_cut_at_any_stride(kernel: tuple[int, int], size: tuple[int, int]) -> None:
    table = {"w": weights(6, 3, *kernel), "b": weights(6), "v": weights(4, 6, 1, 1)}
    cut = node("Conv", "x w b", "a", kernel_shape=list(kernel), strides=list(kernel))
    found = imported(model([cut, node("Conv", "a v")], (1, 3, *size), table))
    check_exact(found)
    assert not host_operators(found)
