"""A graph survives printing and parsing: random graphs over every operation."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.xgraph.graph import GraphError, XGraph
from compiler.xgraph.ops import (
    Concat,
    Constant,
    Conv,
    ConvTranspose,
    Cpu,
    Eltwise,
    EltwiseKind,
    Finish,
    Interleave,
    Op,
    Pool,
    PoolKind,
    Port,
    Requantisation,
    Reshape,
    Slice,
    Upsample,
    Window,
)
from compiler.xgraph.parser import parse_graph
from compiler.xgraph.printer import Printed, print_graph
from compiler.xgraph.tensor import Quantisation, Tensor

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
SMALL = st.integers(1, 5)
PAIR = st.tuples(SMALL, SMALL)
WINDOWS = st.builds(Window, PAIR, PAIR, PAIR, st.tuples(*[st.integers(-3, 9)] * 4))
BYTE = st.integers(-128, 127)
TABLES = st.none() | st.integers(0, 2**32).map(lambda s: np.random.default_rng(s).integers(-128, 128, 256).astype(np.int8))
FINISHES = st.builds(Finish, BYTE, BYTE, BYTE, TABLES)
SEEDS = st.integers(0, 2**32)


def requantisation(seed: int) -> Requantisation:
    rng = np.random.default_rng(seed)
    n = 3
    bias, mantissa = rng.integers(-(2**31), 2**31, n), rng.integers(0, 1 << 24, n)
    return Requantisation(bias.astype(np.int32), mantissa.astype(np.uint32), rng.integers(0, 64, n).astype(np.uint8))


def weights(seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    return np.random.default_rng(seed).integers(-128, 128, (3, 2, 1, 2)).astype(np.int8)


HEAD = (st.just("op"), st.just(("x",)), st.just(("y",)))
RECORD = st.tuples(BYTE, st.integers(0, (1 << 24) - 1), st.integers(0, 63))
OPERATIONS: st.SearchStrategy[Op] = st.one_of(
    st.builds(Conv, *HEAD, WINDOWS, SEEDS.map(weights), SEEDS.map(requantisation), FINISHES, SMALL, BYTE),
    st.builds(ConvTranspose, *HEAD, WINDOWS, SEEDS.map(weights), SEEDS.map(requantisation), FINISHES, PAIR, SMALL, BYTE),
    st.builds(
        Pool,
        *HEAD,
        st.sampled_from(PoolKind),
        WINDOWS,
        FINISHES,
        BYTE,
        st.booleans(),
        st.dictionaries(SMALL, RECORD, max_size=3),
    ),
    st.builds(
        Eltwise,
        *HEAD,
        st.sampled_from(EltwiseKind),
        st.integers(-(2**25), 2**25),
        BYTE,
        st.integers(-(2**47), 2**47),
        SMALL,
        FINISHES,
    ),
    st.builds(Upsample, *HEAD, PAIR),
    st.builds(Concat, *HEAD, st.integers(1, 3)),
    st.builds(Interleave, *HEAD, PAIR),
    st.builds(Slice, *HEAD, st.tuples(SMALL, SMALL, SMALL), PAIR),
    st.builds(Reshape, *HEAD),
    st.builds(Constant, *HEAD, SEEDS.map(weights)),
    st.builds(
        Cpu,
        *HEAD,
        st.binary(max_size=20),
        st.dictionaries(NAMES, NAMES, max_size=2),
        st.tuples(NAMES),
        st.tuples(),
        st.tuples(st.builds(Port, NAMES, NAMES, st.tuples(st.tuples(PAIR), st.tuples()))),
    ),
)
TENSORS = st.builds(
    Tensor,
    st.just("t"),
    st.tuples(SMALL, SMALL, SMALL, SMALL),
    st.builds(Quantisation, st.floats(1e-30, 1e30), BYTE),
    st.booleans(),
)


@given(NAMES, OPERATIONS, TENSORS, TENSORS)
def test_text_is_read_back_as_the_same_graph(name: str, op: Op, x: Tensor, y: Tensor) -> None:
    graph = XGraph(name, {"x": replace(x, name="x"), "y": replace(y, name="y")}, (op,), ("x",), ("y",))
    printed = print_graph(graph)
    again = parse_graph(printed)
    assert print_graph(again) == printed
    assert (again.name, again.tensors, again.inputs, again.outputs) == (graph.name, graph.tensors, graph.inputs, graph.outputs)
    for digest, constant in print_graph(again).constants.items():
        assert np.array_equal(np.asarray(constant), np.asarray(printed.constants[digest]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Tensor(name='x')\n", "line 1: .* cannot be read"),
        ("graph('g', inputs=(), outputs=())\nMelt(name='a')\n", "line 2: .* unknown operation Melt"),
        ("__import__('os')\n", "line 1: .* unknown operation __import__"),
        ("Conv(name=\n", "line 1: .* cannot be read"),
        ("3\n", "line 1: a graph, a tensor or an operation is expected"),
        ("\n", "no line graph"),
        ("Upsample(name='u', inputs=(), outputs=(), factor=constant('int8 1', 'none'))\n", "line 1: .* cannot be read"),
    ],
)
def test_text_that_is_no_graph_is_refused(text: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        parse_graph(Printed(text, {}))


LEFT_OUT: dict[type, dict[str, Any]] = {
    Window: {"stride": (1, 1), "dilation": (1, 1), "pads": (0, 0, 0, 0)},
    Finish: {"zero_point": 0, "lo": -128, "hi": 127, "table": None},
    Conv: {"groups": 1, "pad_value": 0, "weight_zp": 0},
    ConvTranspose: {"output_padding": (0, 0), "groups": 1, "pad_value": 0, "weight_zp": 0},
    Pool: {"pad_value": -128, "count_pad": True, "scales": {}},
    Eltwise: {"a_zp": 0, "b_zp": 0},
    Concat: {"axis": 3},
    Slice: {"step": (1, 1)},
    Cpu: {"onnx_inputs": (), "onnx_outputs": (), "ports": ()},
    Tensor: {"flip": False},
}


@pytest.mark.parametrize("kind", LEFT_OUT, ids=lambda kind: kind.__name__)
def test_texts_that_are_kept_mean_what_they_meant(kind: Any) -> None:
    """What a text leaves out is known to nobody else: these values are part of the format."""
    found = {field.name: field for field in fields(kind)}
    for name, value in LEFT_OUT[kind].items():
        factory: Any = found[name].default_factory
        assert (found[name].default if factory is MISSING else factory()) == value, name
    own = {name for name, field in found.items() if field.default is not MISSING or field.default_factory is not MISSING}
    assert own == LEFT_OUT[kind].keys()


@given(OPERATIONS)
def test_operations_that_are_alike_are_two(op: Op) -> None:
    """They are told apart by who they are: plans and lifetimes are kept by operation."""
    assert replace(op) != op
    assert len({op, replace(op), op}) == 2


def test_what_equals_its_default_is_not_printed() -> None:
    pads = [0, 0, 0, 0]
    op = Pool("op", ("x",), ("y",), PoolKind.MAX, Window((2, 2), pads=(pads[0], pads[1], pads[2], pads[3])), Finish())
    tensors = {name: Tensor(name, (1, 4, 4, 4), Quantisation(0.5, 0)) for name in "xy"}
    assert "pads" not in print_graph(XGraph("g", tensors, (op,), ("x",), ("y",))).text
