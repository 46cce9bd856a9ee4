"""The onnx package's light models with random weights: the same networks, and no longer constant."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from compiler.zoo.light import FOLDER, LIGHT_MODELS, UnknownNetworkError, light_model
from compiler.zoo.macs import multiply_accumulates
from tests.compiler.zoo.model_runs import root_mean_squares, run_all

LARGE = ("bvlc_alexnet", "vgg19", "zfnet512")
"""Above 100 MB."""
GIGA = {"densenet121": 2.83, "resnet50": 4.09, "squeezenet": 0.349, "inception_v2": 2.02}
"""10^9 multiply-accumulates, where the exported network is the published one."""


def test_all_that_the_package_ships_are_known() -> None:
    assert sorted(path.stem.removeprefix("light_") for path in FOLDER.glob("*.onnx")) == sorted(LIGHT_MODELS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in LIGHT_MODELS]
)
def test_model_is_valid_and_its_values_are_in_range(name: str) -> None:
    model = light_model(name, 3)
    onnx.checker.check_model(model)
    assert len(model.graph.input) == 1
    if name in GIGA:
        assert multiply_accumulates(model) == pytest.approx(GIGA[name] * 1e9, rel=0.01)
    tensors = run_all(model)
    probabilities = tensors.pop(model.graph.output[0].name)
    levels = root_mean_squares(tensors)
    assert min(levels.values()) > 0.05
    assert max(levels.values()) < 16
    assert len(np.unique(probabilities)) > 900


@pytest.mark.parametrize("name", [name for name in LIGHT_MODELS if name not in LARGE])
def test_layers_are_those_of_the_package(name: str) -> None:
    original = onnx.load(FOLDER / f"light_{name}.onnx")
    expected = [node for node in original.graph.node if node.op_type != "ConstantOfShape"]
    assert list(light_model(name).graph.node) == expected


@pytest.mark.parametrize("name", ["resnet50", "densenet121"])
def test_variances_are_positive(name: str) -> None:
    model = light_model(name)
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    normalisations = [node for node in model.graph.node if node.op_type == "BatchNormalization"]
    assert normalisations
    assert all(values[node.input[4]].min() > 0 for node in normalisations)


def test_the_seed_decides_the_weights() -> None:
    first, again, other = (light_model("squeezenet", seed) for seed in (1, 1, 2))
    assert first.SerializeToString() == again.SerializeToString()
    assert first.SerializeToString() != other.SerializeToString()


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNetworkError, match=r"no light model is called 'lenet'; there are bvlc_alexnet, densenet121"):
        light_model("lenet")
