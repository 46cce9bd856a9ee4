"""Selections among very many channels, as raw audio has them, are views and moves: no dense convolution of ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from compiler.frontend.importer.views import MOST_ONES, _stretches
from compiler.xgraph.ops import Conv
from tests.compiler.frontend.quantised_models import check_exact, host_operators, imported, model, node, weights

AUDIO = (1, 2048)


def sliced(start: int, end: int, step: int) -> tuple[onnx.NodeProto, dict[str, Any]]:
    table = {"s": np.array([start]), "e": np.array([end]), "a": np.array([1]), "t": np.array([step])}
    return node("Slice", "x s e a t", "c"), table


CASES: dict[str, tuple[onnx.NodeProto, dict[str, Any], int]] = {
    "every second": (*sliced(0, 2048, 2), 1024),
    "every second from the middle": (*sliced(701, 2048, 2), 674),
    "a stretch": (*sliced(5, 1800, 1), 1795),
    "a pad": (node("Pad", "x p", "c"), {"p": np.array([0, 60, 0, 100])}, 2208),
}


@pytest.mark.parametrize("name", CASES)
def test_of_raw_audio(name: str) -> None:
    selection, table, left = CASES[name]
    proto = model([selection, node("Gemm", "c w")], AUDIO, {**table, "w": weights(left, 3)})
    found = imported(proto)
    assert not host_operators(found)
    convolutions = [op.weights.size for op in found.graph.ops if isinstance(op, Conv)]
    assert sum(convolutions) < MOST_ONES, convolutions
    check_exact(found, seeds=1)


@pytest.mark.parametrize(
    ("channels", "expected"),
    [
        ([3, 4, 5], [(3, 3)]), ([0, 2], [(0, 1), (2, 1)]), ([None, None, 7, 8, None], [(None, 2), (7, 2), (None, 1)]),
        ([2, 1, 0], [(2, 1), (1, 1), (0, 1)]),
    ],
)  # fmt: skip
def test_stretches(channels: list[int | None], expected: list[tuple[int | None, int]]) -> None:
    assert list(_stretches(channels)) == expected
