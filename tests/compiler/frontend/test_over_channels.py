"""Means, sums and maxima over channels are MISC's, for maps and for tokens, in every bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.driver import compile_graph
from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import refusal
from compiler.xgraph.ops import Cpu, Eltwise, EltwiseKind
from isa.config import preset
from tests.compiler.frontend.quantised_models import check_exact, host_operators, imported, model, node, weights
from tests.e2e.network_runs import compiled, differing

KINDS = {"ReduceMean": EltwiseKind.SUM, "ReduceSum": EltwiseKind.SUM, "ReduceMax": EltwiseKind.HIGHEST}


@pytest.mark.parametrize("op_type", KINDS)
@pytest.mark.parametrize("channels", [4, 9, 40])
@pytest.mark.parametrize("config", ["nano", "base"])
def test_spatial_attention(op_type: str, channels: int, config: str) -> None:
    """The reduced map is convolved, and gates what it was made of: one number for all channels of a pixel."""
    over = node(op_type, "a axes", "s") if op_type == "ReduceSum" else node(op_type, "a", "s", axes=[1])
    nodes = [
        node("Conv", "x w", "a", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), over,
        node("Conv", "s v", "t", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), node("Sigmoid", "t", "g"), node("Mul", "a g"),
    ]  # fmt: skip
    table: dict[str, Any] = {"w": weights(channels, 3, 3, 3), "v": weights(1, 1, 3, 3), "axes": np.array([1], np.int64)}
    proto = model(nodes, (1, 3, 9, 7), table)
    found = imported(proto)
    assert not host_operators(found)
    assert next(op.kind for op in found.graph.ops if isinstance(op, Eltwise)) is KINDS[op_type]
    if channels == 4:
        check_exact(found, seeds=1)
    assert differing(compiled(proto, config, strategy="best").program) == 0


@pytest.mark.parametrize("keepdims", [0, 1])
def test_tokens(keepdims: int) -> None:
    nodes = [node("MatMul", "x w", "a"), node("ReduceMean", "a", "m", axes=[-1], keepdims=keepdims)]
    found = imported(model([*nodes, node("Relu", "m")], (1, 6, 8), {"w": weights(8, 16)}))
    check_exact(found)
    assert not host_operators(found)


def test_more_channels_than_misc_sums_go_to_the_cpu() -> None:
    nodes = [node("Conv", "x w", "a"), node("ReduceMean", "a", "m", axes=[1]), node("Relu", "m")]
    found = imported(model(nodes, (1, 3, 4, 4), {"w": weights(1040, 3, 1, 1)}))
    again = compile_graph(found, replace(preset("base"), name="wide"), strategy="naive").imported
    reasons = {name: why for op in again.graph.ops if isinstance(op, Cpu) for name, why in op.reasons.items()}
    assert "MISC sums and compares 1024 channels at most" in reasons["ReduceMean_m"]


def test_features_of_an_input_are_its_channels() -> None:
    """The first normalisation of a transformer, over more features than a window is wide."""
    nodes = [node("ReduceMean", "x", "m", axes=[-1]), node("Sub", "x m", "d"), node("MatMul", "d w")]
    found = imported(model(nodes, (1, 6, 384), {"w": weights(384, 8, scale=0.05)}))
    assert not host_operators(found)
    assert next(op.kind for op in found.graph.ops if isinstance(op, Eltwise)) is EltwiseKind.SUM


@pytest.mark.parametrize("op_type", ["ReduceMean", "ReduceMax"])
def test_a_part_of_the_rows_with_all_columns_goes_to_the_cpu(op_type: str) -> None:
    reduced = node(op_type, "r", "m", axes=[3], keepdims=0)
    nodes = [node("Conv", "x w", "a"), node("Reshape", "a halves", "r"), reduced, node("Relu", "m")]
    table: dict[str, Any] = {"w": weights(4, 3, 1, 1), "halves": np.array([1, 4, 2, 20], np.int64)}
    found = imported(model(nodes, (1, 3, 8, 5), table))
    assert op_type in host_operators(found)
    assert refusal(general.layout_reachable) in found.reasons.values()
