"""8-bit inputs and outputs, mean and scale, channels last: the same numbers as the model gives on what it would have got."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from compiler.frontend.edges import Edges
from compiler.frontend.errors import ModelError
from compiler.frontend.model import to_proto
from compiler.frontend.pipeline import ImportedModel, import_model
from compiler.frontend.session import run
from compiler.quantise.choices import Choices
from compiler.xgraph.ops import Cpu
from tests.compiler.frontend.quantised_models import check_exact, host_operators, model, node, weights

SHAPE = (1, 3, 6, 5)
NET = model([node("Conv", "x w b", "c", pads=[1] * 4), node("Relu", "c")], SHAPE, {"w": weights(4, 3, 3, 3), "b": weights(4)})
PIXELS = np.random.default_rng(3).integers(0, 256, (4, *SHAPE[1:])).astype(np.float32)
MEAN, SCALE = (100.0, 120.0, 140.0), (50.0, 60.0, 70.0)


def normalised(pixels: NDArray[Any]) -> NDArray[np.float32]:
    mean, scale = (np.array(values, np.float32).reshape(3, 1, 1) for values in (MEAN, SCALE))
    return np.asarray((pixels - mean) / scale, np.float32)


def imported(net: onnx.ModelProto, edges: Edges, data: NDArray[Any], scheme: str = "free") -> ImportedModel:
    return import_model(net, calibration={"x": data}, choices=Choices(scheme), edges=edges)


def elem(value: onnx.ValueInfoProto) -> int:
    return int(value.type.tensor_type.elem_type)


def machine_ops(found: ImportedModel) -> list[str]:
    return [type(op).__name__ for op in found.graph.ops if not isinstance(op, Cpu)]


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("scheme", ["free", "power_of_two"])
def test_eight_bits_at_both_ends_are_what_the_float_model_quantises_to(kind: str, scheme: str) -> None:
    data = normalised(PIXELS)
    plain = imported(NET, Edges(), data, scheme)
    found = imported(NET, Edges(kind, kind), data, scheme)
    stored = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    assert [elem(v) for v in (*found.oracle.graph.input, *found.oracle.graph.output)] == [stored] * 2
    assert machine_ops(found) == ["Conv"] == machine_ops(plain)
    assert not found.reasons
    check_exact(found)
    assert plain.model is not None
    shift = 128 if kind == "uint8" else 0
    names = {part: float(plain.model.constants[f"{part}"]) for part in ("x_scale", "x_zero_point", "y_scale", "y_zero_point")}
    codes = np.clip(np.rint(data[:1] / np.float32(names["x_scale"])) + names["x_zero_point"], -128, 127)
    y = run(found.oracle, {"x": (codes + shift).astype(kind)})["y"].astype(np.float32)
    real = ((y - shift - names["y_zero_point"]) * np.float32(names["y_scale"])).astype(np.float32)
    np.testing.assert_array_equal(real, run(plain.oracle, {"x": data[:1]})["y"])


@pytest.mark.parametrize("layout", ["model", "nhwc"])
@pytest.mark.parametrize("kind", ["model", "uint8"])
def test_pixels_as_they_come(kind: str, layout: str) -> None:
    """Mean and scale per channel, channels last, bytes: near the float model on normalised data, and exact on the machine."""
    given = PIXELS.transpose(0, 2, 3, 1) if layout == "nhwc" else PIXELS
    found = imported(NET, Edges(kind, "model", MEAN, SCALE, layout), given)
    assert [d.dim_value for d in found.oracle.graph.input[0].type.tensor_type.shape.dim] == [1, *given.shape[1:]]
    assert machine_ops(found) == ["Conv", "Conv"]
    assert host_operators(found) <= {"Transpose"} - ({"Transpose"} if kind == "uint8" else set())
    check_exact(found)
    expected = run(NET, {"x": normalised(PIXELS[:1])})["y"]
    got = run(found.oracle, {"x": given[:1].astype("uint8" if kind == "uint8" else "float32")})["y"]
    assert np.abs(got - expected).max() < 0.03 * np.abs(expected).max()


def test_one_mean_for_all_is_a_table_of_the_first_layer() -> None:
    found = imported(NET, Edges("uint8", "model", (127.5,), (127.5,)), PIXELS)
    assert host_operators(found) == set()
    check_exact(found)
    expected = run(NET, {"x": (PIXELS[:1] - 127.5) / np.float32(127.5)})["y"]
    got = run(found.oracle, {"x": PIXELS[:1].astype(np.uint8)})["y"]
    assert np.abs(got - expected).max() < 0.03 * np.abs(expected).max()


def test_a_quantised_model_gets_other_ends_too() -> None:
    source = to_proto(imported(NET, Edges(), normalised(PIXELS)).model or pytest.fail("no model"))
    found = import_model(source, edges=Edges("uint8", "uint8", input_layout="nhwc"))
    assert [elem(v) for v in (*found.oracle.graph.input, *found.oracle.graph.output)] == [TensorProto.UINT8] * 2
    assert [d.dim_value for d in found.oracle.graph.input[0].type.tensor_type.shape.dim] == [1, 6, 5, 3]
    assert not found.reasons
    check_exact(found)
    with pytest.raises(ModelError, match="is quantised, mean and scale ask for a float model"):
        import_model(source, edges=Edges(mean=(1.0,)))


def test_a_float_reader_keeps_its_float_input() -> None:
    both = model([node("Conv", "x w", "y"), node("Softmax", "x", "z")], SHAPE, {"w": weights(4, 3, 1, 1)}, outputs=("y", "z"))
    found = imported(both, Edges("uint8"), normalised(PIXELS))
    assert host_operators(found) == {"Softmax"}
    check_exact(found)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (Edges(mean=(1.0, 2.0)), "input x: 2 means or scales for 3 channels; give one number, or one for each channel"),
        (Edges(output_type="int8"), r"no output is the float form of an 8-bit tensor \(s is made by Softmax\)"),
    ],
)
def test_ends_that_cannot_be_had(edges: Edges, message: str) -> None:
    net = model([node("Conv", "x w", "c"), node("Softmax", "c", "s")], SHAPE, {"w": weights(4, 3, 1, 1)}, outputs=("s",))
    with pytest.raises(ModelError, match=message):
        imported(net, edges, PIXELS)


def test_inputs_that_cannot_be_other() -> None:
    kept = model([node("Softmax", "x")], SHAPE)
    with pytest.raises(ModelError, match=r"input x: is not quantised by what reads it \(Softmax_y\); leave the input type out"):
        imported(kept, Edges("uint8"), PIXELS)
    flat = model([node("Gemm", "x w")], (1, 6), {"w": weights(6, 3)})
    with pytest.raises(ModelError, match=r"input x: shape \[1, 6\] has no channels to bring to the end"):
        imported(flat, Edges(input_layout="nhwc"), PIXELS[:, 0, 0, :1].repeat(6, 1))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (Edges("int4"), "input type 'int4': unknown; choose one of model, int8, uint8"),
        (Edges(output_type="f"), "output type 'f': unknown"),
        (Edges(input_layout="hwc"), "input layout 'hwc': unknown; choose one of model, nhwc"),
        (Edges(scale=(0.0,)), r"input mean \[\], scale \[0.0\]: finite numbers are expected, and no scale of 0"),
        (Edges(mean=(float("nan"),)), r"input mean \[nan\]"),
    ],
)
def test_wrong_edges_are_refused_before_any_work(edges: Edges, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        edges.check()
