"""Calibration data in any form: arrays, an iterator, an NPZ or NumPy file, a folder of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray

from compiler.frontend.reader import load
from compiler.quantise.arrays import NUMBERS, read_arrays
from isa.errors import TilewrightError
from tilewright.images import Images

Array: TypeAlias = NDArray[Any]
Calibration: TypeAlias = "Mapping[str, Array] | Array | Iterable[Array | Mapping[str, Array]] | str | Path | Images"
"""The inputs by name, the first dimension counting samples. Also one array for a model with one input, batches of either, a
file, or a folder of images."""
Inputs = Callable[[], Mapping[str, tuple[int, ...]]]
"""A function that gives names and shapes of the model's float inputs, with 0 for an open size. It is called only when they are
needed."""


def arrays_of(calibration: Calibration, inputs: Inputs) -> dict[str, Array]:
    """The calibration data as arrays by name."""
    if isinstance(calibration, Images):
        name, shape = only(inputs(), "images")
        return {name: calibration.arrays(shape)}
    if isinstance(calibration, str | Path):
        return _of_path(Path(calibration), inputs)
    if isinstance(calibration, Mapping):
        return {name: np.asarray(value) for name, value in calibration.items()}
    if isinstance(calibration, np.ndarray):
        return {only(inputs(), "one array")[0]: calibration}
    if not isinstance(calibration, Iterable):
        expected = "arrays by name, one array, an iterator of either, a file, or a folder of images"
        raise TilewrightError(f"calibration of type {type(calibration).__name__}: expected {expected}")
    return _joined([_batch(number, each, inputs) for number, each in enumerate(calibration)])


def _of_path(path: Path, inputs: Inputs) -> dict[str, Array]:
    if path.is_dir():
        return arrays_of(Images(path), inputs)
    if path.suffix.lower() != ".npy":
        return read_arrays(path)
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise TilewrightError(f"{path}: not a NumPy file: {error}") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in NUMBERS:
        raise TilewrightError(f"{path}: no array of numbers; expected a NumPy file of one input")
    return {only(inputs(), str(path))[0]: array}


def _batch(number: int, batch: object, inputs: Inputs) -> dict[str, Array]:
    if isinstance(batch, Mapping):
        return {name: np.asarray(value) for name, value in batch.items()}
    if isinstance(batch, np.ndarray):
        return {only(inputs(), f"calibration batch {number}")[0]: batch}
    raise TilewrightError(f"calibration batch {number} of type {type(batch).__name__}: expected an array, or arrays by name")


def _joined(batches: list[dict[str, Array]]) -> dict[str, Array]:
    if not batches:
        raise TilewrightError("calibration: the iterator gives nothing; expected at least one batch")
    for number, batch in enumerate(batches):
        if batch.keys() != batches[0].keys():
            raise TilewrightError(
                f"calibration batch {number}: holds {', '.join(batch)}; expected {', '.join(batches[0])} like the first"
            )
    try:
        return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
    except ValueError as error:
        raise TilewrightError(f"calibration: batches do not go together: {error}") from None


def only(inputs: Mapping[str, tuple[int, ...]], what: str) -> tuple[str, tuple[int, ...]]:
    """The one input that data without a name is for."""
    if len(inputs) != 1:
        raise TilewrightError(f"{what}: the model has {len(inputs)} inputs ({', '.join(inputs)}); expected arrays by name")
    return next(iter(inputs.items()))


def float_shapes(source: Path | str | onnx.ModelProto, given: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """The float inputs of a model. Open sizes are 0 unless they are given."""
    graph = load(source).graph
    constants = {tensor.name for tensor in graph.initializer}
    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)
    return {
        value.name: tuple(given.get(value.name) or (dim.dim_value for dim in value.type.tensor_type.shape.dim))
        for value in graph.input
        if value.name not in constants and value.type.tensor_type.elem_type in floats
    }
