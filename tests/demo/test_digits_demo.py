"""The demo's network: what was trained is what is shipped, it reads digits, and its gradients are gradients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

from demo.layers import Chain, Conv, Dense, Depthwise, Flatten, Layer, MaxPool, Relu, Residual
from demo.train_digits import accuracy, digits_network, exported, loss_gradient, moved, train

FOLDER = Path(__file__).parents[2] / "demo"
RNG = np.random.default_rng


def logits(model: onnx.ModelProto, images: NDArray[np.float32]) -> NDArray[np.float32]:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"image": images})[0])


def test_shipped_network_reads_the_held_out_digits() -> None:
    held_out = np.load(FOLDER / "digits_test.npz")
    found = logits(onnx.load(FOLDER / "digits.onnx"), held_out["image"]).argmax(1)
    assert held_out["image"].shape == (360, 1, 8, 8)
    assert (found == held_out["labels"]).mean() > 0.97


def test_shipped_network_is_the_one_that_the_script_exports() -> None:
    shipped = onnx.load(FOLDER / "digits.onnx")
    onnx.checker.check_model(shipped, full_check=True)
    assert shipped.graph.node == exported(digits_network(RNG(0)).parameters).graph.node
    assert {node.op_type for node in shipped.graph.node} == {"Add", "Conv", "Flatten", "Gemm", "MaxPool", "Relu"}
    assert sum((FOLDER / name).stat().st_size for name in ("digits.onnx", "digits_test.npz")) < 100_000


def test_export_computes_what_was_trained() -> None:
    network = digits_network(RNG(1))
    for parameter in network.parameters:
        parameter += RNG(2).normal(0, 0.1, parameter.shape).astype(np.float32)
    images = RNG(3).random((5, 1, 8, 8), dtype=np.float32)
    assert np.allclose(logits(exported(network.parameters), images), network.forward(images), atol=1e-5)


def test_training_learns() -> None:
    """To tell which quarter is bright, in a few rounds."""
    labels = np.arange(96) % 4
    images = RNG(0).random((96, 1, 8, 8), dtype=np.float32)
    for image, label in zip(images, labels, strict=True):
        image[0, 4 * (label // 2) :, 4 * (label % 2) :][:4, :4] += 1
    network = Chain(Flatten(), Dense(RNG(0), 4, 64))
    assert accuracy(network, images, labels) < 0.5
    train(network, images, labels, RNG(0), epochs=20)
    assert accuracy(network, images, labels) > 0.95


def test_moved_images_are_shifted_by_at_most_a_pixel() -> None:
    image = np.zeros((200, 1, 8, 8), np.float32)
    image[:, 0, 4, 4] = 1
    places = {(int(y), int(x)) for _, _, y, x in np.argwhere(moved(image, RNG(0)))}
    assert places == {(y, x) for y in (3, 4, 5) for x in (3, 4, 5)}


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (Conv(RNG(0), 3, 2, 3), (2, 2, 4, 6)),
        (Conv(RNG(0), 3, 2, 1), (2, 2, 4, 6)),
        (Depthwise(RNG(0), 3), (2, 3, 4, 6)),
        (Relu(), (2, 3, 4, 6)),
        (MaxPool(), (2, 3, 4, 6)),
        (Flatten(), (2, 3, 4, 6)),
        (Dense(RNG(0), 3, 5), (2, 5)),
        (Residual(Depthwise(RNG(0), 3), Conv(RNG(1), 3, 3, 1)), (2, 3, 4, 6)),
        (Chain(Conv(RNG(0), 4, 3, 3), MaxPool(), Flatten(), Dense(RNG(1), 2, 24)), (2, 3, 4, 6)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Layer) else "",
)
def test_gradients_are_the_differences(layer: Layer, shape: tuple[int, ...]) -> None:
    """Every input and parameter a little larger and smaller, one after the other, changes the loss by its gradient."""
    for parameter in layer.parameters:
        parameter += RNG(4).normal(0, 0.1, parameter.shape).astype(np.float32)
    x = RNG(5).normal(0, 1, shape)
    weights = RNG(6).normal(0, 1, layer.forward(x).shape)
    by_input = layer.backward(weights)
    gradients = [np.array(by_input), *(np.array(gradient) for gradient in layer.gradients)]
    values = [x, *layer.parameters]
    assert [gradient.shape for gradient in gradients] == [value.shape for value in values]
    for value, gradient in zip(values, gradients, strict=True):
        for place in np.ndindex(value.shape):
            before, ends = value[place], []
            for change in (1e-3, -1e-3):
                value[place] = before + change
                ends.append((float(value[place]), float((layer.forward(x) * weights).sum())))
            value[place] = before
            (high, above), (low, below) = ends
            assert gradient[place] == pytest.approx((above - below) / (high - low), abs=1e-3)


def test_loss_gradient_is_the_difference() -> None:
    values, labels = RNG(0).normal(0, 1, (3, 4)), np.array([2, 0, 3])

    def loss(logits: NDArray[np.float64]) -> float:
        return float(np.mean(np.log(np.exp(logits).sum(1)) - logits[np.arange(3), labels]))

    for place in np.ndindex(values.shape):
        change = np.zeros_like(values)
        change[place] = 1e-4
        expected = (loss(values + change) - loss(values - change)) / 2e-4
        assert loss_gradient(values, labels)[place] == pytest.approx(expected, abs=1e-6)
