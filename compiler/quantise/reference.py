"""The results of the float model on some calibration data, and how far those of a quantised model are from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import onnx
from numpy.typing import NDArray

from compiler.frontend.model import Array, Model, TensorType, part_proto
from compiler.frontend.session import run_session, session
from compiler.quantise.equalise import PLAIN, Factors, multiplied
from compiler.quantise.noise import decibels
from compiler.quantise.statistics import Feeds

Float64 = NDArray[np.float64]
MOST_KEPT = 16
"""The most batches that are kept."""
MANY = 128
"""The number of values that count as many."""
MOST_DECIBELS = 60.0
"""The greatest decibels that count; better ones count as this."""


@dataclass
class Kept:
    """Batches from all over the calibration data, at equal distances, kept while the data passes by."""

    batches: list[Feeds] = field(default_factory=list)
    _stride: int = 1

    def passing(self, data: Iterable[Feeds]) -> Iterator[Feeds]:
        for index, feeds in enumerate(data):
            if index % self._stride == 0:
                if len(self.batches) == MOST_KEPT:
                    self.batches = self.batches[::2]
                    self._stride *= 2
                if index % self._stride == 0:
                    self.batches.append(feeds)
            yield feeds


@dataclass(frozen=True, eq=False)
class Reference:
    """The float results that quantised models are compared with: ``expected`` has those of each batch, by name."""

    model: Model
    feeds: Sequence[Feeds]
    compared: tuple[str, ...]
    expected: Sequence[Mapping[str, Array]]
    outputs: int
    """The number of outputs; they are the first of the compared tensors."""

    @classmethod
    def of(cls, model: Model, feeds: Sequence[Feeds], more: Sequence[str] = ()) -> Reference:
        """Runs the float model on the batches. ``more`` are tensors that are compared beside the outputs."""
        outputs = float_outputs(model)
        compared = tuple(dict.fromkeys((*outputs, *more)))
        loaded = session(showing(model, compared), optimised=True)
        return cls(model, feeds, compared, [run_session(loaded, each, compared) for each in feeds], len(outputs))

    def noise(self, quantised: Model, factors: Factors = PLAIN) -> list[float]:
        """The decibels of each compared tensor; the quantised model's channels are divided by ``factors``."""
        return self.noise_of(self.run(quantised), factors)

    def run(self, quantised: Model) -> list[Mapping[str, Array]]:
        """The compared tensors of a quantised model, batch after batch."""
        loaded = session(showing(quantised, self.compared))
        return [run_session(loaded, each, self.compared) for each in self.feeds]

    def noise_of(self, found: Iterable[Mapping[str, Array]], factors: Factors = PLAIN) -> list[float]:
        signal, error = dict.fromkeys(self.compared, 0.0), dict.fromkeys(self.compared, 0.0)
        for expected, values in zip(self.expected, found, strict=False):
            for name in self.compared:
                real = expected[name].astype(np.float64)
                signal[name] += float(np.square(real).sum())
                error[name] += float(np.square(multiplied(values[name], factors.get(name)) - real).sum())
        return [decibels(signal[name], error[name]) for name in self.compared]

    def score(self, quantised: Model, factors: Factors = PLAIN) -> float:
        """A weighted mean, in decibels, of the outputs' mean and the other tensors' mean: chance rules a few values.

        The outputs' share is one half when ``MANY`` of their values count, and almost nothing when few do. Other tensors with
        few values that count are left out, unless all have few.
        """
        noise = dict(zip(self.compared, self.noise(quantised, factors), strict=True))
        outputs, others = self.compared[: self.outputs], self.compared[self.outputs :]
        wide = [name for name in others if self._values(name) >= MANY] or others
        if not wide or not outputs:
            return mean_decibels([*noise.values()])
        count = sum(self._values(name) for name in outputs)
        share = count / (count + MANY)
        of_outputs, of_others = (mean_decibels([noise[name] for name in names]) for names in (outputs, wide))
        return share * of_outputs + (1 - share) * of_others

    def _values(self, name: str) -> float:
        """The number of values that count. In a softmax those count that are not next to zero."""
        squares = np.concatenate([np.square(each[name], dtype=np.float64).reshape(-1) for each in self.expected])
        return float(squares.sum() ** 2 / max(np.square(squares).sum(), 1e-300))


def mean_decibels(values: Sequence[float]) -> float:
    return sum(min(max(value, -MOST_DECIBELS), MOST_DECIBELS) for value in values) / max(len(values), 1)


def means_of(model: Model, feeds: Sequence[Feeds], bounds: Mapping[str, tuple[float, float]]) -> dict[str, Float64]:
    """The means by channel of the float model's tensors, after their values are clipped to the bounds."""
    loaded = session(showing(model, [*bounds]), optimised=True)
    sums = dict[str, Float64]()
    for each in feeds:
        for name, value in run_session(loaded, each, [*bounds]).items():
            mean = channel_means(np.clip(value, *bounds[name]))
            sums[name] = sums[name] + mean if name in sums else mean
    return {name: total / len(feeds) for name, total in sums.items()}


def channel_means(values: Array) -> Float64:
    """The means over all dimensions but the second."""
    return np.asarray(values.mean(axis=tuple(axis for axis in range(values.ndim) if axis != 1), dtype=np.float64))


def float_outputs(model: Model) -> tuple[str, ...]:
    """The float outputs. An output that counts or chooses is replaced by the float tensors that it is made from."""
    makers = model.producers()
    found: dict[str, None] = {}
    left, seen = list(model.outputs), set[str]()
    while left:
        name = left.pop(0)
        if name in seen or name in model.constants:
            continue
        seen.add(name)
        if model.elem(name) == onnx.TensorProto.FLOAT:
            found[name] = None
        elif name in makers:
            left += makers[name].reads()
    return tuple(name for name in found if name not in model.inputs)


def showing(model: Model, names: Sequence[str]) -> onnx.ModelProto:
    known = {name: model.types.get(name, TensorType(onnx.TensorProto.FLOAT, None)) for name in names}
    shown = replace(model, types={**model.types, **known})
    return part_proto(shown, shown.nodes, shown.inputs, list(dict.fromkeys(names)))
