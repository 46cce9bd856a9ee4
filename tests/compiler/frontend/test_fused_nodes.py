"""Nodes that stand for many: the nodes in their place compute the same, and the machine runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.fused_attention import STANDARD
from compiler.frontend.fused_nodes import with_fused_nodes_spelt_out
from compiler.frontend.model import Array, to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import session
from tests.compiler.frontend.test_masks import HEADS, compiled
from tests.onnx_cases import node_cases
from tilewright.checking import check

BOTH_OPTIONS = Extras(rows=True, products=True)
TOKENS, FEATURES, MICROSOFT = 6, 8, "com.microsoft"
RNG = np.random.default_rng(3)


def drawn(*shape: int) -> Array:
    return RNG.normal(0, 0.5, shape).astype(np.float32)


def fused(
    operator: str, inputs: Mapping[str, Sequence[int] | Array], domain: str = MICROSOFT, outputs: int = 1, **attributes: Any
) -> onnx.ModelProto:  # fmt: skip
    """One node; ``inputs``: shapes of what comes from outside, arrays of what is constant; an empty name: left out."""
    made = ["y", "", "", "sum"][:outputs]
    node = helper.make_node(operator, [name.strip("_") for name in inputs], made, "fused", domain=domain, **attributes)
    constants = [numpy_helper.from_array(v, k) for k, v in inputs.items() if isinstance(v, np.ndarray)]
    ends = [
        helper.make_tensor_value_info(k, TensorProto.FLOAT, v)
        for k, v in inputs.items() if not isinstance(v, np.ndarray) and k.strip("_")
    ]  # fmt: skip
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in made if name]
    graph = helper.make_graph([node], "fused", ends, results, constants)
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


Q, K = (1, TOKENS, FEATURES), (1, TOKENS + 3, FEATURES)
FEW = (1, TOKENS, FEATURES // 2)
"""Keys and values of half as many heads."""
SPLIT = (1, HEADS, TOKENS, FEATURES // HEADS)
THERE = np.arange(TOKENS)[None] < TOKENS - 2
CASES = {
    "heads within features": fused("Attention", {"q": Q, "k": K, "v": K}, "", q_num_heads=HEADS, kv_num_heads=HEADS),
    "heads apart": fused("Attention", {"q": SPLIT, "k": SPLIT, "v": SPLIT}, ""),
    "shared heads": fused("Attention", {"q": Q, "k": FEW, "v": FEW}, "", q_num_heads=2 * HEADS, kv_num_heads=HEADS),
    "causal": fused("Attention", {"q": SPLIT, "k": SPLIT, "v": SPLIT}, "", is_causal=1, scale=0.3),
    "mask of truth values": fused("Attention", {"q": SPLIT, "k": SPLIT, "v": SPLIT, "m": np.repeat(THERE, TOKENS, 0)}, ""),
    "mask from outside": fused("Attention", {"q": SPLIT, "k": SPLIT, "v": SPLIT, "m": (TOKENS, TOKENS)}, ""),
    "MultiHeadAttention": fused("MultiHeadAttention", {"q": Q, "k": K, "v": K}, num_heads=HEADS),
    "with biases": fused("MultiHeadAttention", {"q": Q, "k": K, "v": K, "b": drawn(3 * FEATURES)}, num_heads=HEADS),
    "with padding": fused(
        "MultiHeadAttention", {"q": Q, "k": Q, "v": Q, "": (), "m": THERE.astype(np.int32)}, num_heads=HEADS
    ),
    "with positions": fused(
        "MultiHeadAttention", {"q": Q, "k": Q, "v": Q, "": (), "_": (), "p": drawn(1, HEADS, TOKENS, TOKENS)},
        num_heads=HEADS, unidirectional=1,
    ),
    "packed": fused("Attention", {"x": Q, "w": drawn(FEATURES, 24), "b": drawn(24)}, num_heads=HEADS),
    "packed, other sizes": fused(
        "Attention", {"x": Q, "w": drawn(FEATURES, 20), "b": drawn(20), "m": THERE.astype(np.int32)}, num_heads=HEADS,
        qkv_hidden_sizes=[4, 4, 12], scale=0.5,
    ),
    "SkipLayerNormalization": fused("SkipLayerNormalization", {"x": Q, "s": Q, "g": drawn(8), "o": drawn(8), "b": drawn(8)}),
    "its sum, too": fused("SkipLayerNormalization", {"x": Q, "s": Q, "g": drawn(8)}, outputs=4, epsilon=1e-5),
    "without means": fused("SkipSimplifiedLayerNormalization", {"x": Q, "s": Q, "g": drawn(8)}),
    "Gelu": fused("Gelu", {"x": Q}),
    "BiasGelu": fused("BiasGelu", {"x": Q, "b": drawn(8)}),
    "FastGelu": fused("FastGelu", {"x": Q, "b": drawn(8)}),
    "QuickGelu": fused("QuickGelu", {"x": Q}, alpha=1.5),
}  # fmt: skip


def feeds(proto: onnx.ModelProto) -> dict[str, Array]:
    constants = {t.name for t in proto.graph.initializer}
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in proto.graph.input if v.name not in constants}
    return {name: drawn(*shape) for name, shape in shapes.items()}


@pytest.mark.parametrize("case", CASES)
def test_the_nodes_in_its_place_compute_what_onnxruntime_computes(case: str) -> None:
    model = read(CASES[case])
    spelt = with_fused_nodes_spelt_out(model, BOTH_OPTIONS)
    assert not {node.domain for node in spelt.nodes} & {MICROSOFT}
    assert "Attention" not in {node.op_type for node in spelt.nodes}
    given = feeds(CASES[case])
    results = [session(to_proto(each)).run(None, given) for each in (spelt, model)]
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def before_a_layer(proto: onnx.ModelProto) -> onnx.ModelProto:
    """What the node makes is read by a dense layer, without which nothing would come to the machine."""
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    width = session(proto).run(["y"], feeds(proto))[0].shape[-1]
    made.graph.initializer.append(numpy_helper.from_array(drawn(width, 5), "layer"))
    made.graph.node.append(helper.make_node("MatMul", ["y", "layer"], ["z"], "layer"))
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("z", TensorProto.FLOAT, None))
    return made


@pytest.mark.parametrize("case", CASES)
def test_the_machine_runs_it(case: str) -> None:
    """The host bounds a mask from outside, and quantises what comes."""
    made = compiled(before_a_layer(CASES[case]))
    host = [name for name in made.imported.reasons if not name.endswith(("QuantizeLinear", "DequantizeLinear"))]
    assert all(name.startswith("m/bounded") for name in host), made.imported.reasons
    found = check(made, feeds(CASES[case]), per_layer=True)
    assert found.equal, str(found)


LEFT = {
    "a past": fused("Attention", {"q": SPLIT, "k": SPLIT, "v": SPLIT, "": (), "p": SPLIT, "r": SPLIT}, ""),
    "softcap": fused("Attention", {"q": SPLIT, "k": SPLIT, "v": SPLIT}, "", softcap=5.0),
    "rotated": fused("Attention", {"x": Q, "w": drawn(FEATURES, 24), "b": drawn(24)}, num_heads=HEADS, do_rotary=1),
    "lengths": fused(
        "Attention", {"x": Q, "w": drawn(FEATURES, 24), "b": drawn(24), "m": np.array([4], np.int32)}, num_heads=HEADS
    ),
    "another shape": fused("SkipLayerNormalization", {"x": Q, "s": (TOKENS, FEATURES), "g": drawn(8)}),
}  # fmt: skip


def test_numbers_of_two_bytes_stay() -> None:
    """The nodes in its place have constants of four bytes."""
    model = onnx.ModelProto()
    model.CopyFrom(CASES["Gelu"])
    for value in model.graph.input:
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    for value in model.graph.output:
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    before = read(model)
    assert with_fused_nodes_spelt_out(before, BOTH_OPTIONS) is before


@pytest.mark.parametrize("case", LEFT)
def test_what_has_no_such_nodes_stays(case: str) -> None:
    model = read(LEFT[case])
    assert with_fused_nodes_spelt_out(model, BOTH_OPTIONS) is model


def test_a_machine_without_the_options_gets_layers_alone() -> None:
    """What it does not compute stays one node."""
    for case, stays in {"heads apart": True, "MultiHeadAttention": True, "packed": False, "BiasGelu": False}.items():
        model = read(CASES[case])
        assert (with_fused_nodes_spelt_out(model, NO_EXTRAS) is model) is stays, case


@pytest.mark.parametrize(("shape", "axis"), [((1, TOKENS, 1), 1), ((1, TOKENS, FEATURES), 1), ((1, 2, TOKENS, FEATURES), -2)])
def test_a_softmax_over_another_dimension(shape: tuple[int, ...], axis: int) -> None:
    """As classes are pooled over tokens: a product reads the shares."""
    rank = len(shape)
    turned = [*range(rank - 2), rank - 1, rank - 2]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["scores"], "scores"),
        helper.make_node("Softmax", ["scores"], ["shares"], "softmax", axis=axis),
        helper.make_node("Transpose", ["shares"], ["rows"], "turn", perm=turned),
        helper.make_node("MatMul", ["rows", "x"], ["y"], "pooled"),
    ]
    ends = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (*shape[:-1], FEATURES))]
    results = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    weights = [numpy_helper.from_array(drawn(FEATURES, shape[-1]), "w")]
    graph = helper.make_graph(nodes, "pooled", ends, results, weights)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    spelt = with_fused_nodes_spelt_out(read(proto), BOTH_OPTIONS)
    given = feeds(proto)
    np.testing.assert_allclose(session(to_proto(spelt)).run(None, given)[0], session(proto).run(None, given)[0], atol=1e-6)
    made = compiled(proto)
    assert "softmax" not in str(made.imported.reasons), made.imported.reasons
    found = check(made, given, per_layer=True)
    assert found.equal, str(found)


def standard_cases() -> list[Any]:
    """ONNX's own cases of Attention in float32, but for those with windows, which onnxruntime does not load yet."""
    return [
        case for case in node_cases()
        if [node.op_type for node in case.model.graph.node] == ["Attention"]
        and STANDARD.issuperset(attribute.name for attribute in case.model.graph.node[0].attribute)
        and all(np.asarray(value).dtype in (np.float32, np.bool_) for value in case.data_sets[0][0])
    ]  # fmt: skip


@pytest.mark.parametrize("case", standard_cases(), ids=lambda case: case.name)
def test_the_standard_s_own_cases(case: Any) -> None:
    """Masks of truth values are constants, as exporters write them; the result is the standard's."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    given = dict(zip((info.name for info in model.graph.input), map(np.asarray, case.data_sets[0][0]), strict=True))
    for info in [info for info in model.graph.input if given[info.name].dtype == np.bool_]:
        model.graph.input.remove(info)
        model.graph.initializer.append(numpy_helper.from_array(given.pop(info.name), info.name))
    before = read(model)
    spelt = with_fused_nodes_spelt_out(before, BOTH_OPTIONS)
    node = before.nodes[0]
    left = any(node.outputs[1:]) or any(node.inputs[4:]) or node.attributes.get("softcap") or case.name.endswith("robustness")
    assert (spelt is before) == bool(left)
    if spelt is not before:
        found = session(to_proto(spelt)).run(None, given)
        np.testing.assert_allclose(found[0], np.asarray(case.data_sets[0][1][0]), rtol=1e-4, atol=1e-5)
