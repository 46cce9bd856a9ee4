"""Means and sums of many lengths: where no case is told as inexact, each total near a tie gives onnxruntime's result.

TILEWRIGHT_EVERY_LENGTH=1 tries every length to 4 096 with all scales, for an hour, in place of some with one each.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.pipeline import ImportedModel, import_model
from compiler.quantise.choices import INEXACT, Choices
from compiler.xgraph.ops import Cpu
from compiler.xgraph.reference import execute_op
from tests.compiler.frontend.quantised_models import Array, expected_tensors
from tests.compiler.host import to_map

SHIFTED = ((1 / 16, 0, 1 / 16, 0), (1 / 32, 3, 1 / 64, -5), (1 / 64, -128, 1 / 128, -128), (1 / 4, 0, 1 / 32, 0))
FREE = ((0.0371, 0, 0.0093, 0), (0.1, 7, 0.05, -3), (0.75, 0, 0.375, 0), (0.0117, -128, 0.0061, -128))
SCALES = {"powers of two": SHIFTED, "free": FREE}
KINDS = ("channels", "last", "space", "sum", "GlobalAveragePool", "AveragePool")
FEW = (2, 3, 4, 7, 40, 49, 120, 384, 1000)
EVERY = "TILEWRIGHT_EVERY_LENGTH" in os.environ
SOME = sorted({*range(2, 65), *range(65, 4097, 61), *(2**n + d for n in range(6, 12) for d in (-1, 0, 1)), 4095, 4096})
Quantised = tuple[float, int, float, int]


def sides(count: int) -> tuple[int, int] | None:
    """Rows and columns of a window of so many pixels."""
    rows = next((rows for rows in range(1, 256) if count % rows == 0 and count // rows <= 255), None)
    return None if rows is None else (rows, count // rows)


def near_ties(count: int, scales: Quantised, divide: bool) -> Array:
    """Totals with a result near the middle between two steps, the ends, and some others."""
    in_scale, in_zero, out_scale, out_zero = scales
    unit = in_scale / out_scale / (count if divide else 1)
    ties = (np.arange(-129, 129) - out_zero + 0.5) / unit + in_zero * count
    beside = np.add.outer(np.rint(ties), [-1, 0, 1]).reshape(-1)
    others = np.random.default_rng(count).integers(-128 * count, 127 * count + 1, 64)
    totals = np.unique(np.concatenate([beside, others, [-128 * count, 127 * count]]).astype(np.int64))
    return totals[(totals >= -128 * count) & (totals <= 127 * count)]


def values(totals: Array, count: int) -> Array:
    """int8 rows that add up to these totals."""
    low, more = np.divmod(totals, count)
    return (low[:, None] + (np.arange(count) < more[:, None])).astype(np.int8)


def case(kind: str, count: int, scales: Quantised) -> tuple[ImportedModel, Array] | None:
    """A model of one reduction, and what it reads; None where no window has so many pixels."""
    rows = values(near_ties(count, scales, kind != "sum"), count)
    window = sides(count)
    if kind in ("channels", "last"):
        data = rows[None]
        if kind == "channels":
            data = np.ascontiguousarray(rows.T)[None, :, :, None]
        made = helper.make_node("ReduceMean", ["r"], ["m"], "mean", axes=[-1 if kind == "last" else 1])
    elif window is None:
        return None
    elif kind == "AveragePool":
        made = helper.make_node(kind, ["r"], ["m"], "mean", kernel_shape=window, strides=window)
        data = rows.reshape(1, -1, *window)
    else:
        data = rows.reshape(1, -1, *window)
        attributes = {} if kind == "GlobalAveragePool" else {"axes": [2, 3]} if kind == "space" else {"keepdims": 1}
        op_type = {"space": "ReduceMean", "sum": "ReduceSum"}.get(kind, kind)
        made = helper.make_node(op_type, ["r", "axes"] if kind == "sum" else ["r"], ["m"], "mean", **attributes)
    in_scale, in_zero, out_scale, out_zero = scales
    table = {
        "a": np.float32(in_scale), "za": np.int8(in_zero), "b": np.float32(out_scale), "zb": np.int8(out_zero),
        "axes": np.array([2, 3], np.int64),
    }  # fmt: skip
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "a", "za"], ["r"], "dq"), made,
        helper.make_node("QuantizeLinear", ["m", "b", "zb"], ["y"], "q"),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes, "mean", [helper.make_tensor_value_info("x", TensorProto.INT8, data.shape)],
        [helper.make_empty_tensor_value_info("y")], [numpy_helper.from_array(np.asarray(v), k) for k, v in table.items()],
    )  # fmt: skip
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return import_model(proto, choices=Choices("free", follow=INEXACT)), data


def wrong(kind: str, count: int, scales: Quantised) -> str | None:
    """What differs without being told."""
    found = case(kind, count, scales)
    if found is None:
        return None
    model, data = found
    ops = [op for op in model.graph.ops if not isinstance(op, Cpu)]
    expected = expected_tensors(model, {"x": data}, ["y"])
    maps = {}
    for name, port in model.tensor_names.items():
        maps[name] = to_map(expected[port.onnx], port, model.graph.tensors[name])
    for op in ops:
        mine = execute_op(op, [maps[name] for name in op.inputs], model.graph.tensors[op.output].shape)
        apart = int((mine != maps[op.output]).sum())
        told = int(model.inexact.get(op.name, "at most 0 of").split()[2])
        if apart > told:
            return f"{kind} of {count}, {scales}: {apart} differ, {told} told"
    return None


def failures(kind: str, counts: Sequence[int], scheme: str, *, by_turns: bool = False) -> list[str]:
    """``by_turns``: each length with one of the scales."""
    choice = SCALES[scheme]
    found = (
        wrong(kind, count, scales)
        for number, count in enumerate(counts)
        for scales in (choice[number % len(choice) :][:1] if by_turns else choice)
    )
    return [line for line in found if line is not None]


@pytest.mark.parametrize("scheme", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_told_as_exact_is_exact(kind: str, scheme: str) -> None:
    assert not failures(kind, FEW, scheme)


@pytest.mark.parametrize("count", [2, 3, 9, 40, 120, 384])
def test_means_over_channels_of_powers_of_two_are_exact(count: int) -> None:
    for scales in SHIFTED:
        found = case("channels", count, scales)
        assert found is not None
        assert not found[0].inexact


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_lengths_to_4096(kind: str, scheme: str) -> None:
    assert not failures(kind, range(2, 4097) if EVERY else SOME, scheme, by_turns=not EVERY)
