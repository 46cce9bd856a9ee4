"""Products of two activations: imported for machines that make weights of maps, equal to onnxruntime's kernel in every bit."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.constraints import general, products
from compiler.frontend.constraints.base import Constraint, refusal
from compiler.frontend.documented import documented
from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.idle import NothingOnMachine
from compiler.frontend.pipeline import import_model
from compiler.xgraph.ops import Cpu
from compiler.xgraph.products import Product
from isa.config import preset
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

PRODUCTS = replace(preset("nano"), name="nano_products", build_products=True)
WITH = Extras(products=True)
INT8, UINT8 = TensorProto.INT8, TensorProto.UINT8
Shape = tuple[int, ...]


def scaled(name: str, scale: float, zero: int, kind: int) -> dict[str, object]:
    """The constants of a quantised tensor; ``zero`` is that of its int8 form."""
    return {f"{name}_s": np.float32(scale), f"{name}_z": np.uint8(zero + 128) if kind == UINT8 else np.int8(zero)}


def model(
    nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, tuple[Shape, int]], output: tuple[Shape, int],
    constants: Mapping[str, object],
) -> onnx.ModelProto:  # fmt: skip
    """To ``y`` of 8 bits."""
    given = [helper.make_tensor_value_info(name, kind, shape) for name, (shape, kind) in inputs.items()]
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    shape, kind = output
    graph = helper.make_graph(nodes, "products", given, [helper.make_tensor_value_info("y", kind, shape)], held)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def product(a: Shape, b: Shape, kinds: tuple[int, int, int] = (INT8, INT8, INT8), between: bool = False) -> onnx.ModelProto:
    """A QLinearMatMul, or MatMul between DequantizeLinear and QuantizeLinear."""
    inner = a[-1]
    constants = scaled("a", 0.031, 7, kinds[0]) | scaled("b", 0.047, -11, kinds[1])
    constants |= scaled("y", 0.031 * 0.047 * 2000 * inner**0.5 / 64, 5, kinds[2])
    if between:
        nodes = [
            helper.make_node("DequantizeLinear", ["a", "a_s", "a_z"], ["ra"], name="da"),
            helper.make_node("DequantizeLinear", ["b", "b_s", "b_z"], ["rb"], name="db"),
            helper.make_node("MatMul", ["ra", "rb"], ["ry"], name="product"),
            helper.make_node("QuantizeLinear", ["ry", "y_s", "y_z"], ["y"], name="qy"),
        ]
    else:
        reads = ["a", "a_s", "a_z", "b", "b_s", "b_z", "y_s", "y_z"]
        nodes = [helper.make_node("QLinearMatMul", reads, ["y"], name="product")]
    shape = (*np.broadcast_shapes(a[:-2], b[:-2]), *a[-2:-1], b[-1])
    return model(nodes, {"a": (a, kinds[0]), "b": (b, kinds[1])}, (shape, kinds[2]), constants)


def checked(given: onnx.ModelProto, count: int = 1, engine: str = "functional") -> None:
    """All on the machine, in so many products, and equal to onnxruntime."""
    compiled = compile_model(given, PRODUCTS, cache=False)
    ops = compiled.imported.graph.ops
    assert not compiled.imported.reasons
    assert sum(isinstance(op, Product) for op in ops) == count
    assert not any(isinstance(op, Cpu) for op in ops)
    found = check(compiled, random_inputs(compiled.program), engine, per_layer=True)
    assert found.equal, str(found)


@pytest.mark.parametrize(
    ("a", "b", "count"),
    [
        ((5, 9), (9, 7), 1), ((1, 1), (1, 1), 1), ((1, 5, 9), (1, 9, 7), 1), ((3, 5, 9), (3, 9, 7), 3),
        ((1, 2, 5, 9), (1, 2, 9, 7), 2), ((2, 3, 5, 9), (2, 3, 9, 7), 6), ((3, 5, 9), (9, 7), 3),
        ((1, 2, 5, 9), (1, 1, 9, 7), 2), ((1, 5, 9), (2, 9, 7), 2), ((1, 6, 17), (1, 17, 1), 1),
    ],
)  # fmt: skip
def test_shapes(a: Shape, b: Shape, count: int) -> None:
    checked(product(a, b), count)


KERNELS = [(INT8, INT8, INT8), (UINT8, INT8, UINT8), (UINT8, UINT8, UINT8)]
"""The types of which onnxruntime has kernels."""


@pytest.mark.parametrize("kinds", KERNELS)
def test_types(kinds: tuple[int, int, int]) -> None:
    checked(product((4, 6), (6, 5), kinds))


@pytest.mark.parametrize("kinds", [*itertools.product((INT8, UINT8), repeat=3)])
def test_between_quantised_tensors(kinds: tuple[int, int, int]) -> None:
    checked(product((1, 2, 5, 9), (1, 2, 9, 7), kinds, between=True), 2)


def test_a_map_times_itself() -> None:
    given = product((1, 6, 6), (1, 6, 6))
    given.graph.node[0].input[3] = "a"
    given.graph.input.pop()
    checked(given)


def reason(given: onnx.ModelProto, extras: Extras = WITH) -> str:
    found = import_model(given, extras=extras)
    assert documented(found.reasons["product"])
    return found.reasons["product"]


def biased() -> onnx.ModelProto:
    """A constant is added before the result is quantised."""
    given = product((1, 5, 9), (1, 9, 7), between=True)
    nodes = [*given.graph.node]
    nodes[2].output[0] = "sum"
    nodes.insert(3, helper.make_node("Add", ["sum", "bias"], ["ry"], name="add"))
    del given.graph.node[:]
    given.graph.node.extend(nodes)
    given.graph.initializer.append(numpy_helper.from_array(np.ones(7, np.float32), "bias"))
    return given


def turned_first() -> onnx.ModelProto:
    """Rows of the first operand lie in channels, behind a convolution that is worth more."""
    constants = scaled("a", 0.03, 0, INT8) | scaled("b", 0.03, 0, INT8) | scaled("y", 0.05, 0, INT8)
    constants |= {"k": np.ones((4, 3, 3, 3), np.int8), "shape": np.array([1, 4, 30])}
    nodes = [
        helper.make_node("QLinearConv", ["a", "a_s", "a_z", "k", "a_s", "a_z", "b_s", "b_z"], ["c"], name="conv", pads=[1] * 4),
        helper.make_node("Reshape", ["c", "shape"], ["x"], name="flat"),
        helper.make_node("QLinearMatMul", ["x", "b_s", "b_z", "b", "b_s", "b_z", "y_s", "y_z"], ["y"], name="product"),
    ]
    return model(nodes, {"a": ((1, 3, 5, 6), INT8), "b": ((1, 30, 7), INT8)}, ((1, 4, 7), INT8), constants)


@pytest.mark.parametrize(
    ("given", "constraint"),
    [
        (product((9,), (9, 7)), products.two_matrices),
        (product((1, 1, 1, 5, 9), (1, 1, 1, 9, 7)), general.at_most_four_dimensions),
    ],
)
def test_what_is_refused(given: onnx.ModelProto, constraint: Constraint) -> None:
    assert reason(given) == refusal(constraint)


def test_channels_and_pixels_change_places_in_a_product_with_ones() -> None:
    given = turned_first()
    compiled = compile_model(given, PRODUCTS, cache=False)
    assert "product" not in compiled.imported.reasons
    assert sum(isinstance(op, Product) for op in compiled.imported.graph.ops) == 2
    found = check(compiled, random_inputs(compiled.program), per_layer=True)
    assert found.equal, str(found)


def test_a_machine_without_the_option_refuses() -> None:
    assert reason(product((5, 9), (9, 7)), NO_EXTRAS) == refusal(products.products_built)


def test_a_sum_behind_a_product_is_refused() -> None:
    found = import_model(biased(), extras=WITH)
    assert found.reasons["qy"] == refusal(products.no_bias)
    assert {"product", "add"} <= {*found.reasons}


@pytest.mark.parametrize(("inner", "outer"), [(2100, 3), (3, 2100)])
def test_sums_that_no_buffer_holds_are_for_the_cpu(inner: int, outer: int) -> None:
    """Outputs come in blocks; all weights of an output, and all its numbers, are on chip together."""
    small = replace(PRODUCTS, weight_depth=256)
    with pytest.warns(NothingOnMachine) if inner > outer else nullcontext():
        compiled = compile_model(product((1, 2, inner), (1, inner, outer)), small, cache=False)
    assert ("product" in compiled.imported.reasons) == (inner > outer)
    assert check(compiled, random_inputs(compiled.program)).equal
