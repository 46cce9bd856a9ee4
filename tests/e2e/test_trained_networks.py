"""Trained networks answer on the machine as they do in onnxruntime, and are right as often."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.png import read_png
from tests.e2e.network_runs import answers, compiled, differing
from tests.e2e.trained import labelled, trained

DIGITS = Path(__file__).parents[2] / "demo"
QUANTISED = (
    "ad_autoencoder_int8_qdq.onnx",
    "kws_dscnn_int8_qdq.onnx",
    "resnet8_int8_qdq.onnx",
    "vww_mobilenet_int8_qdq.onnx",
)
FLOAT = ("kws_dscnn_float.onnx", "mnist_float.onnx", "resnet8_float.onnx", "vww_mobilenet_float.onnx")


@pytest.mark.parametrize("name", QUANTISED)
@pytest.mark.parametrize("strategy", [pytest.param("naive", marks=pytest.mark.slow), "best"])
def test_quantised_network_is_onnxruntime_in_every_bit(name: str, strategy: str) -> None:
    assert differing(compiled(trained(name), strategy=strategy).program) == 0


@pytest.mark.parametrize("name", FLOAT)
def test_float_network_with_power_of_two_scales_is_onnxruntime_in_every_bit(name: str) -> None:
    assert differing(compiled(trained(name)).program) == 0


def test_resnet8_int8_reads_86_of_100_pictures() -> None:
    images, labels = labelled("cifar10_100.npz")
    pixels = (images.astype(np.int16) - 128).astype(np.int8)
    program = compiled(trained("resnet8_int8_qdq.onnx")).program
    assert int((answers(program, pixels) == labels).sum()) == 86


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["power_of_two", "free"])
def test_resnet8_quantised_here_reads_as_many_pictures_as_in_float(scheme: str) -> None:
    """88 in float."""
    images, labels = labelled("cifar10_100.npz")
    pixels = images.astype(np.float32)
    found = compiled(trained("resnet8_float.onnx"), calibration={"input_1": pixels}, scheme=scheme)
    assert abs(int((answers(found.program, pixels) == labels).sum()) - 88) <= 2


@pytest.mark.parametrize(("scheme", "right"), [("power_of_two", 98), ("free", 99)])
def test_mnist_quantised_here_reads_digits_as_in_float_or_all_but_one(scheme: str, right: int) -> None:
    """99 of 100 in float."""
    images, labels = labelled("mnist_100.npz")
    pixels = images.astype(np.float32).reshape(-1, 1, 28, 28)
    found = compiled(trained("mnist_float.onnx"), calibration={"Input3": pixels}, scheme=scheme)
    assert int((answers(found.program, pixels) == labels).sum()) == right


def test_mobilenet_v2_sees_the_orange() -> None:
    """Pixels from -1 to 1, as the model's own repository feeds it: then onnxruntime answers 951."""
    picture = read_png(trained("mobilenet_v2_orange.png"))[..., :3]
    pixels = (picture.astype(np.float32) / np.float32(127.5) - 1).transpose(2, 0, 1)[None]
    program = compiled(trained("mobilenet_v2_qlinear.onnx")).program
    feeds = {"input": np.ascontiguousarray(pixels)}
    assert answers(program, feeds["input"]).tolist() == [951]
    assert differing(program, feeds) == 0


@pytest.mark.parametrize("scheme", ["power_of_two", "free"])
def test_the_demo_reads_the_held_out_digits(scheme: str) -> None:
    held_out = np.load(DIGITS / "digits_test.npz")
    images, labels = held_out["image"][:100], held_out["labels"][:100]
    found = compiled(DIGITS / "digits.onnx", calibration={"image": images}, scheme=scheme)
    assert int((answers(found.program, images) == labels).sum()) >= 96
