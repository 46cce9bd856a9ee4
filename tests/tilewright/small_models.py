"""Networks of a few nodes, as files."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.idle import NothingOnMachine
from isa.program import Program
from tilewright.compiling import compile_model, validated
from tilewright.noise import measure_noise, with_noise

INPUT_SHAPE = (1, 3, 6, 6)


def float_model() -> onnx.ModelProto:
    """Convolution, ReLU, pool, and a Softmax, which the machine has not."""
    rng = np.random.default_rng(0)
    weights = rng.normal(0, 0.3, (5, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["conv"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv"], ["relu"], "relu"),
        helper.make_node("MaxPool", ["relu"], ["pool"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Softmax", ["pool"], ["answer"], "softmax", axis=1),
    ]
    return _model(nodes, INPUT_SHAPE, (1, 5, 3, 3), [numpy_helper.from_array(weights, "w")])


def chain_model(count: int) -> onnx.ModelProto:
    """Convolutions of a pixel each, one behind the other."""
    rng = np.random.default_rng(0)
    names = ["image", *(f"conv{number}" for number in range(1, count)), "answer"]
    weights = [rng.normal(0, 0.3, (3, 3, 1, 1)).astype(np.float32) for _ in range(count)]
    nodes = [
        helper.make_node("Conv", [before, f"w{number}"], [after], f"node{number}")
        for number, (before, after) in enumerate(pairwise(names))
    ]
    constants = [numpy_helper.from_array(value, f"w{number}") for number, value in enumerate(weights)]
    return _model(nodes, INPUT_SHAPE, INPUT_SHAPE, constants)


def alternating_model() -> onnx.ModelProto:
    """Convolution, Hardmax, convolution, Hardmax, convolution."""
    weights = np.random.default_rng(0).normal(0, 0.3, (3, 3, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["a"], "first", pads=[1, 1, 1, 1]),
        helper.make_node("Hardmax", ["a"], ["b"], "odd", axis=1),
        helper.make_node("Conv", ["b", "w"], ["c"], "second", pads=[1, 1, 1, 1]),
        helper.make_node("Hardmax", ["c"], ["d"], "odder", axis=1),
        helper.make_node("Conv", ["d", "w"], ["answer"], "third", pads=[1, 1, 1, 1]),
    ]
    return _model(nodes, INPUT_SHAPE, INPUT_SHAPE, [numpy_helper.from_array(weights, "w")])


def hosted_model() -> onnx.ModelProto:
    """A Softmax: nothing for the machine."""
    return _model([helper.make_node("Softmax", ["image"], ["answer"], "softmax", axis=1)], INPUT_SHAPE, INPUT_SHAPE, [])


def hosted_program() -> Program:
    """Of ``hosted_model``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingOnMachine)
        return compile_model(hosted_model(), "base", calibration={"image": images(8)}, cache=False).program


def judged_program(config: str) -> Program:
    """Of ``float_model``, with what was measured on labelled inputs."""
    found = compile_model(float_model(), config, calibration={"image": images(8)}, strategy="naive", cache=False)
    data = {"image": images(4, seed=1), "labels": np.arange(4)}
    return with_noise(found, measure_noise(found, data), str(validated(found, data))).program


def odd_model() -> onnx.ModelProto:
    """A node that nobody knows."""
    return _model([helper.make_node("Frobnicate", ["image"], ["answer"], "odd")], INPUT_SHAPE, INPUT_SHAPE, [])


def _model(
    nodes: list[onnx.NodeProto], given: tuple[int, ...], made: tuple[int, ...], constants: list[onnx.TensorProto]
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, given)],
        [helper.make_tensor_value_info("answer", TensorProto.FLOAT, made)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def images(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, *INPUT_SHAPE[1:])).astype(np.float32)


def write_small_files(folder: Path) -> None:
    """``model.onnx``, ``calibration.npz`` and ``image.npz``."""
    (folder / "model.onnx").write_bytes(float_model().SerializeToString())
    np.savez(folder / "calibration.npz", image=images(8))
    np.savez(folder / "image.npz", image=images(1, seed=1))


def work_beside_small_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder that holds them, with a cache of its own."""
    write_small_files(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))


def pictures(folder: Path, *sizes: tuple[int, int]) -> Path:
    """PNG files whose middle is white and whose margin is black."""
    from PIL import Image

    folder.mkdir()
    for number, (height, width) in enumerate(sizes):
        pixels = np.zeros((height, width, 3), np.uint8)
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        pixels[top : top + side, left : left + side] = (255, 0, 51)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder
