"""Statistics of tensors from running the float model on calibration data: extremes, a sample, counts, channels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from compiler.frontend.model import Model, hollow_proto, large_constants
from compiler.frontend.session import RuntimeRefusal, run_session
from compiler.quantise.histogram import Histogram
from isa.errors import TilewrightError
from sim.campaign.cores import cores_allowed
from sim.runtime.sessions import make_session, onnxruntime

Array = NDArray[Any]
Feeds = Mapping[str, Array]
Progress = Callable[[str], None]

SAMPLES = 4096
"""The number of values that are kept of each tensor and batch."""
_SEED = 20190814


class CalibrationError(TilewrightError):
    """The calibration data or a choice does not fit the model."""


class CalibrationWarning(UserWarning):
    """The quantised model is not fit for use."""


@dataclass(frozen=True, eq=False)
class Channels:
    """The greatest distance from zero and the mean square of each channel (second dimension), over ``count`` values."""

    reach: NDArray[np.float64]
    squares: NDArray[np.float64]
    count: int

    def joined(self, other: Channels) -> Channels:
        count = self.count + other.count
        squares = (self.squares * self.count + other.squares * other.count) / count
        return Channels(np.maximum(self.reach, other.reach), squares, count)

    @classmethod
    def of(cls, values: Array) -> Channels | None:
        if values.ndim < 2 or not values.size:
            return None
        rows = values.reshape(*values.shape[:2], -1)
        reach = np.maximum(rows.max(axis=(0, 2)), -rows.min(axis=(0, 2))).astype(np.float64)
        count = values.size // values.shape[1]
        return cls(reach, np.vecdot(rows, rows).sum(axis=0, dtype=np.float64) / count, count)


Sampled = NDArray[np.int64] | None
"""The places of the values that are kept; None keeps all."""


def sampled(size: int, rng: np.random.Generator) -> Sampled:
    """The places that are kept of so many values."""
    return None if size <= SAMPLES else rng.integers(0, size, SAMPLES)


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of one tensor: least and greatest value, some values, counts of all values, and statistics by channel."""

    low: float
    high: float
    sample: NDArray[np.float32]
    histogram: Histogram
    channels: Channels | None = None

    def joined(self, other: Statistics) -> Statistics:
        """The statistics of both together. Channels of tensors with different numbers of them are left out."""
        a, b = self.channels, other.channels
        alike = a is not None and b is not None and a.reach.shape == b.reach.shape
        return Statistics(
            min(self.low, other.low), max(self.high, other.high), np.concatenate([self.sample, other.sample]),
            self.histogram.joined(other.histogram), a.joined(b) if alike and a is not None and b is not None else None,
        )  # fmt: skip

    @classmethod
    def of(cls, values: Array, sampled: Sampled) -> Statistics:
        flat = np.asarray(values, np.float32).reshape(-1)
        sample = flat if sampled is None else flat[sampled]
        low, high = float(flat.min(initial=0.0)), float(flat.max(initial=0.0))
        return cls(low, high, sample, Histogram.of(flat, max(-low, high)), Channels.of(np.asarray(values, np.float32)))

    @classmethod
    def of_range(cls, low: float, high: float) -> Statistics:
        """Statistics of a known range, as if values were spread evenly in it."""
        spread = np.linspace(low, high, 257, dtype=np.float32)
        return cls(low, high, spread, Histogram.of(spread))


Calibration = Mapping[str, Statistics]
"""Statistics by tensor."""


def random_data(model: Model) -> dict[str, Array]:
    """Seeded noise for every float input."""
    warnings.warn(
        "no calibration data: scales come from random noise, so the quantised model computes nothing of use; "
        "give real inputs (--calibrate data.npz) for anything but timing",
        CalibrationWarning,
        stacklevel=2,
    )
    return noise_for(model)


def noise_for(model: Model) -> dict[str, Array]:
    """Seeded noise for every float input, and zeros for all others."""
    rng = np.random.default_rng(_SEED)
    data: dict[str, Array] = {}
    for name in model.inputs:
        shape = model.shape(name) or ()
        if model.elem(name) == onnx.TensorProto.FLOAT:
            data[name] = rng.standard_normal(shape).astype(np.float32)
        else:
            data[name] = np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(model.elem(name)))
    return data


