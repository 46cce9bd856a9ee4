"""Every network is valid ONNX, runs in onnxruntime, and keeps its values in range through the whole depth."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from compiler.zoo.networks import networks
from tests.compiler.zoo.model_runs import root_mean_squares, run_all

Shapes = dict[str, tuple[int, ...]]

LOGITS: Shapes = {"logits": (1, 1000)}
REDUCED: dict[str, tuple[dict[str, Any], Shapes]] = {
    "alexnet": ({"size": 63}, LOGITS),
    "amoebanet_a": ({"size": 64, "repeats": 1, "filters": 8, "stem": 8}, LOGITS),
    "amoebanet_a_cifar": ({"size": 16, "repeats": 1, "filters": 8, "stem": 24}, {"logits": (1, 10)}),
    "darts": ({"size": 64, "layers": 5, "filters": 8}, LOGITS),
    "darts_cifar": ({"size": 16, "layers": 5, "filters": 8}, {"logits": (1, 10)}),
    "deeplab": ({"size": 64, "width": 16}, {"mask": (1, 21, 64, 64)}),
    "densenet": ({"size": 32}, LOGITS),
    "efficientnet_lite0": ({"size": 40}, LOGITS),
    "googlenet": ({"size": 64}, LOGITS),
    "hrnet_w18_small": ({"size": 64}, LOGITS),
    "hrnet_w18_small_v2": ({"size": 64, "modules": (1, 1, 1)}, LOGITS),
    "hrnet_w32": ({"size": 64, "modules": (1, 1, 1), "blocks": 1}, LOGITS),
    "inception_resnet_v2": ({"size": 75, "repeats": (1, 1, 1)}, LOGITS),
    "inception_v3": ({"size": 107}, LOGITS),
    "mobilenet_v1": ({"size": 32}, LOGITS),
    "mobilenet_v2": ({"size": 64}, LOGITS),
    "nasnet_a": ({"size": 64}, LOGITS),
    "nasnet_a_cifar": ({"size": 16, "repeats": 1, "filters": 8, "stem": 24}, {"logits": (1, 10)}),
    "nasnet_a_large": ({"size": 75, "cells": 1, "filters": 24}, LOGITS),
    "randwire0": ({"size": 64, "channels": 16, "nodes": 12}, LOGITS),
    "randwire1": ({"size": 32, "channels": 16, "nodes": 12}, LOGITS),
    "randwire2": ({"size": 32, "channels": 16, "nodes": 16}, LOGITS),
    "resnet18": ({"size": 32}, LOGITS),
    "resnet50": ({"size": 64}, LOGITS),
    "resnet50_v1": ({"size": 64}, LOGITS),
    "resnet152": ({"size": 64}, LOGITS),
    "resnet152_v1": ({"size": 32, "classes": 10}, {"logits": (1, 10)}),
    "squeezenet": ({"size": 64, "batch": 2}, {"logits": (2, 1000)}),
    "unet": ({"size": 32}, {"mask": (1, 2, 32, 32)}),
    "unet_resize": ({"size": 48}, {"mask": (1, 2, 48, 48)}),
    "vgg16": ({"size": 32}, LOGITS),
    "vgg16_convolutions": ({"size": 32}, {"features": (1, 512, 1, 1)}),
    "vgg19": ({"size": 32}, LOGITS),
    "vgg19_convolutions": ({"size": 32}, {"features": (1, 512, 1, 1)}),
    "yolov3_tiny": ({"size": 64}, {"coarse": (1, 255, 2, 2), "fine": (1, 255, 4, 4)}),
}

SISTERS = (
    "amoebanet_a", "darts", "hrnet_w18_small", "hrnet_w32", "nasnet_a", "nasnet_a_large", "randwire1", "randwire2",
    "resnet50_v1", "resnet152", "resnet152_v1", "vgg16_convolutions", "vgg19", "vgg19_convolutions",
)  # fmt: skip
"""Of the same parts as another one, which is quick."""


def test_every_network_is_tested() -> None:
    assert set(REDUCED) == set(networks())
    assert set(SISTERS) < set(REDUCED)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) if name in SISTERS else name for name in REDUCED])
def test_network_runs_at_a_reduced_size(name: str) -> None:
    arguments, shapes = REDUCED[name]
    model = networks()[name](**arguments)
    onnx.checker.check_model(model, full_check=True)
    tensors = run_all(model)
    assert {value.name: tensors[value.name].shape for value in model.graph.output} == shapes
    levels = root_mean_squares(tensors)
    assert min(levels.values()) > 0.1
    assert max(levels.values()) < 16


@pytest.mark.parametrize("name", ["squeezenet", "densenet"])
def test_shapes_said_by_the_model_are_those_that_onnx_infers(name: str) -> None:
    model = networks()[name](size=64)
    said = {value.name: value.type for value in model.graph.value_info}
    del model.graph.value_info[:]
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    assert said == {value.name: value.type for value in inferred.graph.value_info}


def test_the_seed_decides_the_weights_and_nothing_else() -> None:
    build = networks()["mobilenet_v2"]
    first, again, other = build(size=32, seed=1), build(size=32, seed=1), build(size=32, seed=2)
    assert first.SerializeToString() == again.SerializeToString()
    assert list(first.graph.node) == list(other.graph.node)
    assert all(a != b for a, b in zip(weights(first), weights(other), strict=True))


def test_layers_differ_from_channel_to_channel() -> None:
    """Equal channels would hide every error in their order."""
    logits = run_all(networks()["resnet18"](size=32))["logits"]
    assert len(np.unique(logits)) == logits.size


def weights(model: onnx.ModelProto) -> list[bytes]:
    return [tensor.raw_data for tensor in model.graph.initializer if len(tensor.dims) == 4]
