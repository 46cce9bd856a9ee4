"""Trains the demo's network on scikit-learn's bundled handwritten digits and writes it as float ONNX.

    pip install scikit-learn
    OPENBLAS_NUM_THREADS=1 python -m demo.train_digits

writes, next to this file, ``digits.onnx``; for the 360 images that were not trained on ``digits_test.npz`` (``image``:
what the model takes, ``labels``); and 64 of those that were trained on, ``digits_calibration.npz``. All are committed;
scikit-learn is needed for nothing else. Every random choice is seeded: the same machine and libraries train the same
weights. Lasts about a minute.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper

from demo.layers import Array, Chain, Conv, Dense, Depthwise, Flatten, Layer, MaxPool, Relu, Residual

SEED = 1
HELD_OUT = 360
CALIBRATION = 64
EPOCHS = 30
BATCH = 32
STEP = 3e-3
DECAY = 1e-4
FOLDER = Path(__file__).parent


def main() -> None:
    from sklearn.datasets import load_digits

    digits = load_digits()
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(digits.target))
    images = (digits.images[order, None] / 16).astype(np.float32)
    labels = digits.target[order].astype(np.int64)

    network = digits_network(rng)
    train(network, images[HELD_OUT:], labels[HELD_OUT:], rng)
    model = exported(network.parameters)
    checker.check_model(model, full_check=True)
    (FOLDER / "digits.onnx").write_bytes(model.SerializeToString(deterministic=True))
    np.savez_compressed(FOLDER / "digits_test.npz", image=images[:HELD_OUT], labels=labels[:HELD_OUT])
    np.savez_compressed(FOLDER / "digits_calibration.npz", image=images[HELD_OUT : HELD_OUT + CALIBRATION])
    print(f"trained on {len(labels) - HELD_OUT} images: {accuracy(network, images[HELD_OUT:], labels[HELD_OUT:]):.2%} right")
    print(f"held out   {HELD_OUT} images: {accuracy(network, images[:HELD_OUT], labels[:HELD_OUT]):.2%} right")


def digits_network(rng: np.random.Generator) -> Chain:
    """8 x 8 pixels: a 3x3, a residual block of depthwise and point-wise, a pool, a 3x3, a dense layer."""
    return Chain(
        Conv(rng, 16, 1, 3),
        Relu(),
        Residual(Depthwise(rng, 16), Relu(), Conv(rng, 16, 16, 1)),
        Relu(),
        MaxPool(),
        Conv(rng, 32, 16, 3),
        Relu(),
        Flatten(),
        Dense(rng, 10, 512),
    )


def exported(parameters: list[Array]) -> ModelProto:
    """The network of ``digits_network`` with these parameters, for any number of images at a time."""
    layers = ("conv1", "depthwise", "pointwise", "conv2", "dense")
    names = [f"{layer}.{role}" for layer in layers for role in ("weight", "bias")]
    threes: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["image", *names[0:2]], ["conv1"], **threes),
        helper.make_node("Relu", ["conv1"], ["relu1"]),
        helper.make_node("Conv", ["relu1", *names[2:4]], ["depthwise"], group=16, **threes),
        helper.make_node("Relu", ["depthwise"], ["relu2"]),
        helper.make_node("Conv", ["relu2", *names[4:6]], ["pointwise"], kernel_shape=[1, 1]),
        helper.make_node("Add", ["relu1", "pointwise"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["relu3"]),
        helper.make_node("MaxPool", ["relu3"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["pool", *names[6:8]], ["conv2"], **threes),
        helper.make_node("Relu", ["conv2"], ["relu4"]),
        helper.make_node("Flatten", ["relu4"], ["features"]),
        helper.make_node("Gemm", ["features", *names[8:10]], ["logits"], transB=1),
    ]
    for node in nodes:
        node.name = node.output[0]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(value, name) for name, value in zip(names, parameters, strict=True)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="tilewright")


def train(network: Layer, images: Array, labels: Array, rng: np.random.Generator, epochs: int = EPOCHS) -> None:
    """Adam with a step that falls to 0 as a cosine; the images are moved by up to a pixel each time they are shown."""
    mean = [np.zeros_like(parameter) for parameter in network.parameters]
    square = [np.zeros_like(parameter) for parameter in network.parameters]
    starts = range(0, len(labels) - BATCH + 1, BATCH)
    total = epochs * len(starts)
    count = 0
    for _ in range(epochs):
        order = rng.permutation(len(labels))
        for start in starts:
            chosen = order[start : start + BATCH]
            network.backward(loss_gradient(network.forward(moved(images[chosen], rng)), labels[chosen]))
            count += 1
            step = STEP * (1 + math.cos(math.pi * count / total)) / 2
            for parameter, gradient, m, v in zip(network.parameters, network.gradients, mean, square, strict=True):
                m += 0.1 * (gradient - m)
                v += 0.001 * (gradient**2 - v)
                change = (m / (1 - 0.9**count)) / (np.sqrt(v / (1 - 0.999**count)) + 1e-8)
                parameter -= step * (change + DECAY * parameter)


def moved(images: Array, rng: np.random.Generator) -> Array:
    shifts = rng.integers(-1, 2, (len(images), 2))
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.stack([image[:, 1 + y : 9 + y, 1 + x : 9 + x] for image, (y, x) in zip(padded, shifts, strict=True)])


def loss_gradient(logits: Array, labels: Array) -> Array:
    """Of the mean cross-entropy after softmax."""
    powers = np.exp(logits - logits.max(1, keepdims=True))
    gradient = powers / powers.sum(1, keepdims=True)
    gradient[np.arange(len(labels)), labels] -= 1
    return np.asarray(gradient / len(labels))


def accuracy(network: Layer, images: Array, labels: Array) -> float:
    return float((network.forward(images).argmax(1) == labels).mean())


if __name__ == "__main__":
    main()
