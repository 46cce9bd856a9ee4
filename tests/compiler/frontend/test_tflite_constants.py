"""Weights that TFLite files keep in float16, in int8 or without their zeros, and values that are made of shapes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
import tflite
from numpy.typing import NDArray

from compiler.frontend.errors import ModelError
from compiler.frontend.pipeline import import_model
from compiler.frontend.reader import load, read
from compiler.frontend.session import run
from compiler.frontend.tflite.sparse import dense
from compiler.xgraph.ops import Cpu
from tests.compiler.frontend.test_tflite_operators import RNG, SAME, check
from tests.compiler.frontend.tflite_models import Lite

Array = NDArray[Any]
IMAGE = (1, 6, 8, 4)


def convolved(lite: Lite, x: int, weights: int) -> int:
    y = lite.tensor("y", (1, 6, 8, 5), "float32")
    bias = lite.tensor("bias", [5], "float32", data=np.zeros(5))
    lite.op("CONV_2D", [x, weights, bias], [y], "Conv2DOptions", Padding=SAME, StrideH=1, StrideW=1)
    return y


@pytest.mark.parametrize("kind", ["float16", "int8"])
def test_weights_are_dequantised_when_the_file_is_read(kind: str) -> None:
    lite = Lite()
    x, made = lite.tensor("x", IMAGE, "float32"), lite.tensor("made", (5, 3, 3, 4), "float32")
    half = {"dtype": "float16", "data": RNG.normal(0, 0.3, (5, 3, 3, 4))}
    whole = {"scale": np.linspace(0.01, 0.02, 5), "data": RNG.integers(-127, 128, (5, 3, 3, 4))}
    stored = lite.tensor("stored", (5, 3, 3, 4), **(half if kind == "float16" else whole))
    lite.op("DEQUANTIZE", [stored], [made])
    y = convolved(lite, x, made)
    data = lite.model([x], [y])
    model = read(data)
    assert [node.op_type for node in model.nodes if node.op_type not in ("Transpose", "Identity")] == ["Conv"]
    check(lite_again(data), [x], [y], {"x": RNG.normal(size=IMAGE).astype(np.float32)})
    found = import_model(data, calibration={"x": RNG.normal(size=IMAGE).astype(np.float32)})
    assert [type(op) for op in found.graph.ops].count(Cpu) == 2, "the borders alone are on the CPU"


class Written(Lite):
    """A file that is there already."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def model(self, inputs: Any, outputs: Any, more: int = 0) -> bytes:
        return self.data


def lite_again(data: bytes) -> Lite:
    return Written(data)


class Level:
    """A dimension's description, as the format's own object gives it."""

    def __init__(self, size: int = 0, segments: Array | None = None, indices: Array | None = None) -> None:
        self.size, self.vectors = size, {"ArraySegments": segments, "ArrayIndices": indices}

    def Format(self) -> int:
        return 0 if self.vectors["ArraySegments"] is None else 1

    def DenseSize(self) -> int:
        return self.size


class Sparsity:
    def __init__(self, order: list[int], blocks: list[int], levels: list[Level]) -> None:
        self.order, self.blocks, self.levels = order, blocks, levels

    def TraversalOrderAsNumpy(self) -> Array:
        return np.array(self.order)

    def BlockMapAsNumpy(self) -> Array:
        return np.array(self.blocks)

    def BlockMapLength(self) -> int:
        return len(self.blocks)

    def DimMetadata(self, level: int) -> Level:
        return self.levels[level]


def csr(values: Array) -> tuple[Level, Array]:
    """The last dimension of a matrix by the places of what is not 0."""
    rows, columns = np.nonzero(values)
    return Level(0, np.searchsorted(rows, np.arange(len(values) + 1)), columns), values[rows, columns]


