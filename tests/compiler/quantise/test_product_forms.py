"""Attention of float models: its products in eight bits where the machine makes weights of maps, else in float as ever."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.driver import Compiled
from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.reader import read
from compiler.quantise.forms import Form, forms_of
from compiler.quantise.rescaled import with_factors_behind
from compiler.quantise.statistics import CalibrationWarning
from compiler.xgraph.ops import Cpu, Eltwise
from compiler.xgraph.products import Product
from compiler.xgraph.row_operations import Softmax
from compiler.zoo.vit import vit
from isa.config import MachineConfig, preset
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

PRODUCTS = replace(preset("nano"), name="nano_products", build_products=True)
BOTH = replace(PRODUCTS, name="nano_both", build_rows=True, row_words=16)


def compiled(net: onnx.ModelProto, config: MachineConfig, **how: str) -> Compiled:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return compile_model(net, config, cache=False, effort="quick", **how)  # type: ignore[arg-type]


def encoder(heads: int = 3, size: int = 8) -> onnx.ModelProto:
    """Patches, an encoder's block, the mean of its tokens."""
    return vit(size=24, patch=8, width=heads * size, depth=1, heads=heads, classes=5)


@pytest.mark.parametrize("scheme", ["free", "power_of_two"])
@pytest.mark.parametrize(("heads", "size"), [(3, 8), (2, 16), (1, 4)])
def test_an_encoder_is_one_segment(heads: int, size: int, scheme: str) -> None:
    made = compiled(encoder(heads, size), BOTH, scheme=scheme)
    graph = made.imported.graph
    assert {*made.imported.reasons} == {"image_QuantizeLinear", "logits_DequantizeLinear"}
    assert sum(isinstance(op, Product) for op in graph.ops) == 2 * heads
    found = check(made, random_inputs(made.program), per_layer=True)
    assert found.equal, str(found)


@pytest.mark.slow
def test_an_encoder_on_the_verilog() -> None:
    made = compiled(encoder(), BOTH)
    assert check(made, random_inputs(made.program), "rtl").equal


def test_each_head_has_a_softmax_of_its_own() -> None:
    """Then a head's products and its softmax can run in one group."""
    graph = compiled(encoder(), BOTH).imported.graph
    softmaxes = [op for op in graph.ops if isinstance(op, Softmax)]
    assert len(softmaxes) == 3
    for op in softmaxes:
        assert isinstance(graph.producer(op.inputs[0]), Product)
        assert [type(user) for user in graph.consumers(op.output)] == [Product]


def test_without_row_the_softmax_alone_is_on_the_cpu() -> None:
    made = compiled(encoder(), PRODUCTS)
    parts = [op for op in made.imported.graph.ops if isinstance(op, Cpu)]
    assert any("Softmax" in name.title() for part in parts for name in part.reasons)
    assert sum(isinstance(op, Product) for op in made.imported.graph.ops) == 6
    assert check(made, random_inputs(made.program)).equal


def test_without_the_option_products_stay_in_float() -> None:
    net = read(encoder())
    with_products = forms_of(net, extras=Extras(products=True))
    assert [*with_products.of.values()].count(Form.PRODUCT) == 2
    without = forms_of(net, extras=NO_EXTRAS)
    assert Form.PRODUCT not in without.of.values()
    assert Form.RESCALED not in without.of.values()
    kept = next(node.name for node in net.nodes if with_products.of.get(node.name) is Form.PRODUCT)
    assert kept not in forms_of(net, frozenset({kept}), Extras(products=True)).of


def scaled(number: float, kind: str, before: bool = False) -> onnx.ModelProto:
    """A product of two activations, whose result (or first operand) is multiplied or divided, then a softmax."""
    node = helper.make_node
    scale = node(kind, ["x" if before else "p", "number"], ["xs" if before else "s"], name="scale")
    product = node("MatMul", ["xs" if before else "x", "w"], ["s" if before else "p"], name="product")
    nodes = [*((scale, product) if before else (product, scale)), node("Softmax", ["s"], ["y"], name="soft", axis=-1)]
    nodes.append(node("Relu", ["y"], ["z"], name="end"))
    shapes = {"x": (1, 5, 8), "w": (1, 8, 7)}
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    ends = [helper.make_tensor_value_info("z", TensorProto.FLOAT, (1, 5, 7))]
    held = [numpy_helper.from_array(np.array(number, np.float32), "number")]
    graph = helper.make_graph(nodes, "scaled", given, ends, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("number", "kind", "before", "form"),
    [
        (8.0, "Div", False, Form.RESCALED), (0.125, "Mul", False, Form.RESCALED), (0.125, "Mul", True, Form.RESCALED),
        (3.0, "Div", False, Form.FLOAT), (-2.0, "Mul", False, Form.FLOAT), (0.1, "Mul", True, Form.FLOAT),
    ],
)  # fmt: skip
def test_powers_of_two_change_the_scale_alone(number: float, kind: str, before: bool, form: Form) -> None:
    net = scaled(number, kind, before)
    assert forms_of(read(net), extras=Extras(True, True)).of["scale"] is form
    made = compiled(net, BOTH)
    ops = made.imported.graph.ops
    assert any(isinstance(op, Product) for op in ops)
    assert form is not Form.RESCALED or [op.name for op in ops if isinstance(op, Eltwise)] in ([], ["z_QuantizeLinear"]), ops
    assert check(made, random_inputs(made.program)).equal


@pytest.mark.parametrize(("roots", "one"), [((64**-0.25, 64**-0.25), True), ((0.3, 0.2), False), ((0.5, 0.25), True)])
def test_factors_of_both_operands_become_one_of_the_result(roots: tuple[float, float], one: bool) -> None:
    """As PyTorch writes attention: both operands are divided by the fourth root of a head's size, keys once turned."""
    node = helper.make_node
    nodes = [
        node("Mul", ["q", "c0"], ["qs"], name="queries"), node("Transpose", ["k"], ["kt"], name="turn", perm=[0, 2, 1]),
        node("Mul", ["kt", "c1"], ["ks"], name="keys"), node("MatMul", ["qs", "ks"], ["s"], name="product"),
        node("Softmax", ["s"], ["y"], name="soft", axis=-1), node("Relu", ["y"], ["z"], name="end"),
    ]  # fmt: skip
    shapes = {"q": (1, 5, 8), "k": (1, 7, 8)}
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    ends = [helper.make_tensor_value_info("z", TensorProto.FLOAT, (1, 5, 7))]
    held = [numpy_helper.from_array(np.array(root, np.float32), f"c{n}") for n, root in enumerate(roots)]
    graph = helper.make_graph(nodes, "roots", given, ends, held)
    net = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    made = compiled(net, BOTH)
    assert sum(each.op_type == "Mul" for each in with_factors_behind(read(net)).nodes) == (1 if one else 2)
    assert check(made, random_inputs(made.program), per_layer=True).equal
