"""What is done with a model before it is imported: constants, second names, batches, the order of axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from compiler.frontend.errors import ModelError
from compiler.frontend.folding import fold_constants, with_constant_outputs, without_identities
from compiler.frontend.importer.guess import guess_letters
from compiler.frontend.model import Model, Node, TensorType, to_proto
from compiler.frontend.pipeline import import_model
from compiler.frontend.reader import from_proto, read
from compiler.frontend.session import run
from tests.compiler.frontend.quantised_models import check_exact, host_operators, model, node, weights


def model_of(proto: onnx.ModelProto) -> Model:
    """With the type of its input ``x``."""
    shape = tuple(d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim)
    found = from_proto(proto)
    return replace(found, types={**found.types, "x": TensorType(TensorProto.FLOAT, shape)})


def operators(found: Model) -> list[str]:
    return [each.op_type for each in found.nodes]


# Constants


@pytest.mark.parametrize(
    ("attributes", "value"),
    [
        ({"value": onnx.numpy_helper.from_array(np.array([1.5, 2], np.float32))}, np.array([1.5, 2], np.float32)),
        ({"value_int": 3}, np.array(3, np.int64)), ({"value_ints": [3, 4]}, np.array([3, 4], np.int64)),
        ({"value_float": 0.5}, np.array(0.5, np.float32)), ({"value_floats": [0.5, 2]}, np.array([0.5, 2], np.float32)),
    ],
)  # fmt: skip
def test_constants_of_every_kind(attributes: dict[str, Any], value: np.ndarray) -> None:
    found = fold_constants(model_of(model([node("Constant", "", "c", **attributes), node("Add", "x c")], (2,))))
    assert operators(found) == ["Add"]
    assert found.constants["c"].dtype == value.dtype
    assert np.array_equal(found.constants["c"], value)


@pytest.mark.parametrize(
    ("op_type", "attributes", "value"),
    [
        ("Shape", {}, [2, 3, 4]), ("Shape", {"start": 1}, [3, 4]), ("Shape", {"end": 2}, [2, 3]),
        ("Shape", {"start": -2, "end": -1}, [3]), ("Size", {}, 24),
    ],
)  # fmt: skip
def test_shapes_that_are_known_are_constants(op_type: str, attributes: dict[str, Any], value: Any) -> None:
    found = fold_constants(model_of(model([node(op_type, "x", "y", **attributes)], (2, 3, 4))))
    assert not found.nodes
    assert found.constants["y"].tolist() == value


def test_what_depends_on_constants_only_is_computed_once() -> None:
    table = {"a": np.array([1, 2], np.float32), "b": np.array([3, 4], np.float32)}
    nodes = [node("Add", "a b", "s"), node("Mul", "s s", "t"), node("Sub", "x t", "d"), node("Add", "d a")]
    found = fold_constants(model_of(model(nodes, (2,), table)))
    assert operators(found) == ["Sub", "Add"]
    assert found.constants["t"].tolist() == [16, 36]
    assert {*found.constants} == {"t", "a"}, "what nobody reads any more is dropped"


def test_stored_weights_stay_quantised_unless_asked() -> None:
    table: dict[str, Any] = {"w": np.array([1, 2], np.int8), "s": np.array(0.5, np.float32)}
    proto = model_of(model([node("DequantizeLinear", "w s", "f"), node("Add", "x f")], (2,), table))
    assert operators(fold_constants(proto)) == ["DequantizeLinear", "Add"]
    folded = fold_constants(proto, weights=True)
    assert operators(folded) == ["Add"]
    assert folded.constants["f"].tolist() == [0.5, 1]


def test_a_node_that_onnxruntime_refuses_stays_and_so_do_its_readers() -> None:
    table = {"a": np.array([1, 2], np.float32), "b": np.array([1, 2, 3], np.float32)}
    nodes = [node("Add", "a a", "s"), node("Add", "a b", "wrong"), node("Neg", "wrong", "r"), node("Concat", "x s r", axis=0)]
    found = fold_constants(from_proto(model(nodes, (2,), table)))
    assert operators(found) == ["Concat"] or operators(found)[-1] == "Concat"
    assert found.constants["s"].tolist() == [2, 4]
    assert "r" not in found.constants


def test_constant_outputs_are_made_by_a_node_under_names_that_are_free() -> None:
    table = {
        "y": np.array([1, 2], np.float32),
        "y_value": np.array([3, 4], np.float32),
        "y_value_": np.array([5, 6], np.float32),
    }
    nodes = [node("Sum", "x y y_value y_value_", "z")]
    proto = model_of(model(nodes, (2,), table, outputs=("z", "y")))
    found = with_constant_outputs(proto)
    assert operators(found) == ["Identity", "Sum"]
    assert found.nodes[0].outputs == ("y",)
    assert found.nodes[0].inputs == ("y_value__",)
    made = run(to_proto(found), {"x": np.zeros(2, np.float32)})
    assert (made["z"].tolist(), made["y"].tolist()) == ([9, 12], [1, 2])
    assert fold_constants(found).nodes == found.nodes, "and stay so"
    free = model_of(model([node("Relu", "x")], (2,)))
    assert with_constant_outputs(free) is free


# Second names


def names(found: Model) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(each.op_type, each.inputs, each.outputs) for each in found.nodes]


@pytest.mark.parametrize("op_type", ["Identity", "Dropout"])
def test_second_names_are_the_first_one(op_type: str) -> None:
    nodes = [node("Relu", "x", "a"), node(op_type, "a", "b"), node(op_type, "b", "c"), node("Neg", "c")]
    assert names(without_identities(model_of(model(nodes, (2,))))) == [("Relu", ("x",), ("a",)), ("Neg", ("a",), ("y",))]


def test_an_output_gives_its_name_to_who_makes_it() -> None:
    nodes = [node("Relu", "x", "a"), node("Neg", "a", "b"), node("Identity", "a", "y")]
    found = without_identities(model_of(model(nodes, (2,), outputs=("y", "b"))))
    assert names(found) == [("Relu", ("x",), ("y",)), ("Neg", ("y",), ("b",))]


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [
        ([node("Identity", "x", "y")], ("y",)),  # an input
        ([node("Relu", "x", "a"), node("Identity", "a", "y")], ("a", "y")),  # two outputs of one value
        ([node("Relu", "x", "a"), node("Identity", "a", "y"), node("Identity", "a", "z")], ("y", "z")),
        ([node("Relu", "x", "a"), node("Dropout", "a", "y mask")], ("y", "mask")),
    ],
)
def test_every_output_keeps_its_name_and_value(nodes: list[onnx.NodeProto], outputs: tuple[str, ...]) -> None:
    proto = model_of(model(nodes, (2,), outputs=outputs))
    found = without_identities(proto)
    feeds = {"x": np.array([-1, 2], np.float32)}
    before, after = run(to_proto(proto), feeds), run(to_proto(found), feeds)
    assert {name: value.tolist() for name, value in after.items()} == {name: value.tolist() for name, value in before.items()}


def test_an_operator_of_another_domain_is_no_second_name() -> None:
    made = Model(
        "m", (Node("n", "Identity", ("x",), ("b",), {}, "mine"), Node("r", "Relu", ("b",), ("y",))), {}, {}, ("x",), ("y",), {}
    )
    assert without_identities(made) is made


# Batches


def convolution(batch: int) -> onnx.ModelProto:
    nodes = [
        node("Conv", "x w", "c"), node("Reshape", "c shape", "f"), node("Gemm", "f v", "g"), node("Softmax", "g", axis=1),
    ]  # fmt: skip
    table: dict[str, Any] = {"w": weights(3, 2, 3, 3), "v": weights(12, 5), "shape": np.array([batch, 12], np.int64)}
    return model(nodes, (batch, 2, 4, 4), table)


@pytest.mark.parametrize(("fixed", "batch"), [(1, 3), (2, 1), (4, 6)])
def test_a_fixed_batch_is_given_another_size(fixed: int, batch: int) -> None:
    proto = convolution(fixed)
    found = read(proto, batch=batch)
    assert [found.shape(name) for name in ("x", "y")] == [(batch, 2, 4, 4), (batch, 5)]
    x = np.random.default_rng(0).standard_normal((batch, 2, 4, 4)).astype(np.float32)
    one = read(proto, batch=1)
    apart = np.concatenate([run(to_proto(one), {"x": image[None]})["y"] for image in x])
    assert np.allclose(run(to_proto(found), {"x": x})["y"], apart, rtol=1e-4, atol=1e-6)


def test_the_batch_that_the_model_has_changes_nothing() -> None:
    assert read(convolution(2), batch=2).shape("y") == (2, 5)
    assert read(convolution(2)).shape("y") == (2, 5)


@pytest.mark.parametrize(
    ("nodes", "table"),
    [
        ([node("Concat", "x x", axis=0)], {}),
        ([node("Concat", "x x", axis=-2)], {}),
        ([node("Softmax", "x", axis=0)], {}),
        ([node("ArgMax", "x")], {}),
        ([node("Gather", "x k")], {"k": np.array([0, 1])}),
        ([node("Split", "x", "y z", axis=0, num_outputs=2)], {}),
    ],
)
def test_nodes_that_work_across_images_are_refused(nodes: list[onnx.NodeProto], table: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=r"a batch of 2, and it cannot be 4: node \S+ .*works across the images"):
        read(model(nodes, (2, 6), table, opset=18), batch=4)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Softmax", "x")], [node("Softmax", "x", axis=-1)], [node("Concat", "x x", axis=1)], [node("ArgMax", "x", axis=1)],
        [node("Gather", "x k", axis=1)], [node("Transpose", "x", "t", perm=[0, 1]), node("LogSoftmax", "t")],
    ],
)  # fmt: skip
def test_nodes_that_work_along_other_dimensions_are_not(nodes: list[onnx.NodeProto]) -> None:
    found = read(model(nodes, (2, 6), {"k": np.array([0, 1])}, opset=18), batch=4)
    assert (found.shape("y") or ())[0] == 4


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([node("Transpose", "x", perm=[1, 0])], r"makes a tensor of shape \[6, 4\] of a batch of 4"),
        ([node("Reshape", "x three")], r"Reshape"),
        ([node("ReduceSum", "x zero", keepdims=0)], r"makes a tensor of shape \[6\]"),
    ],
)
def test_results_that_do_not_grow_with_the_batch_are_refused(nodes: list[onnx.NodeProto], why: str) -> None:
    table = {"three": np.array([3, 4], np.int64), "zero": np.array([0], np.int64)}
    with pytest.raises(ModelError, match=why):
        read(model(nodes, (2, 6), table), batch=4)


def test_what_is_made_of_constants_alone_need_not_grow() -> None:
    table = {"k": np.array([1, 2, 3, 4, 5, 6], np.float32)}
    nodes = [node("Concat", "k k", "kk", axis=0), node("Slice", "kk a b", "part"), node("Add", "x part")]
    found = read(model(nodes, (2, 6), {**table, "a": np.array([3]), "b": np.array([9])}), batch=3)
    assert found.shape("y") == (3, 6)


def test_inputs_of_different_first_dimensions_have_no_batch() -> None:
    proto = model([node("MatMul", "x z")], (2, 6))
    proto.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, (6, 3)))
    with pytest.raises(ModelError, match="inputs begin with 2, 6"):
        read(proto, batch=4)


# The order of axes


def first_readers(*nodes: onnx.NodeProto) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for proto in nodes:
        for name in proto.input:
            attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
            found.setdefault(name, []).append(
                Node(proto.name, proto.op_type, tuple(proto.input), tuple(proto.output), attributes)
            )
    return found


@pytest.mark.parametrize(
    ("nodes", "rank", "letters"),
    [
        ([], 4, "NCHW"), ([], 3, "NCW"), ([], 2, "NC"), ([], 1, "C"),
        ([node("Conv", "x w")], 4, "NCHW"),
        ([node("Reshape", "x s")], 4, "NHWC"), ([node("Flatten", "x")], 4, "NHWC"), ([node("Reshape", "x s")], 3, "NWC"),
        ([node("MatMul", "x w")], 4, "NHWC"), ([node("MatMul", "x w")], 3, "NWC"), ([node("QLinearMatMul", "x w")], 3, "NWC"),
        ([node("Gemm", "x w")], 2, "WC"), ([node("QGemm", "x w")], 2, "WC"), ([node("MatMul", "x w")], 2, "WC"),
        ([node("Gemm", "x w")], 4, "NCHW"), ([node("Flatten", "x")], 2, "NC"),
        ([node("Transpose", "x", perm=[0, 3, 1, 2])], 4, "NHWC"), ([node("Transpose", "x", perm=[0, 2, 1])], 3, "NWC"),
        ([node("Transpose", "x", perm=[0, 2, 3, 1])], 4, "NCHW"), ([node("Transpose", "x", perm=[1, 0])], 2, "NC"),
        ([node("ReduceMean", "x", axes=[-1])], 3, "NWC"), ([node("ReduceMean", "x", axes=[3])], 4, "NHWC"),
        ([node("ReduceMean", "x", axes=[2, 3])], 4, "NCHW"), ([node("ReduceMean", "x", axes=[1])], 3, "NCW"),
        # What passes values on is looked through, also where it reads them twice; the first reader decides.
        ([node("Relu", "x", "a"), node("Flatten", "a")], 4, "NHWC"),
        ([node("Relu", "x", "a"), node("Add", "a x", "b"), node("Conv", "b w")], 4, "NCHW"),
        ([node("QuantizeLinear", "x", "a"), node("DequantizeLinear", "a", "b"), node("Reshape", "b s")], 4, "NHWC"),
        ([node("Conv", "x w", "a"), node("Flatten", "x", "b")], 4, "NCHW"),
        ([node("Flatten", "x", "b"), node("Conv", "x w", "a")], 4, "NHWC"),
        ([node("Relu", "x", "a"), node("Flatten", "x", "b"), node("Conv", "a w")], 4, "NHWC"),
    ],
)  # fmt: skip
def test_the_first_reader_tells_where_channels_are(nodes: list[onnx.NodeProto], rank: int, letters: str) -> None:
    assert guess_letters(first_readers(*nodes), "x", rank) == letters


def test_conversions_of_onnxruntimes_own_domain() -> None:
    """Its tool writes them if it is asked to."""
    numbers: dict[str, Any] = {"s": np.float32(0.02), "z": np.int8(3), "t": np.float32(0.1), "v": np.int8(-4)}
    numbers["w"] = np.arange(-9, 9, dtype=np.int8).reshape(6, 3, 1, 1)
    domain = "com.microsoft"
    source = model(
        [
            node("QuantizeLinear", "x s z", "q", domain), node("DequantizeLinear", "q s z", "f", domain),
            node("DequantizeLinear", "w s", "g", domain), node("Conv", "f g", "a"),
            node("QuantizeLinear", "a t v", "r", domain), node("DequantizeLinear", "r t v", "y", domain),
        ],
        (1, 3, 6, 5), numbers,
    )  # fmt: skip
    source.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
    found = import_model(source)
    assert not host_operators(found)
    check_exact(found)
