"""Calibration: what is collected, and what data that does not fit gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from compiler.frontend.importer.values import Params
from compiler.frontend.model import large_constants, part_proto
from compiler.frontend.reader import read
from compiler.frontend.types import with_types
from compiler.quantise.choices import Choices
from compiler.quantise.emit import weights_of, written
from compiler.quantise.forms import forms_of
from compiler.quantise.histogram import Histogram
from compiler.quantise.quantise import quantise
from compiler.quantise.schemes import SCHEMES, Scheme
from compiler.quantise.statistics import (
    SAMPLES,
    CalibrationError,
    CalibrationWarning,
    Statistics,
    batches,
    collected,
    random_data,
    sampled,
)
from isa.errors import TilewrightError
from tests.compiler.frontend.quantised_models import model, node, weights

READ = read(model([node("Conv", "x w", "c"), node("Relu", "c")], (1, 3, 6, 5), {"w": weights(4, 3, 1, 1)}))
DATA = np.random.default_rng(0).standard_normal((3, 3, 6, 5)).astype(np.float32)


def test_extremes_are_of_all_samples_and_of_zero() -> None:
    found = collected(READ, ["x", "y"], batches(READ, {"x": DATA}))
    assert (found["x"].low, found["x"].high) == (DATA.min(), DATA.max())
    assert found["y"].low == 0
    assert found["y"].sample.size == 3 * 4 * 6 * 5


def test_statistics_do_not_depend_on_how_many_cores_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of a sample are drawn in one order, here of two batches of tensors of more values than are kept."""
    data = np.random.default_rng(0).standard_normal((2, 3, 40, 60)).astype(np.float32)
    large = read(model([node("Conv", "x w", "c"), node("Relu", "c")], (1, 3, 40, 60), {"w": weights(4, 3, 1, 1)}))
    found = []
    for cores in ("1", "2"):
        monkeypatch.setenv("TILEWRIGHT_CORES", cores)
        found.append(collected(large, ["x", "c", "y"], batches(large, {"x": data})))
    one, two = found
    for name in one:
        assert one[name].sample.size == 2 * SAMPLES
        assert (one[name].sample == two[name].sample).all()
        assert (one[name].low, one[name].high) == (two[name].low, two[name].high)
        assert (one[name].histogram.counts == two[name].histogram.counts).all()


def test_the_first_tensor_that_is_not_finite_is_named_however_many_are_looked_at() -> None:
    data = DATA.copy()
    data[1, 0, 0, 0] = np.inf
    with pytest.raises(CalibrationError, match="calibration data: input x holds infinity on batch 2"):
        collected(READ, ["x", "y"], batches(READ, {"x": data}))


@pytest.mark.parametrize("scheme", SCHEMES.values(), ids=lambda scheme: scheme.name)
def test_weights_are_written_as_if_their_scales_were_not_known_before(scheme: Scheme) -> None:
    """A kernel, and a matrix that two nodes read from either side."""
    constants = {"w": weights(4, 3, 1, 1), "m": weights(120, 120)}
    nodes = [
        node("Conv", "x w", "c"), node("Flatten", "c", "f", axis=1), node("Gemm", "f m", "g"), node("Gemm", "g m", transB=1),
    ]  # fmt: skip
    found = with_types(read(model(nodes, (1, 3, 6, 5), constants)))
    forms = forms_of(found)
    params = {name: Params(2.0**-5, 0) for name in forms.quantised()}
    scales = weights_of(found, forms, scheme)
    assert scales.keys() == {("w", 0), ("m", 1), ("m", 0)}
    ahead, alone = written(found, forms, params, scheme, {}, scales), written(found, forms, params, scheme, {}, {})
    assert list(map(repr, ahead.nodes)) == list(map(repr, alone.nodes))
    assert ahead.constants.keys() == alone.constants.keys()
    assert all((value == alone.constants[name]).all() for name, value in ahead.constants.items())


def test_large_constants_beside_the_model_give_what_they_give_within_it() -> None:
    """Kernels and the second operand of a matrix product, large and small ones, beside onnxruntime with the whole model."""
    constants = {"w": weights(64, 3, 3, 3), "v": weights(4, 64, 1, 1), "m": weights(5, 300)}
    nodes = [node("Conv", "x w", "c"), node("Relu", "c", "r"), node("Conv", "r v", "d"), node("MatMul", "d m", "y")]
    found = read(model(nodes, (1, 3, 9, 7), constants))
    assert large_constants(found).keys() == {"w", "m"}
    names = ["c", "r", "d", "y"]
    data = np.random.default_rng(0).standard_normal((1, 3, 9, 7)).astype(np.float32)
    whole = part_proto(found, found.nodes, found.inputs, names).SerializeToString()
    values = onnxruntime.InferenceSession(whole, providers=["CPUExecutionProvider"]).run(names, {"x": data})
    statistics = collected(found, names, [{"x": data}])
    for name, value in zip(names, values, strict=True):
        expected = Histogram.of(np.asarray(value))
        assert statistics[name].histogram.exponent == expected.exponent
        assert (statistics[name].histogram.counts == expected.counts).all()


def test_long_tensors_are_sampled() -> None:
    values = np.arange(100000, dtype=np.float32)
    found = Statistics.of(values, sampled(values.size, np.random.default_rng(0)))
    assert found.sample.size == SAMPLES
    assert found.high == 99999


