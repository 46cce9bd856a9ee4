"""The layers of random networks; they draw their own numbers, and take their inputs from the maps that exist."""

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
"""The results of a layer; None if the layer does not fit here."""


@dataclass(frozen=True)
class Layer:
    kind: str
    seed: int


class AnyNetwork(GatedNetwork):
    """A network to which any operator of its operator set can be added."""

    def __init__(self, name: str, seed: int, opset: int) -> None:
        super().__init__(name, seed)
        self.opset = opset
        self._model.opset_import[0].version = opset

    def op(
        self, kind: str, inputs: tuple[Value, ...] | Value, shape: tuple[int, ...] | None = None, *constants: Any,
        result: Moments | None = None, **attributes: Any,
    ) -> Value:  # fmt: skip
        """Adds one node. ``constants`` are its last inputs (None for one that is left out), in float unless they are int64."""
        values = (inputs,) if isinstance(inputs, Value) else inputs
        names = ["" if value is None else self._constant(f"c{n}", _array(value)) for n, value in enumerate(constants)]
        return self._node(kind, values, shape or values[0].shape, result or values[0].moments, names, **attributes)

    def reduced(self, kind: str, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
        """A reduction. Its axes are an attribute, or an input in operator sets that have it so."""
        shape = tuple(1 if n in axes else size for n, size in enumerate(x.shape) if keepdims or n not in axes)
        if self.opset >= (13 if kind == "ReduceSum" else 18):
            return self.op(kind, x, shape, np.array(axes, np.int64), keepdims=int(keepdims))
        return self.op(kind, x, shape, axes=list(axes), keepdims=int(keepdims))


def _array(value: Any) -> NDArray[Any]:
    array = np.asarray(value)
    return array if array.dtype == np.int64 else array.astype(np.float32)


@dataclass(frozen=True)
class Maps:
    """The maps from which layers choose; ``read`` has the names of those that were chosen."""

    rng: random.Random
    values: tuple[Value, ...]
    read: set[str]

    def one(self) -> Value:
        """A map of four dimensions; late ones are more frequent."""
        maps = [value for value in self.values if len(value.shape) == 4]
        return self._note(maps[-1 - int(len(maps) * self.rng.random() ** 2)])

    def like(self, x: Value) -> Value | None:
        """Another map of the same shape, if there is one."""
        others = [value for value in self.values if value.shape == x.shape and value.name != x.name]
        return self._note(self.rng.choice(others) if others else None)

    def beside(self, x: Value) -> Value | None:
        """Another map of the same size, if there is one."""
        others = [v for v in self.values if len(v.shape) == 4 and v.size == x.size and v.name != x.name]
        return self._note(self.rng.choice(others) if others else None)

    def _note(self, value: _Found) -> _Found:
        if value is not None:
            self.read.add(value.name)
        return value


Maker = Callable[[AnyNetwork, Maps], Made]
MAKERS: dict[str, Maker] = {}
LEAST_OPSET: dict[str, int] = {}
"""The operator set from which on a layer exists, for layers younger than ``OPSET``."""
ALSO_OLD: set[str] = set()
"""The layers whose operators are the same in operator set 9."""


def layer(*kinds: str, least_opset: int = 0, also_old: bool = False) -> Callable[[Maker], Maker]:
    """Declares a layer under its names; a layer with several names is drawn more often."""

    def declare(maker: Maker) -> Maker:
        for kind in kinds:
            MAKERS[kind] = maker
            if least_opset:
                LEAST_OPSET[kind] = least_opset
            if also_old:
                ALSO_OLD.add(kind)
        return maker

    return declare
