"""Traits of trained models: onnxruntime runs what they make, and forms compute what the model did."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from compiler.frontend.session import run
from compiler.zoo.trained_like import FORMS, WEIGHTS, trained_like
from tests.compiler.frontend.quantised_models import model, node, weights

NET = model(
    [node("Conv", "x w b", "c", pads=[1, 1, 1, 1]), node("MaxPool", "c", kernel_shape=[2, 2], strides=[2, 2])], (1, 3, 8, 6),
    {"w": weights(16, 3, 3, 3), "b": weights(16)},
)  # fmt: skip
FEEDS = {"x": np.random.default_rng(0).standard_normal((1, 3, 8, 6)).astype(np.float32)}


def weights_of(made: onnx.ModelProto) -> Any:
    return numpy_helper.to_array(next(tensor for tensor in made.graph.initializer if tensor.name == "w"))


@pytest.mark.parametrize("trait", [*WEIGHTS, *FORMS])
def test_onnxruntime_runs_them_and_the_model_stays_what_it_was(trait: str) -> None:
    before = NET.SerializeToString()
    made = trained_like(NET, [trait], 1)
    assert all(np.isfinite(value).all() for value in run(made, FEEDS).values())
    assert made.SerializeToString() != before == NET.SerializeToString()


def test_weights_have_tails_zeros_and_sizes() -> None:
    plain = np.abs(weights_of(NET))
    heavy, dead, uneven = (np.abs(weights_of(trained_like(NET, [trait], 1))) for trait in WEIGHTS)
    assert heavy.max() / np.median(heavy) > 3 * plain.max() / np.median(plain)
    assert 0 < (dead.reshape(16, -1).max(axis=1) == 0).sum() < 16
    sizes = uneven.reshape(16, -1).max(axis=1)
    assert sizes.max() > 20 * sizes.min()


def test_forms_compute_what_the_model_did() -> None:
    y = run(NET, FEEDS)["y"]
    for trait in ("half constants", "channels last"):
        assert np.allclose(run(trained_like(NET, [trait], 1), FEEDS)["y"], y, atol=0.01), trait
    assert np.array_equal(run(trained_like(NET, ["endless constants"], 1), FEEDS)["mask/filled"], np.maximum(y, 0))
    once = 0.5 * y if y.max() > 0.5 else -y
    assert np.allclose(run(trained_like(NET, ["captured"], 1), FEEDS)["inner/y"], 0.5 * (0.5 * once + y) + y, atol=1e-5)
    assert [tensor.values.name for tensor in trained_like(NET, ["sparse constants"], 1).graph.sparse_initializer] == ["w"]
