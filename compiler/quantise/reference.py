"""What the float model makes of some of the calibration data, and how far what a quantised model makes of them is from it."""

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
"""Batches."""
MANY = 128
"""Values that count."""
MOST_DECIBELS = 60.0
"""What is better than that counts as this."""


@dataclass
class Kept:
    """Batches from all over the calibration data, evenly apart, kept while they pass by."""

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
    """``expected``: for each batch the float ``model``'s compared tensors, by name."""

    model: Model
    feeds: Sequence[Feeds]
    compared: tuple[str, ...]
    expected: Sequence[Mapping[str, Array]]
    outputs: int
    """The first of what is compared."""

    @classmethod
    def of(cls, model: Model, feeds: Sequence[Feeds], more: Sequence[str] = ()) -> Reference:
        """``more``: tensors that are compared beside the outputs."""
        outputs = float_outputs(model)
        compared = tuple(dict.fromkeys((*outputs, *more)))
        loaded = session(showing(model, compared), optimised=True)
        return cls(model, feeds, compared, [run_session(loaded, each, compared) for each in feeds], len(outputs))

    def noise(self, quantised: Model, factors: Factors = PLAIN) -> list[float]:
        """Decibels of each compared tensor; ``factors``: what channels of the quantised model's tensors are divided by."""
        return self.noise_of(self.run(quantised), factors)

    def run(self, quantised: Model) -> list[Mapping[str, Array]]:
        """Its compared tensors, batch after batch."""
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
        """The mean over the outputs and that over the other tensors, in decibels: a few values are ruled by chance.

        The outputs have a share of one half when as many of their values count as are many, of next to nothing when few do;
        other tensors of few values count only where there are none of many.
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
        """That count: of a softmax those that are not next to zero."""
        squares = np.concatenate([np.square(each[name], dtype=np.float64).reshape(-1) for each in self.expected])
        return float(squares.sum() ** 2 / max(np.square(squares).sum(), 1e-300))


def mean_decibels(values: Sequence[float]) -> float:
    return sum(min(max(value, -MOST_DECIBELS), MOST_DECIBELS) for value in values) / max(len(values), 1)


def means_of(model: Model, feeds: Sequence[Feeds], bounds: Mapping[str, tuple[float, float]]) -> dict[str, Float64]:
    """By channel of the float model's tensors, of which only what is within the bounds counts."""
    loaded = session(showing(model, [*bounds]), optimised=True)
    sums = dict[str, Float64]()
    for each in feeds:
        for name, value in run_session(loaded, each, [*bounds]).items():
            mean = channel_means(np.clip(value, *bounds[name]))
            sums[name] = sums[name] + mean if name in sums else mean
    return {name: total / len(feeds) for name, total in sums.items()}


def channel_means(values: Array) -> Float64:
    """Over all dimensions but the second."""
    return np.asarray(values.mean(axis=tuple(axis for axis in range(values.ndim) if axis != 1), dtype=np.float64))


def float_outputs(model: Model) -> tuple[str, ...]:
    """The float outputs; in place of one that counts or chooses, the float tensors that it is made from."""
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
