"""Multiply-accumulates and parameters of the networks at full size, against the literature."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from compiler.zoo import moments
from compiler.zoo.macs import multiply_accumulates
from compiler.zoo.networks import networks
from compiler.zoo.unet import unet
from tests.compiler.zoo.test_zoo_networks import SISTERS

PUBLISHED = {
    "alexnet": (0.714, 61.1),
    "amoebanet_a": (0.542, 4.98),  # its authors: 0.555, 5.1
    "amoebanet_a_cifar": (0.470, 3.142),  # its authors: 3.2
    "darts": (0.530, 4.7),  # its authors: 0.574
    "darts_cifar": (0.528, 3.35),
    "densenet": (2.83, 7.98),
    "efficientnet_lite0": (0.385, 4.65),  # its authors say 0.407: they count normalisation and activation
    "googlenet": (1.58, 7.0),
    "hrnet_w18_small": (1.61, 13.2),  # timm's count, as for the next two; the authors: 1.49, 2.42, 8.31
    "hrnet_w18_small_v2": (2.60, 15.6),
    "hrnet_w32": (8.92, 41.2),
    "inception_resnet_v2": (13.2, 55.8),
    "mobilenet_v1": (0.569, 4.23),
    "mobilenet_v2": (0.301, 3.50),
    "nasnet_a": (0.564, 5.3),
    "nasnet_a_cifar": (0.526, 3.3),
    "nasnet_a_large": (23.8, 88.9),
    "randwire0": (0.583, 5.6),
    "resnet18": (1.81, 11.7),
    "resnet50": (4.09, 25.6),
    "resnet50_v1": (3.86, 25.6),
    "resnet152": (11.51, 60.2),
    "resnet152_v1": (11.3, 60.2),
    "squeezenet": (0.349, 1.24),
    "vgg16": (15.47, 138.4),
    "vgg16_convolutions": (15.35, 14.7),
    "vgg19": (19.63, 143.7),
    "vgg19_convolutions": (19.51, 20.0),
    "yolov3_tiny": (2.78, 8.85),  # 5.56 GFLOP
}
"""10^9 multiply-accumulates of one image at the default size, and 10^6 parameters."""


@pytest.fixture(autouse=True)
def _zero_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing 700 million numbers takes ten seconds, and only their shapes are looked at."""
    monkeypatch.setattr(moments, "weights", lambda rng, shape, *others: np.zeros(shape, np.float32))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SISTERS else name for name in PUBLISHED]
)
def test_sizes_are_the_published_ones(name: str) -> None:
    giga, mega = PUBLISHED[name]
    model = networks()[name]()
    parameters = sum(math.prod(tensor.dims) for tensor in model.graph.initializer if tensor.data_type == TensorProto.FLOAT)
    assert multiply_accumulates(model) == pytest.approx(giga * 1e9, rel=0.012)
    assert parameters == pytest.approx(mega * 1e6, rel=0.012)


def test_the_papers_unet_has_31_million_parameters() -> None:
    model = unet(width=64)
    assert sum(math.prod(tensor.dims) for tensor in model.graph.initializer) == pytest.approx(31.0e6, rel=0.002)


def test_batch_multiplies_the_work() -> None:
    build = networks()["squeezenet"]
    assert multiply_accumulates(build(batch=4, size=64)) == 4 * multiply_accumulates(build(size=64))


def test_nasnet_is_hundreds_of_nodes() -> None:
    assert len(networks()["nasnet_a"](size=64).graph.node) > 700
    assert len(networks()["nasnet_a_large"](size=64, filters=24).graph.node) > 950


@pytest.mark.parametrize(
    ("kind", "attributes", "weight", "output", "expected"),
    [
        ("Conv", {"group": 2}, (6, 2, 3, 3), (2, 6, 5, 7), 2 * 6 * 5 * 7 * (2 * 3 * 3)),
        ("ConvTranspose", {"strides": [2, 2]}, (4, 3, 2, 2), (2, 3, 14, 18), 2 * 4 * 7 * 9 * (3 * 2 * 2)),
        ("Gemm", {"transB": 1}, (5, 4), (2, 5), 2 * 5 * 4),
        ("Gemm", {"transA": 1}, (4, 5), (2, 5), 2 * 5 * 4),
        ("MatMul", {}, (4, 5), (2, 5), 2 * 5 * 4),
        ("Relu", {}, (1,), (2, 4, 7, 9), 0),
    ],
)
def test_one_layer_is_counted(
    kind: str, attributes: dict[str, Any], weight: tuple[int, ...], output: tuple[int, ...], expected: int
) -> None:
    """Sizes that the layer's kind does not look at need not fit each other."""
    x_shape = (2, 4, 7, 9) if len(output) == 4 else (4, 2) if "transA" in attributes else (2, 4)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", x_shape), ("y", output)))
    w = helper.make_tensor("w", TensorProto.FLOAT, weight, [0.0] * math.prod(weight))
    graph = helper.make_graph([helper.make_node(kind, ["x", "w"], ["y"], **attributes)], "one", [x], [y], [w])
    assert multiply_accumulates(helper.make_model(graph)) == expected