def batches(model: Model, data: Feeds) -> Iterator[dict[str, Array]]:
    """The data, cut to the sizes of the model; an incomplete last batch is left out.

    Samples follow each other along one dimension of an input, or along an extra first dimension. An input of the model's own
    shape is the same for all samples.
    """
    shapes = {name: model.shape(name) or () for name in model.inputs}
    missing = [name for name in shapes if name not in data]
    if missing:
        raise CalibrationError(f"calibration data: input {missing[0]} is missing; found {', '.join(data) or 'nothing'}")
    axes = {name: _axis_of_samples(name, data[name].shape, shape) for name, shape in shapes.items()}
    counts = [data[name].shape[0] if axis < 0 else data[name].shape[axis] // shapes[name][axis]
              for name, axis in axes.items() if axis is not None]  # fmt: skip
    for index in range(min(counts, default=1)):
        yield {
            name: _part(data[name], axes[name], shape, index).astype(onnx.helper.tensor_dtype_to_np_dtype(model.elem(name)))
            for name, shape in shapes.items()
        }


def _axis_of_samples(name: str, found: tuple[int, ...], shape: tuple[int, ...]) -> int | None:
    """The dimension along which samples lie; -1 for an extra first dimension; None if there is one sample."""
    if found == shape:
        return None
    if found[1:] == shape and found[:1] > (0,):
        return -1
    others = [axis for axis, size in enumerate(shape) if len(found) == len(shape) and found[axis] != size]
    # A dimension other than the first may hold samples only if it is 1: 224 columns are no samples of the 448 that were given.
    if len(others) != 1 or found[others[0]] < shape[others[0]] or (others[0] and shape[others[0]] > 1):
        usual = ", ".join(map(str, shape[1:]))
        raise CalibrationError(
            f"calibration data: input {name} has shape {found}, (samples, {usual}) is expected, or samples of {shape} along a "
            "dimension of one"
        )
    return others[0]


def _part(values: Array, axis: int | None, shape: tuple[int, ...], index: int) -> Array:
    if axis is None:
        return values
    if axis < 0:
        return np.asarray(values[index])
    return values[(slice(None),) * axis + (slice(index * shape[axis], (index + 1) * shape[axis]),)]


def collected(
    model: Model, names: Sequence[str], data: Iterable[Feeds], progress: Progress | None = None
) -> dict[str, Statistics]:
    """Statistics of these tensors over all batches."""
    rng = np.random.default_rng(_SEED)
    outputs = [name for name in names if name not in model.inputs]
    options = onnxruntime.SessionOptions()
    # All activations at once take most of a compilation's memory. Without an arena it is given back.
    options.enable_cpu_mem_arena = False
    # Only a few batches are run: packing the weights takes longer than it saves.
    options.add_session_config_entry("session.disable_prepacking", "1")
    proto = hollow_proto(model, outputs or model.outputs)
    large = {name: np.ascontiguousarray(value) for name, value in large_constants(model).items()}
    try:
        given = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in large.values()]
        options.add_external_initializers([*large], given)
        session = make_session(proto.SerializeToString(), options)
    except Exception as error:  # onnxruntime's exceptions have no common base but this
        raise RuntimeRefusal(f"onnxruntime cannot load the float model: {' '.join(str(error).split())[:300]}") from None
    found: dict[str, Statistics] = {}
    with ThreadPoolExecutor(cores_allowed()) as pool:
        for index, feeds in enumerate(data):
            values = {**(run_session(session, feeds, outputs) if outputs else {}), **feeds}

            def looked_at(name: str, places: Sampled, batch: int = index, values: Feeds = values) -> Statistics:
                _check_finite(model, name, values[name], batch)
                return Statistics.of(values[name], places)

            # The places are drawn one after the other, so that they do not depend on the number of threads.
            drawn = [sampled(values[name].size, rng) for name in names]
            for name, one in zip(names, pool.map(looked_at, names, drawn), strict=True):
                found[name] = found[name].joined(one) if name in found else one
            if progress:
                progress(f"calibrated on batch {index + 1}")
    if not found and names:
        raise CalibrationError("calibration data: holds no whole batch; give at least one sample for each input")
    return found


def _check_finite(model: Model, name: str, value: Array, batch: int) -> None:
    if np.isfinite(value).all():
        return
    maker = model.producers().get(name)
    source = f"node {maker.name}: its result {name}" if maker is not None else f"calibration data: input {name}"
    found = "NaN" if np.isnan(value).any() else "infinity"
    remedy = "look for what overflows in the float model" if maker is not None else "remove such samples"
    raise CalibrationError(f"{source} holds {found} on batch {batch + 1}, finite numbers are expected; {remedy}")
