"""Equalised channels: the same function, which tensors have factors of their own, and what they are worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from compiler.frontend.model import Model, to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.frontend.types import with_types
from compiler.quantise.choices import Choices
from compiler.quantise.equalise import classes_of, equalised
from compiler.quantise.forms import forms_of
from compiler.quantise.noise import noise_of_tensors
from compiler.quantise.quantise import quantise
from compiler.quantise.statistics import Statistics, batches, collected
from tests.compiler.frontend.quantised_models import model, node, weights

RNG = np.random.default_rng(3)
DATA = RNG.standard_normal((4, 4, 8, 8)).astype(np.float32)
UNLIKE = np.array([1, 0.02, 0.3, 0.005, 0.1, 1], np.float32).reshape(6, 1, 1, 1)
"""Sizes of channels."""
TABLE = {
    "w": weights(6, 4, 3, 3) * UNLIKE, "b": weights(6) * UNLIKE.reshape(-1), "d": weights(6, 1, 3, 3), "v": weights(6, 6, 1, 1),
    "u": weights(3, 6, 1, 1), "g": weights(5, 6), "p": np.abs(weights(6, 1, 1)),
}  # fmt: skip


def built(nodes: list[onnx.NodeProto]) -> Model:
    return with_types(read(model([node("Conv", "x w b", "a", pads=[1, 1, 1, 1]), *nodes], (1, 4, 8, 8), TABLE)))


NETS = {
    "ReLU, then depthwise": [
        node("Relu", "a", "r"), node("Conv", "r d", "c", group=6), node("Relu", "c", "s"), node("Conv", "s u"),
    ],
    "sum": [node("Conv", "a v", "c"), node("Add", "a c", "s"), node("PRelu", "s p", "r"), node("Conv", "r u")],
    "gate": [
        node("Relu", "a", "r"), node("GlobalAveragePool", "r", "m"), node("Conv", "m v", "k"), node("Sigmoid", "k", "h"),
        node("Mul", "r h", "s"), node("MaxPool", "s", "q", kernel_shape=[2, 2]), node("Conv", "q u"),
    ],
    "dense": [node("GlobalAveragePool", "a", "m"), node("Flatten", "m", "f"), node("Gemm", "f g", transB=1)],
}  # fmt: skip


def statistics(net: Model) -> dict[str, Statistics]:
    return collected(net, forms_of(net).quantised(), batches(net, {"x": DATA}))


@pytest.mark.parametrize("name", NETS)
def test_an_equalised_network_is_the_same_function(name: str) -> None:
    net = built(NETS[name])
    found, factors = equalised(net, statistics(net))
    assert factors
    feeds = {"x": DATA[:1]}
    expected = run(to_proto(net), feeds)["y"]
    np.testing.assert_allclose(run(to_proto(found), feeds)["y"], expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (NETS["ReLU, then depthwise"], [{"a", "r"}, {"c", "s"}]),
        (NETS["sum"], [{"a", "c", "s", "r"}]),
        (NETS["gate"], [{"a", "r", "m", "s", "q"}]),
        (NETS["dense"], [{"a", "m", "f"}]),
        # A sigmoid, an output, a clamp at 6 and a product of two such tensors know the size of what they read.
        ([node("HardSwish", "a", "r"), node("Conv", "r u")], []),
        ([node("Clip", "a _ six", "r"), node("Conv", "r u")], []),
        ([node("Relu", "a")], []),
        ([node("Conv", "a v", "c"), node("Mul", "a c", "m"), node("Conv", "m u")], []),
    ],
)
def test_tensors_with_the_same_factors(nodes: list[onnx.NodeProto], expected: list[set[str]]) -> None:
    first, table = node("Conv", "x w b", "a", pads=[1, 1, 1, 1]), {**TABLE, "six": np.array(6, np.float32)}
    proto = model([first, *nodes], (1, 4, 8, 8), table)
    assert [each.tensors for each in classes_of(with_types(read(proto)))] == expected


def test_quiet_channels_get_finer() -> None:
    """By measurement: signal to noise of the output, with the same method."""
    net = built(NETS["ReLU, then depthwise"])
    # What reads quiet channels has great weights for them, as in trained networks.
    net = replace(net, constants={**net.constants, "d": TABLE["d"] / UNLIKE, "u": TABLE["u"]})
    equal, _ = equalised(net, statistics(net))
    plain, better = (output_noise(each) for each in (net, equal))
    assert better > plain + 6


def output_noise(net: Model) -> float:
    done = quantise(net, {"x": DATA}, Choices("free", "minmax"))
    return noise_of_tensors(done.float_model, done.model, {"x": DATA})[-1].decibels


def test_what_few_values_tell_is_no_reason_to_equalise() -> None:
    """Other inputs reach further there: a gate has one value for each channel and input."""
    nodes = [node("GlobalAveragePool", "a", "m"), node("Conv", "m v", "k"), node("Relu", "k", "r"), node("Conv", "r u")]
    net = built(nodes)
    changed = {name for name in equalised(net, statistics(net))[0].constants if name not in net.constants}
    assert {"k", "r"} in [each.tensors for each in classes_of(net)]
    assert changed
    assert not any(name.startswith("y/") for name in changed)


def test_silent_channels_keep_their_weights() -> None:
    silent = {**TABLE, "w": TABLE["w"] * (np.arange(6) != 2).reshape(6, 1, 1, 1), "b": TABLE["b"] * (np.arange(6) != 2)}
    nodes = [node("Conv", "x w b", "a"), node("Relu", "a", "r"), node("Conv", "r u")]
    net = with_types(read(model(nodes, (1, 4, 8, 8), silent)))
    found, _ = equalised(net, statistics(net))
    last = next(each for each in found.nodes if each.output == "y")
    made: NDArray[np.float32] = found.constants[last.inputs[1]]
    assert np.isfinite(made).all()
    np.testing.assert_array_equal(made[:, 2], TABLE["u"][:, 2])
