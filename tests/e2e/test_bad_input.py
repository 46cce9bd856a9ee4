"""What a user gets who feeds ``tilewright`` something that cannot work: one line, exit status 2, and no output file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tilewright.cli import main

Array = NDArray[Any]
Capture = pytest.CaptureFixture[str]
WEIGHTS = np.linspace(-1, 1, 4 * 3 * 3 * 3, dtype=np.float32).reshape(4, 3, 3, 3)
CONV = helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1, 1, 1, 1])


def model(
    nodes: Sequence[onnx.NodeProto] = (CONV,),
    constants: dict[str, Array] | None = None,
    shape: Sequence[int | str] = (1, 3, 8, 8),
) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(value, name) for name, value in (constants or {"w": WEIGHTS}).items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "test", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def quantised(scale: float = 0.1, zero_point: Array | None = None, data: Array | None = None) -> onnx.ModelProto:
    """x is quantised and dequantised; so is a constant of the given type that is added to it."""
    zero = np.zeros((), np.int8) if zero_point is None else zero_point
    added = np.ones((1, 3, 1, 1), np.int8) if data is None else data
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], name="quantise"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], name="dequantise"),
        helper.make_node("DequantizeLinear", ["b", "t", "zb"], ["e"], name="constant"),
        helper.make_node("Add", ["d", "e"], ["y"], name="add"),
    ]
    constants = {"s": np.float32(scale), "z": np.zeros((), np.int8), "t": np.float32(1), "b": added, "zb": zero}
    return model(nodes, {name: np.asarray(value) for name, value in constants.items()})


def older(made: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    made.opset_import[0].version = opset
    return made


CYCLE = [helper.make_node("Add", ["x", "b"], ["a"], name="first"), helper.make_node("Relu", ["a"], ["b"], name="second")]
MODELS: dict[str, tuple[onnx.ModelProto, str]] = {
    "a cycle": (model([*CYCLE, CONV]), "node first: lies on a cycle; an ONNX graph must have none"),
    "an unknown operator": (
        model([helper.make_node("Konv", ["x", "w"], ["y"], name="konv")]),
        "node konv: operator Konv is unknown in ONNX operator set 17; "
        "replace the node, or export the model with the operator set that has it",
    ),
    "an unknown domain": (
        model([helper.make_node("Konv", ["x", "w"], ["y"], name="konv", domain="acme")]),
        "node konv: operator acme.Konv is of an unknown domain; "
        "expected one of ONNX, ai.onnx.ml and com.microsoft: replace the node or remove it",
    ),
    "an operator set that onnx cannot bring up to date": (
        older(model([helper.make_node("Pad", ["x"], ["y"], name="pad", paddings=[0] * 8)]), 1),
        "model test: operator set 1, 9 to 26 is expected, and onnx cannot convert it; export the model with one of these",
    ),
    "no operator set": (
        older(model([CONV]), 0),
        "model test: operator set 0, 9 to 26 is expected, and onnx cannot convert it; export the model with one of these",
    ),
    "a size of 0": (
        model(shape=(1, 3, 0, 8)),
        "input x: shape [1, 3, 0, 8] holds nothing, sizes of at least 1 are expected; "
        "export the model with the size of its data, or with a name where the size is free",
    ),
    "a free size": (
        model(shape=(1, 3, "height", 8)),
        "input x: dimension 2 is free (height), a number is expected; export the model with a fixed size, or give --shape",
    ),
    "a scale of 0": (
        quantised(scale=0.0),
        "node quantise: scale s is 0.0, a finite number above 0 is expected; quantise the model again",
    ),
    "a zero-point of another type": (
        quantised(zero_point=np.array(200, np.uint8)),
        "node constant: zero-point zb is uint8, int8 like b is expected; quantise the model again",
    ),
    "a zero-point out of range": (
        quantised(zero_point=np.array(5, np.int32), data=np.ones((1, 3, 1, 1), np.int32)),
        "node constant: zero-point zb is 5 for int32 data, 0 is expected; quantise the model again",
    ),
}


def refused(arguments: list[str], capsys: Capture) -> str:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("tilewright: ")
    return err.removeprefix("tilewright: ").rstrip("\n")


@pytest.mark.parametrize("case", MODELS)
def test_a_model_that_is_wrong_is_refused(case: str, tmp_path: Path, capsys: Capture) -> None:
    proto, message = MODELS[case]
    path = tmp_path / "in" / "model.onnx"
    path.parent.mkdir()
    onnx.save(proto, path)
    assert refused(["compile", str(path), "-o", str(tmp_path / "out" / "model.elf")], capsys) == message
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_no_model_is_refused(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "letter.onnx"
    path.write_text("Dear Sirs, " * 20)
    assert refused(["compile", str(path), "-o", str(tmp_path / "model.elf")], capsys) == (
        f"{path}: 220 bytes are not a whole ONNX model; export or download it again"
    )
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_file_is_refused(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "empty.onnx"
    path.touch()
    assert refused(["compile", str(path), "-o", str(tmp_path / "model.elf")], capsys) == (
        f"{path}: not an ONNX model (no graph and no operator set in it); give a .onnx or .tflite file"
    )


def test_a_truncated_model_is_refused(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model().SerializeToString()[:-40])
    assert refused(["compile", str(path), "-o", str(tmp_path / "model.elf")], capsys) == (
        f"{path}: {path.stat().st_size} bytes are not a whole ONNX model; export or download it again"
    )
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "nowhere.onnx"
    assert refused(["compile", str(path), "-o", str(tmp_path / "model.elf")], capsys) == (
        f"{path}: cannot be read: No such file or directory; give the path of an ONNX or TFLite file"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    onnx.save(model(), folder / "model.onnx")
    np.savez(folder / "data.npz", x=np.ones((1, 3, 8, 8), np.float32))
    arguments = ["--config", "nano", "--calibrate", str(folder / "data.npz"), "-o", str(folder / "model.elf")]
    assert main(["compile", str(folder / "model.onnx"), *arguments]) == 0
    return folder / "model.elf"


ONES = np.ones((1, 3, 8, 8), np.float32)
INPUTS: dict[str, tuple[dict[str, Array], str]] = {
    "shape": ({"x": ONES[:, :, :4]}, "input 'x': shape [1, 3, 4, 8], expected [1, 3, 8, 8]"),
    "type": ({"x": ONES.astype(np.int64)}, "input 'x': type int64, expected float32; convert it"),
    "name": ({"image": ONES}, "input 'image': the network has none of that name; it takes x float32[1, 3, 8, 8]"),
    "nothing": ({}, "input 'x' is missing; the network takes x float32[1, 3, 8, 8]"),
}


@pytest.mark.parametrize("case", INPUTS)
def test_an_input_that_does_not_fit_is_refused(case: str, program: Path, tmp_path: Path, capsys: Capture) -> None:
    capsys.readouterr()
    arrays, message = INPUTS[case]
    np.savez(tmp_path / "in.npz", **arrays)  # type: ignore[arg-type]
    arguments = ["run", str(program), "--input", str(tmp_path / "in.npz"), "-o", str(tmp_path / "out.npz")]
    assert refused(arguments, capsys) == message
    assert not (tmp_path / "out.npz").exists()


def test_calibration_data_that_does_not_fit_is_refused(tmp_path: Path, capsys: Capture) -> None:
    onnx.save(model(), tmp_path / "model.onnx")
    np.savez(tmp_path / "data.npz", x=ONES[:, :2])
    arguments = ["--calibrate", str(tmp_path / "data.npz"), "-o", str(tmp_path / "model.elf")]
    assert refused(["compile", str(tmp_path / "model.onnx"), *arguments], capsys) == (
        "calibration data: input x has shape (1, 2, 8, 8), (samples, 3, 8, 8) is expected, "
        "or samples of (1, 3, 8, 8) along a dimension of one"
    )
    assert not (tmp_path / "model.elf").exists()


@pytest.mark.filterwarnings("default")
def test_scales_from_noise_are_warned_of_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    onnx.save(model(), tmp_path / "model.onnx")
    assert main(["compile", str(tmp_path / "model.onnx"), "-o", str(tmp_path / "model.elf")]) == 0
    assert capsys.readouterr().err == (
        "tilewright: warning: no calibration data: scales come from random noise, so the quantised model computes "
        "nothing of use; give real inputs (--calibrate data.npz) for anything but timing\n"
    )