def test_random_data_is_seeded_and_loud() -> None:
    with pytest.warns(CalibrationWarning, match="no calibration data: scales come from random noise"):
        first = random_data(READ)
    with pytest.warns(CalibrationWarning):
        assert (random_data(READ)["x"] == first["x"]).all()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "calibration data: input x is missing; found nothing"),
        ({"z": DATA}, "calibration data: input x is missing; found z"),
        ({"x": DATA[:, :2]}, r"input x has shape \(3, 2, 6, 5\), \(samples, 3, 6, 5\) is expected"),
        ({"x": DATA[0]}, r"input x has shape \(3, 6, 5\), \(samples, 3, 6, 5\) is expected"),
        ({"x": DATA[:0]}, r"input x has shape \(0, 3, 6, 5\)"),
    ],
)
def test_data_that_does_not_fit_is_refused(
    data: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]], message: str
) -> None:
    with pytest.raises(CalibrationError, match=message):
        quantise(READ, data)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, x=DATA)
    assert quantise(READ, path, Choices(method="mse")).statistics["x"].high == DATA.max()
    path.write_bytes(b"nothing")
    with pytest.raises(TilewrightError, match=r"data\.npz: not an NPZ file"):
        quantise(READ, path)
    np.savez(path, x=np.array([None]))
    with pytest.raises(TilewrightError, match=r"data\.npz: holds pickled objects, which are not read"):
        quantise(READ, path)


def test_statistics_serve_again_in_place_of_data() -> None:
    first = quantise(READ, {"x": DATA}, Choices(method="mse"))
    again = quantise(READ, first.statistics, Choices(method="mse"))
    assert {k: v.tolist() for k, v in again.model.constants.items()} == {
        k: v.tolist() for k, v in first.model.constants.items()
    }
    with pytest.raises(CalibrationError, match=r"calibration statistics: tensor x is missing \(1 in all\)"):
        quantise(READ, {"y": Statistics.of_range(0.0, 1.0)})


def test_unknown_scheme() -> None:
    with pytest.raises(CalibrationError, match="quantisation scheme 'log': unknown; choose one of power_of_two, free"):
        quantise(READ, {"x": DATA}, Choices("log"))


@pytest.mark.parametrize(("value", "word"), [(np.inf, "infinity"), (np.nan, "NaN")])
def test_data_that_is_not_finite_is_named(value: float, word: str) -> None:
    data = DATA.copy()
    data[1, 0, 2, 2] = value
    with pytest.raises(CalibrationError, match=f"calibration data: input x holds {word} on batch 2, finite numbers"):
        quantise(READ, {"x": data}, Choices("free"))


@pytest.mark.parametrize("scheme", ["free", "power_of_two"])
def test_the_node_that_overflows_is_named(scheme: str) -> None:
    grown = read(model([node("Conv", "x w", "c"), node("Exp", "c")], (1, 3, 6, 5), {"w": weights(4, 3, 1, 1) * 1000}))
    with pytest.raises(CalibrationError, match=r"node Exp_y: its result y holds infinity on batch 1, .* what overflows"):
        quantise(grown, {"x": DATA}, Choices(scheme))


@pytest.mark.parametrize("scheme", ["free", "power_of_two"])
def test_a_bias_far_beyond_the_weights_is_kept(scheme: str) -> None:
    """Weights of a millionth beside a bias of 1: the weights get coarser, the bias does not saturate."""
    tiny = np.full((4, 3, 1, 1), 1e-9, np.float32)
    bias = np.array([1.0, -2.0, 0.5, 0.0], np.float32)
    whole = read(model([node("Conv", "x w b")], (1, 3, 6, 5), {"w": tiny, "b": bias}))
    done = quantise(whole, {"x": DATA}, Choices(scheme)).model
    conv = next(n for n in done.nodes if n.op_type == "QLinearConv")
    unit = done.constants[conv.inputs[1]].astype(np.float64) * done.constants[conv.inputs[4]].astype(np.float64)
    assert np.allclose(done.constants[conv.inputs[8]] * unit, bias, rtol=1e-6)


STATE = model([node("Transpose", "x", "t", perm=[1, 0, 2]), node("MatMul", "t w")], (4, 1, 3), {"w": weights(3, 5)})
"""Its batch is the second dimension, as that of a recurrence's state."""


@pytest.mark.parametrize(
    ("shape", "cut"),
    [
        ((4, 3, 3), lambda data, index: data[:, index : index + 1]),
        ((3, 4, 1, 3), lambda data, index: data[index]),
        ((12, 1, 3), lambda data, index: data[4 * index : 4 * index + 4]),
    ],
)
def test_samples_follow_each_other_along_any_dimension(shape: tuple[int, ...], cut: Any) -> None:
    data = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    found = list(batches(read(STATE), {"x": data}))
    assert len(found) == 3
    assert all(np.array_equal(feeds["x"], cut(data, index)) for index, feeds in enumerate(found))


def test_an_input_of_the_models_own_shape_serves_all_samples() -> None:
    two = model([node("Mul", "x x", "m"), node("Identity", "m")], (1, 3))
    two.graph.input.append(onnx.helper.make_tensor_value_info("rate", onnx.TensorProto.INT64, []))
    data = {"x": np.arange(12, dtype=np.float32).reshape(4, 3), "rate": np.array(16_000)}
    found = list(batches(read(two), data))
    assert [feeds["x"][0, 0] for feeds in found] == [0, 3, 6, 9]
    assert all(feeds["rate"] == 16_000 for feeds in found)


@pytest.mark.parametrize("shape", [(4, 1, 6), (0, 4, 1, 3), (8, 3, 3), (4, 0, 3)])
def test_samples_along_no_dimension_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(CalibrationError, match=r"samples of \(4, 1, 3\) along a dimension of one"):
        list(batches(read(STATE), {"x": np.zeros(shape, np.float32)}))
