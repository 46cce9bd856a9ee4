"""Finds the layers that stay in float so that outputs are as near to the float model's as is asked: those that add most noise.

Layers are ranked by the noise that each adds to what it reads. The first layers of that ranking stay in float. Their number is
found by doubling, then by halving; the model is written and measured each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.frontend.model import Model
from compiler.quantise.equalise import PLAIN, Factors
from compiler.quantise.forms import Form, Forms, activations_of
from compiler.quantise.noise import Noise, noise_of_feeds
from compiler.quantise.reference import Reference
from compiler.quantise.statistics import Feeds


@dataclass(frozen=True)
class Target:
    """What is asked of the outputs.

    Each output reaches ``decibels``. For the share ``top1`` of inputs the first output's greatest value is the float model's.
    """

    decibels: float = -math.inf
    top1: float = 0.0

    def met(self, reference: Reference, quantised: Model) -> bool:
        found = reference.run(quantised)
        if min(reference.noise_of(found), default=math.inf) < self.decibels:
            return False
        if not reference.compared:
            return True
        first = reference.compared[0]
        real, made = (
            np.concatenate([each[first].reshape(len(each[first]), -1).argmax(axis=1) for each in side])
            for side in (reference.expected, found)
        )
        return float(np.mean(real == made)) >= self.top1


@dataclass(frozen=True)
class Loss:
    """A layer, and the signal-to-noise ratio before and behind it. ``nodes`` are all nodes that stay in float with it."""

    noise: Noise
    before: float
    nodes: frozenset[str]

    @property
    def added(self) -> float:
        """The noise that the layer adds, as a share of the signal."""
        return _power(self.noise.decibels) - _power(self.before)


def losses(forms: Forms, quantised: Model, feeds: Sequence[Feeds], factors: Factors = PLAIN) -> list[Loss]:
    """The losses of all layers, the greatest first. ``factors`` are those of equalised channels."""
    model, makers = forms.model, forms.model.producers()
    rows = {row.tensor: row for row in noise_of_feeds(model, quantised, feeds, factors)}
    found = []
    for row in rows.values():
        nodes, sources = _unit(forms, row.tensor)
        before = min((rows[name].decibels for name in sources if name in rows), default=math.inf)
        if row.tensor in makers:
            found.append(Loss(row, before, frozenset(nodes)))
    return sorted(found, key=lambda loss: -loss.added)


def _unit(forms: Forms, tensor: str) -> tuple[set[str], set[str]]:
    """The nodes that make a tensor from other quantised tensors, and these tensors."""
    makers = forms.model.producers()
    nodes, sources = set[str](), set[str]()
    left = [tensor]
    while left:
        maker = makers[left.pop()]
        nodes.add(maker.name)
        for name in activations_of(forms.model, maker):
            inside = name in makers and forms.of.get(makers[name].name) is Form.INSIDE
            if inside or name in forms.clamp:
                left.append(name)
            else:
                sources.add(name)
    return nodes, sources


def reaching(ranked: Sequence[Loss], met: Callable[[frozenset[str]], bool]) -> frozenset[str]:
    """The nodes of the fewest losses, from the first on, without which the target is met; all nodes, if it never is."""

    def first(count: int) -> frozenset[str]:
        return frozenset[str]().union(*(loss.nodes for loss in ranked[:count]))

    if met(frozenset()):
        return frozenset()
    high = 1
    while high < len(ranked) and not met(first(high)):
        high = min(2 * high, len(ranked))
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if met(first(middle)) else (middle, high)
    return first(high)


def _power(value: float) -> float:
    return 10 ** (-value / 10) if value < math.inf else 0.0
