"""What random networks are made of: layers that draw their own numbers, and take their inputs from whatever maps there are."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from compiler.zoo.moments import Moments
from compiler.zoo.network import Value
from compiler.zoo.squeeze import GatedNetwork

MOST_CHANNELS, MOST_PIXELS = 48, 4000
_Found = TypeVar("_Found", Value, Value | None)
Made = Value | tuple[Value, ...] | None
"""None: the layer does not fit here."""


@dataclass(frozen=True)
class Layer:
    kind: str
    seed: int


class AnyNetwork(GatedNetwork):
    """A network to which any operator can be added, of the operator set that it is made for."""

    def __init__(self, name: str, seed: int, opset: int) -> None:
        super().__init__(name, seed)
        self.opset = opset
        self._model.opset_import[0].version = opset

    def op(
        self, kind: str, inputs: tuple[Value, ...] | Value, shape: tuple[int, ...] | None = None, *constants: Any,
        result: Moments | None = None, **attributes: Any,
    ) -> Value:  # fmt: skip
        """One node; ``constants`` (arrays, None for one that is left out) are its last inputs, in float unless int64."""
        values = (inputs,) if isinstance(inputs, Value) else inputs
        names = ["" if value is None else self._constant(f"c{n}", _array(value)) for n, value in enumerate(constants)]
        return self._node(kind, values, shape or values[0].shape, result or values[0].moments, names, **attributes)

    def reduced(self, kind: str, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
        """The axes are an attribute until they become an input."""
        shape = tuple(1 if n in axes else size for n, size in enumerate(x.shape) if keepdims or n not in axes)
        if self.opset >= (13 if kind == "ReduceSum" else 18):
            return self.op(kind, x, shape, np.array(axes, np.int64), keepdims=int(keepdims))
        return self.op(kind, x, shape, axes=list(axes), keepdims=int(keepdims))


def _array(value: Any) -> NDArray[Any]:
    array = np.asarray(value)
    return array if array.dtype == np.int64 else array.astype(np.float32)


@dataclass(frozen=True)
class Maps:
    """What layers choose from; ``read`` remembers what was chosen."""

    rng: random.Random
    values: tuple[Value, ...]
    read: set[str]

    def one(self) -> Value:
        """A map of four dimensions, late ones more often."""
        maps = [value for value in self.values if len(value.shape) == 4]
        return self._note(maps[-1 - int(len(maps) * self.rng.random() ** 2)])

    def like(self, x: Value) -> Value | None:
        """Another map of the same shape."""
        others = [value for value in self.values if value.shape == x.shape and value.name != x.name]
        return self._note(self.rng.choice(others) if others else None)

    def beside(self, x: Value) -> Value | None:
        """Another map of the same size."""
        others = [v for v in self.values if len(v.shape) == 4 and v.size == x.size and v.name != x.name]
        return self._note(self.rng.choice(others) if others else None)

    def _note(self, value: _Found) -> _Found:
        if value is not None:
            self.read.add(value.name)
        return value


Maker = Callable[[AnyNetwork, Maps], Made]
MAKERS: dict[str, Maker] = {}
LEAST_OPSET: dict[str, int] = {}
"""Layers of operators that are younger than ``OPSET``."""
ALSO_OLD: set[str] = set()
"""Layers whose operators are the same in operator set 9."""


def layer(*kinds: str, least_opset: int = 0, also_old: bool = False) -> Callable[[Maker], Maker]:
    """Declares a layer under its name; with several names it is drawn more often."""

    def declare(maker: Maker) -> Maker:
        for kind in kinds:
            MAKERS[kind] = maker
            if least_opset:
                LEAST_OPSET[kind] = least_opset
            if also_old:
                ALSO_OLD.add(kind)
        return maker

    return declare
