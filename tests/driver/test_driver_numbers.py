"""The driver quantises and dequantises as onnxruntime does, in every bit, whatever the float."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from compiler.emit.conversions import conversions_of
from isa.flat_image import flat_image
from isa.instructions import Region
from isa.program import Conversion, Program, TensorBuffer
from sim.runtime.parts import session
from tests.driver.building import NANO, build, run

Floats = NDArray[np.float32]
ROWS, COLUMNS = 64, 256


def model(kind: str, scale: float, zero_point: np.integer[Any]) -> bytes:
    elem = helper.np_dtype_to_tensor_dtype(zero_point.dtype)
    shape = (ROWS, COLUMNS)
    ends = {"QuantizeLinear": (TensorProto.FLOAT, elem), "DequantizeLinear": (elem, TensorProto.FLOAT)}[kind]
    given, made = (helper.make_tensor_value_info(n, t, shape) for n, t in zip(("x", "y"), ends, strict=True))
    values = {"s": np.array(scale, np.float32), "z": np.asarray(zero_point)}
    constants = [numpy_helper.from_array(value, name) for name, value in values.items()]
    graph = helper.make_graph([helper.make_node(kind, ["x", "s", "z"], ["y"])], "g", [given], [made], constants)
    whole: bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    return whole


def floats(scale: float, seed: int) -> Floats:
    """Ties and their neighbours, what saturates, what is hardly a number, and what is none."""
    rng = np.random.default_rng(seed)
    ties = ((np.arange(-300, 300) + 0.5) * np.float64(scale)).astype(np.float32)
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38, -3.4e38, 1e-38], np.float32)
    special = np.concatenate([ties, np.nextafter(ties, np.float32(np.inf)), np.nextafter(ties, np.float32(-np.inf)), odd])
    values = (rng.normal(size=ROWS * COLUMNS) * 100 * scale).astype(np.float32)
    values[: special.size] = special
    return values.reshape(ROWS, COLUMNS)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("numbers"), "numbers", "mock")


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize(
    ("scale", "zero_point"),
    [(0.015625, np.int8(0)), (0.1, np.int8(-128)), (1 / 3, np.uint8(128)), (7e-5, np.uint8(255)), (1e30, np.int8(127))],
)
def test_as_onnxruntime(scale: float, zero_point: np.integer[Any], flipped: bool, numbers: Path, tmp_path: Path) -> None:
    given = floats(scale, 3)
    kind = str(zero_point.dtype)
    strides = (3 * COLUMNS + 5, 3)
    single = float(np.float32(scale))
    buffer = TensorBuffer("x", Region.WORK, 64, given.shape, kind, single, int(zero_point), strides, flipped=flipped)
    program = Program(NANO, (0,), work_bytes=64 + buffer.nbytes, buffers=(buffer,))
    (tmp_path / "one.bin").write_bytes(flat_image(program))
    given.tofile(tmp_path / "floats")
    run(numbers, *(tmp_path / name for name in ("one.bin", "floats", "bytes", "reals")))
    (expected,) = session(model("QuantizeLinear", scale, zero_point)).run(None, {"x": given})
    quantised = np.fromfile(tmp_path / "bytes", kind).reshape(given.shape)
    assert np.array_equal(quantised, expected)
    (expected,) = session(model("DequantizeLinear", scale, zero_point)).run(None, {"x": quantised})
    assert np.fromfile(tmp_path / "reals", np.uint32).tobytes() == expected.tobytes()


def test_parts_that_only_convert_are_known() -> None:
    part = model("QuantizeLinear", 0.25, np.int8(3))
    assert conversions_of(part) == (Conversion("x", "y", 0.25, 3),)
    assert conversions_of(model("DequantizeLinear", 0.5, np.uint8(7))) == (Conversion("x", "y", 0.5, 7),)
    proto = onnx.load_model_from_string(part)
    proto.graph.node.append(helper.make_node("Identity", ["y"], ["w"]))
    assert conversions_of(proto.SerializeToString()) == ()
    assert conversions_of(model("QuantizeLinear", 0.25, np.int16(3))) == ()
