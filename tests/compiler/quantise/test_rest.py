"""Models that are quantised in part: the float nodes stay on the CPU unless they are to be quantised, too."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from compiler.frontend.pipeline import ImportedModel, import_model
from compiler.frontend.session import run
from compiler.quantise.choices import Choices
from compiler.quantise.statistics import CalibrationError, CalibrationWarning
from tests.compiler.frontend.quantised_models import check_exact, host_operators, model, node, weights

DATA = np.random.default_rng(3).standard_normal((8, 3, 8, 8)).astype(np.float32)
NET = model(
    [
        node("Conv", "x a", "c1", pads=[1] * 4), node("Relu", "c1", "r1"), node("Conv", "r1 b e", "c2", pads=[1] * 4),
        node("Relu", "c2", "r2"), node("Add", "r1 r2", "s"), node("Conv", "s d", "c3"),
        node("MaxPool", "c3", "p", kernel_shape=[2, 2]), node("Flatten", "p", "f"), node("Gemm", "f g h", "y", transB=1),
    ],
    (1, 3, 8, 8),
    {
        "a": weights(8, 3, 3, 3), "b": weights(8, 8, 3, 3), "e": weights(8), "d": weights(6, 8, 1, 1), "g": weights(5, 294),
        "h": weights(5),
    },
)  # fmt: skip


class _Samples(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self) -> None:
        self.feeds = iter([{"x": one[None]} for one in DATA])

    def get_next(self) -> dict[str, Any] | None:
        return next(self.feeds, None)


def _partly(folder: Path, left_out: list[str], kind: QuantType = QuantType.QInt8, qdq: bool = True) -> onnx.ModelProto:
    """By onnxruntime's own tool, some nodes left in float."""
    path = folder / "partly.onnx"
    source = onnx.ModelProto.FromString(NET.SerializeToString())
    quantize_static(
        source, path, _Samples(), quant_format=QuantFormat.QDQ if qdq else QuantFormat.QOperator, activation_type=kind,
        weight_type=QuantType.QInt8, nodes_to_exclude=left_out,
    )  # fmt: skip
    return onnx.load(path)


def _imported(proto: onnx.ModelProto, **choices: Any) -> ImportedModel:
    return import_model(proto, calibration={"x": DATA}, choices=Choices("free", "mse", rest=True, **choices))


@pytest.mark.parametrize("kind", [QuantType.QInt8, QuantType.QUInt8])
@pytest.mark.parametrize("qdq", [True, False], ids=["QDQ", "QOperator"])
@pytest.mark.parametrize(
    "left_out", [["Conv_c2"], ["Conv_c1"], ["Gemm_y"], ["Conv_c2", "Relu_r2", "Add_s"], ["Conv_c1", "Conv_c3"]]
)
def test_float_nodes_are_quantised_on_request(tmp_path: Path, left_out: list[str], qdq: bool, kind: QuantType) -> None:
    partly = _partly(tmp_path, left_out, kind, qdq)
    assert host_operators(import_model(partly)) & {"Conv", "Gemm", "Add"}
    found = _imported(partly)
    assert not host_operators(found)
    check_exact(found)
    feeds = {"x": DATA[:1]}
    expected = run(NET, feeds)["y"]
    assert np.abs(run(found.oracle, feeds)["y"] - expected).max() < 0.15 * np.abs(expected).max()


def test_what_is_quantised_stays_as_it_is(tmp_path: Path) -> None:
    partly = _partly(tmp_path, ["Conv_c2"])
    before = {t.name: onnx.numpy_helper.to_array(t) for t in partly.graph.initializer}
    after = {t.name: onnx.numpy_helper.to_array(t) for t in _imported(partly).oracle.graph.initializer}
    for name in ("a_quantized", "a_scale", "s_scale", "s_zero_point", "r1_scale"):
        assert np.array_equal(before[name], after[name]), name


def test_named_layers_stay_in_float(tmp_path: Path) -> None:
    found = _imported(_partly(tmp_path, ["Conv_c1", "Conv_c2"]), keep_float=("Conv_c2",))
    assert "Conv" in host_operators(found)
    assert found.reasons["Conv_c2"] == "kept on the CPU as asked"
    assert "Conv_c1" not in found.reasons


def test_a_whole_quantised_model_is_not_touched(tmp_path: Path) -> None:
    whole = _partly(tmp_path, [])
    assert _imported(whole).oracle.graph == import_model(whole).oracle.graph


def test_the_head_without_a_quantised_result_is_quantised(tmp_path: Path) -> None:
    """Quantised weights of a layer whose result is float: it gets scales for its result."""
    proto = _partly(tmp_path, [])
    maker = {name: n for n in proto.graph.node for name in n.output}
    last = maker["y"]
    source = maker[last.input[0]].input[0]
    kept = [n for n in proto.graph.node if n.output[0] not in ("y", last.input[0])]
    del proto.graph.node[:]
    proto.graph.node.extend(kept)
    del proto.graph.output[:]
    proto.graph.output.append(onnx.ValueInfoProto(name=source))
    assert "Gemm" in host_operators(import_model(proto))
    found = _imported(proto)
    assert not host_operators(found)
    check_exact(found)


def test_without_data_it_is_calibrated_with_noise_and_says_so(tmp_path: Path) -> None:
    with pytest.warns(CalibrationWarning, match="no calibration data"):
        import_model(_partly(tmp_path, ["Conv_c2"]), choices=Choices(rest=True))


def test_data_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with warnings.catch_warnings(), pytest.raises(CalibrationError, match="input x is missing"):
        import_model(_partly(tmp_path, ["Conv_c2"]), calibration={"z": DATA}, choices=Choices(rest=True))
