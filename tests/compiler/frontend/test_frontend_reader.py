"""What a model that cannot be used gets: one message that names the thing, what was found, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from compiler.frontend.errors import ModelError
from compiler.frontend.reader import read
from isa.errors import TilewrightError
from tests.compiler.frontend.quantised_models import model, node, weights

CONV = {"w": weights(4, 3, 3, 3)}


def refusal(source: str | Path | bytes | onnx.ModelProto) -> str:
    with pytest.raises(TilewrightError) as caught:
        read(source)
    return str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.onnx"
    assert refusal(path) == f"{path}: cannot be read: No such file or directory; give the path of an ONNX or TFLite file"


def test_not_onnx(tmp_path: Path) -> None:
    path = tmp_path / "text.onnx"
    path.write_bytes(b"this is no model")
    assert refusal(path) == f"{path}: 16 bytes are not a whole ONNX model; export or download it again"
    path.write_bytes(b"")
    assert refusal(path) == f"{path}: not an ONNX model (no graph and no operator set in it); give a .onnx or .tflite file"


def test_truncated(tmp_path: Path) -> None:
    data = model([node("Conv", "x w")], (1, 3, 8, 8), CONV).SerializeToString()
    path = tmp_path / "short.onnx"
    path.write_bytes(data[: len(data) // 2])
    assert refusal(path) == f"{path}: {len(data) // 2} bytes are not a whole ONNX model; export or download it again"


def test_cycle() -> None:
    nodes = [node("Add", "x b", "a"), node("Relu", "a", "b"), node("Relu", "b")]
    assert refusal(model(nodes, (1, 3))) == "node Add_a: lies on a cycle; an ONNX graph must have none"


def test_nodes_out_of_order_are_put_in_order() -> None:
    nodes = [node("Relu", "a"), node("Neg", "x", "a")]
    assert [n.op_type for n in read(model(nodes, (1, 3))).nodes] == ["Neg", "Relu"]


def test_tensor_made_twice_or_never() -> None:
    twice = model([node("Relu", "x", "y"), node("Neg", "x", "y")], (1, 3))
    assert refusal(twice) == "node Neg_y: tensor y is made twice; give each output its own name"
    never = model([node("Relu", "z", "y")], (1, 3))
    assert refusal(never) == "node Relu_y: input z is made by no node and is no input or constant of the model"


def test_unknown_operator_and_domain() -> None:
    assert refusal(model([node("Blend", "x")], (1, 3))) == (
        "node Blend_y: operator Blend is unknown in ONNX operator set 17; "
        "replace the node, or export the model with the operator set that has it"
    )
    assert refusal(model([node("Blend", "x", domain="acme")], (1, 3))) == (
        "node Blend_y: operator acme.Blend is of an unknown domain; "
        "expected one of ONNX, ai.onnx.ml and com.microsoft: replace the node or remove it"
    )
    assert refusal(model([node("Blend", "x", domain="com.microsoft")], (1, 3))).startswith("onnxruntime cannot load the model")


def test_operator_sets_beyond_the_supported_ones_are_converted_or_refused() -> None:
    assert refusal(model([node("Relu", "x")], (1, 3), opset=999)) == (
        "model test: operator set 999, 9 to 26 is expected, and onnx cannot convert it; export the model with one of these"
    )
    assert read(model([node("Relu", "x")], (1, 3), opset=7)).opsets[""] == 9


def test_free_dimensions() -> None:
    free = model([node("Relu", "x")], ("n", 3, "h", 8))
    assert refusal(free) == (
        "input x: dimension 2 is free (h), a number is expected; export the model with a fixed size, or give --shape"
    )
    assert read(free, shapes={"x": (2, 3, 5, 8)}).shape("y") == (2, 3, 5, 8)
    batch = model([node("Relu", "x")], ("n", 3))
    assert read(batch).shape("y") == (1, 3)
    assert read(batch, batch=4).shape("y") == (4, 3)
    with pytest.raises(ModelError, match="input z: the model has no such input; it has x"):
        read(batch, shapes={"z": (1,)})


@pytest.mark.parametrize("shape", [(0, 3), (1, 0), ("n", 3, 0, 8)])
def test_sizes_of_0_are_refused(shape: tuple[int | str, ...]) -> None:
    """They are not free: an exporter that means a free batch says so by a name."""
    whole = [1 if isinstance(size, str) else size for size in shape]
    assert refusal(model([node("Relu", "x")], shape)) == (
        f"input x: shape {whole} holds nothing, sizes of at least 1 are expected; "
        "export the model with the size of its data, or with a name where the size is free"
    )
    asked = tuple(0 if isinstance(size, str) else size for size in shape)
    assert read(model([node("Relu", "x")], shape), shapes={"x": asked}).shape("y") == asked, "who asks for it gets it"


def test_input_without_shape() -> None:
    shapeless = model([node("Relu", "x")], (1,))
    shapeless.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, None))
    assert refusal(shapeless) == "input x: has no shape; export the model with input shapes, or name them"


QUANTISED: dict[str, NDArray[Any]] = {
    "w": np.ones((4, 3, 1, 1), np.int8),
    "s": np.float32(0.1) * np.ones(()),
    "z": np.zeros((), np.int8),
}


def test_scale_of_zero() -> None:
    nodes = [node("QLinearConv", "x s z w o z s z")]
    constants: dict[str, NDArray[Any]] = {**QUANTISED, "s": np.array(0.1, np.float32), "o": np.zeros((), np.float32)}
    assert refusal(model(nodes, (1, 3, 8, 8), constants, elem=TensorProto.INT8)) == (
        "node QLinearConv_y: scale o is 0.0, a finite number above 0 is expected; quantise the model again"
    )


def test_zero_point_of_the_wrong_type_or_value() -> None:
    scale = np.array(0.1, np.float32)
    wide = model(
        [node("DequantizeLinear", "b s z", "f"), node("Add", "x f")],
        (3,),
        {
            "b": np.ones(3, np.int32),
            "s": scale,
            "z": np.array(4, np.int32),
        },
    )
    assert refusal(wide) == (
        "node DequantizeLinear_f: zero-point z is 4 for int32 data, 0 is expected; quantise the model again"
    )
    mixed = model(
        [node("DequantizeLinear", "b s z", "f"), node("Add", "x f")],
        (3,),
        {
            "b": np.ones(3, np.int8),
            "s": scale,
            "z": np.array(200, np.uint8),
        },
    )
    assert refusal(mixed) == (
        "node DequantizeLinear_f: zero-point z is uint8, int8 like b is expected; quantise the model again"
    )


def test_shapes_that_contradict_each_other() -> None:
    assert refusal(model([node("Conv", "x w")], (1, 5, 8, 8), CONV)) == (
        "node Conv_y: input x has 5 channels, 3 are expected by its weights [4, 3, 3, 3] in 1 group; export the model again"
    )
    assert refusal(model([node("Gemm", "x w")], (1, 5), {"w": weights(4, 3)})).startswith("onnxruntime cannot load the model: ")


def test_constants_are_folded_and_names_that_only_rename_go() -> None:
    nodes = [
        node("ConstantOfShape", "s", "c"),
        node("Add", "c c", "d"),
        node("Identity", "x", "i"),
        node("Add", "i d", "e"),
        node("Dropout", "e", "f"),
        node("Shape", "f", "t"),
        node("Slice", "t one two", "k"),
        node("Reshape", "f k", "g"),
        node("Relu", "g"),
    ]
    constants = {"s": np.array([1, 6], np.int64), "one": np.array([1], np.int64), "two": np.array([2], np.int64)}
    found = read(model(nodes, ("n", 6), constants))
    assert [n.op_type for n in found.nodes] == ["Add", "Reshape", "Relu"]
    assert found.nodes[0].inputs[0] == "x"
    assert found.shape("y") == (6,)
