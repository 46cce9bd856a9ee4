"""Selections among very many channels, as raw audio has them, are views and moves: no dense convolution of ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from compiler.frontend.importer.views import MOST_ONES, _stretches, pieces_of
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


def padded(mode: str, *amounts: int, size: int = 600) -> onnx.ModelProto:
    """Channels, or columns, that are padded before a layer."""
    rank = len(amounts) // 2
    shape = (1, size) if rank == 2 else (1, 1, size)
    wide = size + sum(amounts)
    layer = node("Gemm", "c w") if rank == 2 else node("Conv", "c w")
    table: dict[str, Any] = {"p": np.array(amounts), "w": weights(wide, 3) if rank == 2 else weights(3, 1, 8)}
    return model([node("Pad", "x p", "c", mode=mode), layer], shape, table)


FEW: dict[str, onnx.ModelProto] = {
    "zeros": padded("constant", 0, 127, 0, 127), "mirrored": padded("reflect", 0, 100, 0, 90),
    "mirrored columns": padded("reflect", 0, 0, 100, 0, 0, 90), "repeated columns": padded("edge", 0, 0, 70, 0, 0, 80),
}  # fmt: skip


@pytest.mark.parametrize("name", FEW)
def test_pads_of_a_line_take_no_more_ones_than_what_is_moved(name: str) -> None:
    found = imported(FEW[name])
    assert not host_operators(found)
    ones = [op.weights.size for op in found.graph.ops if isinstance(op, Conv) and "channels" in op.name]
    assert sum(ones) <= 2 * 101 * 101, ones
    check_exact(found, seeds=1)


@pytest.mark.parametrize(
    ("channels", "expected"),
    [
        ([*range(70)], [70]), ([3, 2, 1, *range(70)], [3, 70]), ([None] * 70 + [1, 0], [70, 2]), ([0, 9000, 1], [1, 1, 1]),
        ([*range(64), *range(64)], [64, 64]), ([5, 4, None, 7], [4]),
    ],
)  # fmt: skip
def test_pieces(channels: list[int | None], expected: list[int]) -> None:
    found = pieces_of(channels)
    assert [channel for piece in found for channel in piece] == channels
    assert [len(piece) for piece in found] == expected


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
