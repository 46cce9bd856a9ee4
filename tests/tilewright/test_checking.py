"""check: which oracle, how far apart, whether the answer is the same, and onnxruntime beside itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from isa.errors import TilewrightError
from tilewright.checking import check
from tilewright.cli import main
from tilewright.comparison import compare
from tilewright.compiling import compile_model
from tilewright.exits import Exit
from tilewright.inputs import random_inputs


def quantised_model() -> onnx.ModelProto:
    """QDQ: one convolution of uint8 activations and int8 weights."""
    rng = np.random.default_rng(2)
    constants: dict[str, NDArray[Any]] = {
        "w": rng.integers(-127, 128, (6, 32, 1, 1)).astype(np.int8), "one": np.array(1, np.float32),
        "z": np.array(0, np.uint8), "wz": np.array(0, np.int8), "ws": np.array(2**-7, np.float32),
        "ys": np.array(37, np.float32), "yz": np.array(101, np.uint8),
    }  # fmt: skip
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "one", "z"], ["xf"], "x_dq"),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], "w_dq"),
        helper.make_node("Conv", ["xf", "wf"], ["sum"], "conv"),
        helper.make_node("QuantizeLinear", ["sum", "ys", "yz"], ["y"], "y_q"),
    ]
    graph = helper.make_graph(
        nodes, "quantised", [helper.make_tensor_value_info("x", TensorProto.UINT8, (1, 32, 4, 4))],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, (1, 6, 4, 4))],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(quantised_model(), tmp_path / "model.onnx")
    np.savez(tmp_path / "bright.npz", x=np.full((1, 32, 4, 4), 255, np.uint8))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    code = main(["check", "model.onnx", "--config", "nano", *arguments])
    return code, capsys.readouterr().out.splitlines()


def test_check_says_which_oracle_it_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = run(capsys)
    assert (code, lines[:2]) == (0, ["oracle: onnxruntime's integer kernels", "y: equal"])
    code, lines = run(capsys, "--oracle", "float")
    assert (code, lines[0]) == (0, "oracle: onnxruntime's float kernels between DequantizeLinear and QuantizeLinear")


def test_differences_come_with_answers_and_a_tolerance_passes_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sim.functional.machine.FunctionalMachine.run", lambda *_: None)  # a machine that does nothing
    code, lines = run(capsys)
    assert code == Exit.CHECK_FAILED
    assert lines[1].startswith("y: 96 of 96 differ, by at most ")
    assert "the same first in " in lines[1]
    assert run(capsys, "--tolerance", "300")[0] == Exit.DONE
    code, lines = run(capsys, "--json", "--tolerance", "1")
    found = json.loads("\n".join(lines))
    assert (code, found["oracle"], found["tolerance"], found["equal"]) == (Exit.CHECK_FAILED, "integer", 1.0, False)
    (row,) = found["tensors"]
    assert (row["differ"], row["answers"], row["greatest"] > 1) == (96, 16, True)


def test_onnxruntime_beside_itself_is_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the processor has no VNNI, its kernel for uint8 and int8 saturates on bright pictures."""
    found = check(compile_model("model.onnx", "nano", strategy="naive"), dict(np.load("bright.npz")))
    assert not found.wrong()
    assert all(row.differ == 0 for row in found.optimised) or found.why.startswith("without VNNI its kernel for uint8")
    assert found.tensors[0].tensor == found.optimised[0].tensor == "y"


def test_an_unknown_oracle_is_named() -> None:
    compiled = compile_model(quantised_model(), "nano", strategy="naive")
    with pytest.raises(TilewrightError, match="oracle 'fixed': unknown, expected one of integer, float"):
        check(compiled, random_inputs(compiled.program), oracle="fixed")


def test_a_comparison_counts_elements_answers_and_distance() -> None:
    ours = {"logits": np.array([[1.0, 5.0, 2.0], [4.0, 3.0, np.nan]]), "flat": np.array([3], np.int8)}
    theirs = {"logits": np.array([[1.0, 3.5, 2.0], [4.0, 3.0, np.nan]]), "flat": np.array([3], np.int8)}
    logits, flat = compare(ours, theirs)
    assert (logits.elements, logits.differ, logits.greatest, logits.answers, logits.same_answers) == (6, 1, 1.5, 2, 2)
    assert str(logits) == "logits: 1 of 6 differ, by at most 1.5, the same first in 2 of 2"
    assert (logits.within(1.5), logits.within(1.4)) == (True, False)
    assert str(flat) == "flat: equal"


def test_a_float_reading_in_place_of_integer_kernels_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """onnxruntime fuses a dilated average pool to an integer kernel that knows no dilation, and then refuses its own model."""
    constants: dict[str, NDArray[Any]] = {"s": np.array(0.5, np.float32), "z": np.array(3, np.uint8)}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"], "x_dq"),
        helper.make_node("AveragePool", ["xf"], ["p"], "pool", kernel_shape=[2, 2], dilations=[2, 2]),
        helper.make_node("QuantizeLinear", ["p", "s", "z"], ["y"], "y_q"),
    ]
    graph = helper.make_graph(
        nodes, "dilated", [helper.make_tensor_value_info("x", TensorProto.UINT8, (1, 4, 6, 6))],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, (1, 4, 4, 4))],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    path = tmp_path / "dilated.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9).SerializeToString()
    )
    main(["check", str(path), "--config", "nano"])
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("oracle: onnxruntime's float kernels")
    assert first.endswith("(its optimiser makes an invalid model of the patterns)")
    main(["check", str(path), "--config", "nano", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (told["oracle"], told["reading"]) == ("integer", "float")
