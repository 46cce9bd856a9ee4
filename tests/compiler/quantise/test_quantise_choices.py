"""Layers kept in float, signal to noise: what a user may ask of a quantisation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import onnx
import pytest

from compiler.frontend.model import Model, to_proto
from compiler.frontend.pipeline import AS_ASKED, ImportedModel, import_model
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.quantise.choices import Choices
from compiler.quantise.noise import decibels, noise_of_tensors
from compiler.quantise.quantise import quantise
from compiler.quantise.statistics import CalibrationError
from tests.compiler.frontend.quantised_models import check_exact, model, node, weights

DATA = np.random.default_rng(0).standard_normal((6, 6, 5, 5)).astype(np.float32) + 1
NET = read(model(
    [node("Conv", "x w b", "c", group=2), node("BatchNormalization", "c s b m v", "n"), node("Relu", "n", "r"),
     node("Conv", "r u", "d"), node("Flatten", "d", "f"), node("Gemm", "f g", "y", transB=1)],
    (1, 6, 5, 5),
    {"w": weights(4, 3, 1, 1), "b": weights(4), "s": weights(4), "m": weights(4), "v": np.abs(weights(4)) + 1,
     "u": weights(8, 4, 3, 3), "g": weights(5, 72)},
))  # fmt: skip


@pytest.mark.parametrize("pattern", ["Conv_d", "Conv_[!c]*"])
def test_layers_are_kept_in_float_by_name_or_pattern(pattern: str) -> None:
    done = quantise(NET, {"x": DATA}, Choices("free", "mse", keep_float=(pattern,))).model
    assert [n.name for n in done.nodes if n.op_type == "Conv"] == ["Conv_d"]
    assert [n.op_type for n in done.nodes if n.op_type in ("QLinearConv", "QGemm")] == ["QLinearConv", "QGemm"]
    feeds = {"x": DATA[:1]}
    np.testing.assert_allclose(run(to_proto(done), feeds)["y"], run(to_proto(NET), feeds)["y"], atol=0.3)


def test_everything_kept_computes_what_the_float_model_does() -> None:
    done = quantise(NET, {"x": DATA}, Choices(method="mse", keep_float=("*",))).model
    feeds = {"x": DATA[:1]}
    np.testing.assert_allclose(run(to_proto(done), feeds)["y"], run(to_proto(NET), feeds)["y"], rtol=1e-4, atol=1e-5)


def _kept(proto: onnx.ModelProto, pattern: str) -> ImportedModel:
    return import_model(proto, calibration={"x": DATA}, choices=Choices(method="mse", keep_float=(pattern,)))


@pytest.mark.parametrize("name", ["Conv_c", "Relu_r", "MaxPool_p", "GlobalAveragePool_a", "Flatten_f", "Gemm_y"])
def test_what_the_machine_could_run_between_quantised_layers_is_kept_too(name: str) -> None:
    nodes = [
        node("Conv", "x w", "c", group=2), node("Relu", "c", "r"), node("MaxPool", "r", "p", kernel_shape=[2, 2]),
        node("GlobalAveragePool", "p", "a"), node("Flatten", "a", "f"), node("Gemm", "f g", "y", transB=1),
    ]  # fmt: skip
    proto = model(nodes, (1, 6, 5, 5), {"w": weights(4, 3, 1, 1), "g": weights(5, 4)})
    found = _kept(proto, name)
    assert found.reasons[name] == AS_ASKED
    check_exact(found, 1)


def test_a_node_that_nothing_reads_is_kept_without_effect() -> None:
    nodes = [node("Conv", "x w", "y"), node("Relu", "x", "idle")]
    with pytest.warns(UserWarning, match="^keep in float: 'Relu_idle' is kept without effect, nothing reads"):
        _kept(model(nodes, (1, 6, 5, 5), {"w": weights(4, 6, 1, 1)}), "Relu_idle")


def test_nodes_are_kept_in_the_order_of_the_model_whatever_asks_for_them() -> None:
    names = [node.name for node in NET.nodes]
    assert Choices(keep_float=(*reversed(names),)).kept(NET) == tuple(names)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("head/*", r"keep in float: no node is called 'head/\*'; the model has Conv_c, BatchNormalization_n, .* and 1 more"),
        ("BatchNormalization_n", "'BatchNormalization_n' finds BatchNormalization_n, which is folded into the layer before it"),
    ],
)
def test_a_pattern_that_keeps_nothing_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        quantise(NET, {"x": DATA}, Choices(method="mse", keep_float=(pattern,)))


def test_signal_to_noise_is_that_of_values_seen_by_themselves() -> None:
    done = quantise(NET, {"x": DATA}, Choices("free", "mse"))
    rows = {row.tensor: row for row in noise_of_tensors(done.float_model, done.model, {"x": DATA})}
    assert list(rows) == ["r", "d", "f", "y"]
    signal = noise = 0.0
    for one in DATA:
        float_y = run(to_proto(_showing(done.float_model, "d")), {"x": one[None]})["d"].astype(np.float64)
        stored = run(to_proto(_showing(done.model, "d_quantized")), {"x": one[None]})["d_quantized"].astype(np.float64)
        real = (stored - done.model.constants["d_zero_point"]) * done.model.constants["d_scale"].astype(np.float64)
        signal, noise = signal + (float_y**2).sum(), noise + ((real - float_y) ** 2).sum()
    assert rows["d"].decibels == pytest.approx(10 * math.log10(signal / noise))
    assert 15 < rows["y"].decibels < 60
    assert (decibels(1.0, 0.0), decibels(0.0, 1.0), decibels(100.0, 1.0)) == (math.inf, -math.inf, 20.0)
    assert decibels(1.0, math.inf) == decibels(1.0, math.nan) == -math.inf


def test_signal_to_noise_of_what_shares_a_scale() -> None:
    """A maximum, a move and a join of moves have no scale of their own; nor have parts that a clamp makes smaller."""
    nodes = [
        node("Conv", "x w", "c"), node("Clip", "c low high", "k"), node("MaxPool", "k", "p", kernel_shape=[2, 2]),
        node("Transpose", "p", "t", perm=[0, 1, 3, 2]), node("Split", "t", "s0 s1", axis=1),
        node("Concat", "s1 s0", "j", axis=1),
    ]  # fmt: skip
    constants = {"w": weights(4, 6, 1, 1), "low": np.array(-0.3, np.float32), "high": np.array(0.9, np.float32)}
    net = read(model([*nodes, node("Conv", "j v")], (1, 6, 5, 5), {**constants, "v": weights(2, 4, 1, 1)}))
    done = quantise(net, {"x": DATA}, Choices("free", "mse"))
    rows = {row.tensor: row.decibels for row in noise_of_tensors(done.float_model, done.model, {"x": DATA})}
    assert list(rows) == ["k", "p", "t", "s0", "s1", "j", "y"]
    assert rows["p"] == pytest.approx(rows["t"], abs=1e-6)
    assert rows["t"] == pytest.approx(rows["j"], abs=1e-6)
    assert all(25 < value < 60 for value in rows.values())


def _showing(model: Model, name: str) -> Model:
    return replace(model, outputs=(name,))
