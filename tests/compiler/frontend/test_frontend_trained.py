"""Trained networks and labelled inputs, where the folder with them lies beside the project."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from compiler.frontend.pipeline import ImportedModel, import_model
from compiler.frontend.session import run
from compiler.quantise.accuracy import accuracy
from compiler.quantise.choices import Choices
from tests.compiler.frontend.png_picture import read_rgba
from tests.compiler.frontend.quantised_models import (
    check_counted,
    check_exact,
    feeds_of,
    host_operators,
    imported,
    local_differences,
)
from tests.compiler.host import HostExecutor
from tests.e2e.trained import labelled, trained

Array = NDArray[Any]


def answers(found: ImportedModel, feeds: dict[str, Array]) -> list[int]:
    """Top-1 of a whole batch."""
    output = found.oracle.graph.output[0].name
    result = HostExecutor(found.graph, found.inputs, found.outputs).run(feeds)[output]
    assert (result.argmax(axis=1) == run(found.oracle, feeds)[output].argmax(axis=1)).all()
    return [int(answer) for answer in result.argmax(axis=1)]


def right(found: list[int], labels: Array) -> int:
    return sum(int(a == b) for a, b in zip(found, labels, strict=True))


def test_resnet8_int8_gets_86_of_100() -> None:
    images, labels = labelled("cifar10_100.npz")
    feeds = {"input_1_int8": (images.astype(np.int16) - 128).astype(np.int8)}
    assert right(answers(import_model(trained("resnet8_int8_qdq.onnx"), batch=100), feeds), labels) == 86


def test_mobilenet_v2_names_the_orange() -> None:
    found = import_model(trained("mobilenet_v2_qlinear.onnx"))
    picture = read_rgba(trained("mobilenet_v2_orange.png"))[..., :3].astype(np.float32) / 127.5 - 1
    feeds = {"input": np.ascontiguousarray(picture.transpose(2, 0, 1)[None])}
    assert answers(found, feeds) == [951]
    assert host_operators(found) == set()
    assert set(found.reasons) == {"input_QuantizeLinear", "output_DequantizeLinear"}


INT8 = ("kws_dscnn_int8_qdq", "vww_mobilenet_int8_qdq", "ad_autoencoder_int8_qdq", "resnet8_int8_qdq", "mobilenet_v2_qlinear")


@pytest.mark.parametrize("name", INT8)
def test_operations_of_int8_networks_differ_rarely_and_by_one(name: str) -> None:
    found = import_model(trained(f"{name}.onnx"))
    differ, elements, most = local_differences(found, feeds_of(found))
    assert most <= 1
    assert differ * 10_000 <= elements
    assert host_operators(found) <= {"Softmax"}


@pytest.mark.parametrize("name", ["kws_dscnn_float", "vww_mobilenet_float", "resnet8_float", "mnist_float"])
def test_float_networks_agree_in_every_bit_with_power_of_two_scales(name: str) -> None:
    found = imported_file(name, "power_of_two")
    check_exact(found, seeds=1)
    assert host_operators(found) <= {"Softmax"}


@pytest.mark.parametrize("name", ["kws_dscnn_float", "resnet8_float"])
def test_float_networks_are_counted_with_free_scales(name: str) -> None:
    check_counted(imported_file(name, "free"), most=4)


def imported_file(name: str, scheme: str) -> ImportedModel:
    return imported(onnx.load(trained(f"{name}.onnx")), scheme)


@pytest.mark.parametrize(("scheme", "least"), [("power_of_two", 86), ("free", 85)])
def test_quantised_resnet8_stays_near_its_float_accuracy(scheme: str, least: int) -> None:
    images, labels = labelled("cifar10_100.npz")
    data = {"input_1": images.astype(np.float32)}
    found = import_model(trained("resnet8_float.onnx"), calibration={"input_1": data["input_1"][:20]}, choices=Choices(scheme))
    assert found.float_model is not None
    assert found.quantised_model is not None
    report = accuracy(found.float_model, found.quantised_model, data, labels)
    assert report.float_right == 88
    assert report.quantised_right >= least
    assert str(report).startswith("100 samples: float 88 right, quantised ")


@pytest.mark.parametrize("scheme", ["power_of_two", "free"])
def test_quantised_mnist_reads_digits(scheme: str) -> None:
    images, labels = labelled("mnist_100.npz")
    data = {"Input3": images.astype(np.float32).reshape(-1, 1, 28, 28)}
    calibration = {"Input3": data["Input3"][:20]}
    found = import_model(trained("mnist_float.onnx"), calibration=calibration, choices=Choices(scheme))
    assert right([a for image in data["Input3"][:8] for a in answers(found, {"Input3": image[None]})], labels[:8]) == 8
