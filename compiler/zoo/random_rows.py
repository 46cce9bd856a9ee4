"""Random layers over the channels of each pixel: softmax and normalisation, where channels lie last, as they do in a row."""

from __future__ import annotations

import numpy as np

from compiler.zoo.moments import Moments
from compiler.zoo.network import Value
from compiler.zoo.random_layers import AnyNetwork, Made, Maps, layer

LAST, SECOND = (0, 2, 3, 1), (0, 3, 1, 2)
NORMALISATIONS = {"LayerNormalization": 0, "RMSNormalization": 23}
"""The normalisations, and the operator set that brought each, if it is younger than usual."""
BESIDE = 0.2
"""The share of layers over the columns of a map, which no unit computes."""


def _declare(kind: str, least_opset: int) -> None:
    @layer(kind, least_opset=least_opset)
    def _of_rows(net: AnyNetwork, maps: Maps) -> Made:
        x, rng = maps.one(), maps.rng
        if rng.random() < BESIDE:
            return _row(net, maps, kind, x)
        n, c, h, w = x.shape
        row = _row(net, maps, kind, net.op("Transpose", x, (n, h, w, c), perm=LAST))
        return net.op("Transpose", row, x.shape, perm=SECOND)


def _row(net: AnyNetwork, maps: Maps, kind: str, x: Value) -> Value:
    size, rng = x.shape[-1], maps.rng
    if kind == "Softmax":
        return net.op(kind, x, result=Moments(1 / size, 1 / size**2), axis=-1)
    factors = [np.array([rng.uniform(0.5, 1.5) for _ in range(size)])]
    if kind == "LayerNormalization" and rng.random() < 0.7:
        factors.append(np.array([rng.uniform(-0.5, 0.5) for _ in range(size)]))
    return net.op(kind, x, None, *factors, result=Moments(), axis=-1, epsilon=rng.choice((1e-6, 1e-5, 1e-3)))


_declare("Softmax", 0)
for _kind, _opset in NORMALISATIONS.items():
    _declare(_kind, _opset)