@pytest.mark.parametrize("turned", [False, True])
def test_sparse_rows(turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compiler.frontend.tflite.sparse._vector", lambda _lite, told, name: told.vectors[name])
    matrix = RNG.integers(-3, 4, (6, 8)) * RNG.integers(0, 2, (6, 8))
    level, stored = csr(matrix.T if turned else matrix)
    order = [1, 0] if turned else [0, 1]
    sparsity = Sparsity(order, [], [Level(matrix.shape[order[0]]), level])
    assert np.array_equal(dense(tflite, sparsity, stored, matrix.shape), matrix)


def test_sparse_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 1 x 4 of which some are there, as kernels for vectors ask for."""
    monkeypatch.setattr("compiler.frontend.tflite.sparse._vector", lambda _lite, told, name: told.vectors[name])
    kept = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])
    matrix = np.kron(kept, np.ones((1, 4), int)) * RNG.integers(1, 9, (3, 12))
    level, _ = csr(kept)
    sparsity = Sparsity([0, 1, 2], [1], [Level(3), level, Level(4)])
    stored = matrix.reshape(3, 3, 4)[np.nonzero(kept)].reshape(-1)
    assert np.array_equal(dense(tflite, sparsity, stored, matrix.shape), matrix)


def test_shapes_and_what_is_made_of_them() -> None:
    """As Keras reshapes with a free batch: SHAPE, a slice of it, PACK."""
    lite = Lite()
    x, y = lite.tensor("x", IMAGE, "float32"), lite.tensor("y", (1, 48, 4), "float32")
    shape, batch, target = (lite.tensor(n, s, "int32") for n, s in (("shape", [4]), ("batch", []), ("target", [3])))
    bounds = [lite.tensor(f"b{n}", [1], "int32", data=np.array([n])) for n in (0, 1, 1)]
    sizes = [lite.tensor(f"s{n}", [], "int32", data=np.array(n)) for n in (48, 4)]
    lite.op("SHAPE", [x], [shape], "ShapeOptions", OutType=tflite.TensorType.INT32)
    lite.op("STRIDED_SLICE", [shape, *bounds], [batch], "StridedSliceOptions", ShrinkAxisMask=1)
    lite.op("PACK", [batch, *sizes], [target], "PackOptions", ValuesCount=3)
    lite.op("RESHAPE", [x, target], [y], "ReshapeOptions")
    check(lite, [x], [y], {"x": RNG.normal(size=IMAGE).astype(np.float32)})


@pytest.mark.parametrize("kind", ["EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL"])
def test_comparisons_and_choices(kind: str) -> None:
    lite = Lite()
    x, y = lite.tensor("x", (3, 5), "float32"), lite.tensor("y", (3, 5), "float32")
    zero = lite.tensor("zero", [1], "float32", data=np.zeros(1))
    flag = lite.tensor("flag", (3, 5), "bool")
    lite.op(kind, [x, zero], [flag])
    lite.op("SELECT_V2", [flag, x, zero], [y])
    check(lite, [x], [y], {"x": RNG.integers(-2, 3, (3, 5)).astype(np.float32)})


@pytest.mark.parametrize(("kind", "counts", "shape"), [("TILE", [3, 2], (3, 8)), ("BROADCAST_TO", [5, 1, 4], (5, 1, 4))])
def test_repetition(kind: str, counts: list[int], shape: tuple[int, ...]) -> None:
    lite = Lite()
    x, y = lite.tensor("x", (1, 4), "float32"), lite.tensor("y", shape, "float32")
    lite.op(kind, [x, lite.tensor("counts", [len(counts)], "int32", data=np.array(counts))], [y])
    value = RNG.normal(size=(1, 4)).astype(np.float32)
    expected = np.tile(value, counts) if kind == "TILE" else np.broadcast_to(value, counts)
    assert np.array_equal(run(load(lite.model([x], [y])), {"x": value})["y"], expected)


def test_sparse_weights_are_dense_when_the_file_is_read() -> None:
    lite = Lite()
    matrix = RNG.integers(-3, 4, (6, 8)) * RNG.integers(0, 2, (6, 8)).astype(np.float32)
    rows, columns = np.nonzero(matrix)
    places = np.searchsorted(rows, np.arange(7)), columns
    x, y, made = lite.tensor("x", (1, 8), "float32"), lite.tensor("y", (1, 6), "float32"), lite.tensor("w", (6, 8), "float32")
    stored = lite.tensor("stored", (6, 8), "float32", data=matrix[rows, columns], places=places)
    lite.op("DENSIFY", [stored], [made])
    lite.op("FULLY_CONNECTED", [x, made], [y], "FullyConnectedOptions")
    value = RNG.normal(size=(1, 8)).astype(np.float32)
    assert np.allclose(run(load(lite.model([x], [y])), {"x": value})["y"], value @ matrix.T, atol=1e-5)


def test_what_depends_on_the_input_is_named() -> None:
    lite = Lite()
    x, y = lite.tensor("x", [2], "int32"), lite.tensor("y", (3, 2), "float32")
    one = lite.tensor("one", (1, 1), "float32", data=np.ones((1, 1)))
    lite.op("TILE", [one, x], [y])
    with pytest.raises(ModelError, match="counts x depends on what the model is run with"):
        load(lite.model([x], [y]))


@pytest.mark.parametrize("same", [True, False])
def test_a_transposed_convolution_of_mediapipe(same: bool) -> None:
    """Beside TFLite's own, which reads the shape of its result first."""
    size = (12, 16) if same else (13, 17)
    weights, bias = RNG.normal(0, 0.3, (3, 3, 3, 4)), RNG.normal(size=3)

    def model(custom: bool) -> bytes:
        lite = Lite()
        x, y = lite.tensor("x", IMAGE, "float32"), lite.tensor("y", (1, *size, 3), "float32")
        w = lite.tensor("w", weights.shape, "float32", data=weights)
        b = lite.tensor("b", [3], "float32", data=bias)
        if custom:
            lite.custom("Convolution2DTransposeBias", [x, w, b], [y], struct.pack("<3i", 1 if same else 2, 2, 2))
        else:
            shape = lite.tensor("shape", [4], "int32", data=np.array([1, *size, 3]))
            lite.op(
                "TRANSPOSE_CONV", [shape, w, x, b], [y], "TransposeConvOptions", Padding=0 if same else 1, StrideH=2, StrideW=2
            )
        return lite.model([x], [y])

    feeds = {"x": RNG.normal(size=IMAGE).astype(np.float32)}
    theirs, mine = (run(load(model(custom)), feeds)["y"] for custom in (False, True))
    assert np.array_equal(mine, theirs)


def test_an_operator_of_somebody_else_is_refused_by_its_name() -> None:
    lite = Lite()
    x, y = lite.tensor("x", [4], "float32"), lite.tensor("y", [4], "float32")
    lite.custom("Landmarks", [x], [y], b"")
    with pytest.raises(ModelError, match="operator Landmarks, which makes y, is not the format's own"):
        load(lite.model([x], [y]))
