"""Products of two activations: imported for machines that make weights of maps, equal to onnxruntime's kernel in every bit."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.xgraph.ops import Cpu
from compiler.xgraph.products import Product
from isa.config import preset
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

PRODUCTS = replace(preset("nano"), name="nano_products", build_products=True)
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
    shape = (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
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
