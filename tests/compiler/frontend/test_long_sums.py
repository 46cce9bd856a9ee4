"""Averages, sums and moves of 16-bit activations: equal to the integer definition, which is a step from float at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest

from compiler.driver import compile_graph
from compiler.frontend.constraints import general, long_layers, windows
from compiler.frontend.constraints.base import Constraint, refusal
from compiler.frontend.extras import Extras
from compiler.frontend.pipeline import import_model
from compiler.frontend.session import run
from compiler.planning.joining import joinable
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import Cpu
from isa.config import MachineConfig
from tests.compiler.frontend.long_models import INT8, INT16, LONG, End, Net
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

TWO_BYTES, BYTE, SKEWED = End(), End(INT8, 3), End(INT16, -31000)
WORD = LONG.ic_p


def checked(model: onnx.ModelProto, layers: int, parts_on_cpu: int, config: MachineConfig = LONG) -> None:
    """``parts_on_cpu``: those that split and join what comes and goes among them."""
    compiled = compile_model(model, config, cache=False)
    kinds = [type(op) for op in compiled.imported.graph.ops]
    assert (kinds.count(LongConv), kinds.count(Cpu)) == (layers, parts_on_cpu), compiled.imported.reasons
    inputs = random_inputs(compiled.program)
    result = check(compiled, inputs, per_layer=True)
    assert result.equal, str(result)
    as_float, defined = (run(each, inputs)["y"].astype(np.int64) for each in (model, compiled.imported.oracle))
    assert np.abs(as_float - defined).max() <= 1
    assert len(np.unique(defined)) > 1


def averaged(ends: Sequence[End], operator: str, shape: Sequence[int] = (1, 5, 8, 9), **attributes: Any) -> onnx.ModelProto:
    net = Net(shape, ends[0])
    axes = [net.constant("axes", [2, 3])] if operator == "ReduceMean" else []
    net.layer(operator, ["real/x", *axes], "y", ends[1], **attributes)
    return net.model()


@pytest.mark.parametrize(("ends", "parts"), [((TWO_BYTES, SKEWED), 2), ((BYTE, TWO_BYTES), 1), ((SKEWED, BYTE), 1)])
@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("AveragePool", {"kernel_shape": [3, 2], "strides": [2, 1]}),
        ("AveragePool", {"kernel_shape": [3, 3], "pads": [1, 0, 1, 2], "count_include_pad": 1}),
        ("GlobalAveragePool", {}), ("ReduceMean", {"keepdims": 0}),
    ],
)  # fmt: skip
def test_averages(ends: Sequence[End], parts: int, operator: str, attributes: dict[str, Any]) -> None:
    checked(averaged(ends, operator, **attributes), 1, parts)


@pytest.mark.parametrize(("operator", "attributes"), [("AveragePool", {"kernel_shape": [4]}), ("GlobalAveragePool", {})])
def test_averages_of_one_dimension(operator: str, attributes: dict[str, Any]) -> None:
    checked(averaged((TWO_BYTES, TWO_BYTES), operator, (2, 5, 11), **attributes), 1, 2)


def convolution(net: Net, x: str, name: str, inputs: int, outputs: int, end: End = TWO_BYTES) -> str:
    return net.layer("Conv", [x, net.weights(f"w{name}", outputs, inputs, 3, 3)], name, end, pads=[1] * 4)


@pytest.mark.parametrize("end", [TWO_BYTES, SKEWED, BYTE])
@pytest.mark.parametrize("clamped", [False, True])
def test_sums_of_zero_points_apart(end: End, clamped: bool) -> None:
    net = Net((1, 6, 5, 7))
    made = convolution(net, "real/x", "a", 6, 6, End(INT16, 900))
    total = net.real("Add", [made, "real/x"], "sum")
    net.quantised(net.real("Relu", [total], "clamped") if clamped else total, "y", end)
    checked(net.model(), 2, 1 if end is BYTE else 2)


@pytest.mark.parametrize(("first", "second"), [(3.0, 1.0), (1.0, 64.0), (5.0, 127.0), (0.5, 0.375)])
def test_sums_of_scales_apart(first: float, second: float) -> None:
    net = Net((1, 6, 5, 7), End(factor=first))
    made = convolution(net, "real/x", "a", 6, 6, End(factor=second))
    net.layer("Add", [made, "real/x"], "y", End(factor=1.7 * max(first, second)))
    checked(net.model(), 2, 2)


def _joined(axis: int, first: int) -> Callable[[Net], str]:
    def write(net: Net) -> str:
        a = convolution(net, "real/x", "a", 6, first)
        b = convolution(net, a, "b", first, 5)
        c = net.real("Concat", [a, b], "c", axis=axis)
        return convolution(net, c, "y", first + 5 if axis == 1 else 5, 4)

    return write


def _cut(axis: int, first: int, past: int, left: int) -> Callable[[Net], str]:
    def write(net: Net) -> str:
        a = convolution(net, "real/x", "a", 6, 2 * WORD + 3)
        bounds = [net.constant(name, [value]) for name, value in (("first", first), ("past", past), ("axis", axis))]
        return convolution(net, net.layer("Slice", [a, *bounds], "c"), "y", left, 4)

    return write


def _split(net: Net) -> str:
    a = convolution(net, "real/x", "a", 6, 2 * WORD)
    net.real("Split", [a, net.constant("sizes", [WORD, WORD])], "c", 2, axis=1)
    return net.layer("Add", [convolution(net, "c", "d", WORD, WORD), "c1"], "y")


def _dense(operator: str, again: bool) -> Callable[[Net], str]:
    def write(net: Net) -> str:
        a = convolution(net, "real/x", "a", 6, 5)
        flat = net.layer("Flatten", [a], "f") if again else net.real("Flatten", [a], "f")
        if operator == "Gemm":
            return net.layer(operator, [flat, net.weights("w", 9, 175)], "y", transB=1)
        return net.layer(operator, [flat, net.weights("w", 175, 9)], "y")

    return write


def _pooled(net: Net) -> str:
    a = net.layer("GlobalAveragePool", [convolution(net, "real/x", "a", 6, 5)], "g")
    flat = net.real("Reshape", [a, net.constant("shape", [1, -1])], "f")
    return net.layer("Gemm", [flat, net.weights("w", 9, 5)], "y", transB=1)


@pytest.mark.parametrize(
    ("write", "layers"),
    [
        (_joined(1, WORD), 3), (_joined(2, 5), 3), (_cut(1, WORD, 1 << 40, WORD + 3), 2), (_cut(3, -3, -1, 2 * WORD + 3), 2),
        (_split, 3), (_dense("Gemm", again=False), 2), (_dense("MatMul", again=True), 2), (_pooled, 3),
    ],
    ids=[
        "channels joined", "rows joined", "channels cut", "columns cut", "split and added", "flattened", "flattened, quantised",
        "one pixel flattened",
    ],
)  # fmt: skip
def test_moves_between_layers(write: Callable[[Net], str], layers: int) -> None:
    """Nothing but the first map and the last meets the CPU."""
    net = Net((1, 6, 5, 7))
    write(net)
    checked(net.model(), layers, 2)


@pytest.mark.parametrize(("words", "joins"), [(1, True), (2, False), (3, True)])
def test_maps_are_joined_on_chip_where_whole_chunks_lie_side_by_side(words: int, joins: bool) -> None:
    """Behind a map of three words a chunk of two leaves a word of no use."""
    config = replace(LONG, name=f"words{words}", oc_p=WORD * words)
    net = Net((1, 6, 5, 7))
    a = convolution(net, "real/x", "a", 6, 3 * WORD)
    b = convolution(net, "real/x", "b", 6, WORD)
    convolution(net, net.real("Concat", [a, b], "c", axis=1), "y", 4 * WORD, 4)
    checked(net.model(), 3, 2, config)
    imported = import_model(net.model(), extras=Extras.of(config))
    assert bool(joinable(imported.graph, config)) == joins
    if joins:
        names = [op.name for op in imported.graph.ops if isinstance(op, LongConv)]
        compiled = compile_graph(imported, config, groups=[names])
        assert check(compiled, random_inputs(compiled.program)).equal


@pytest.mark.parametrize("shape", [(2, 7, 9), (1, 2, 7, 9)])
@pytest.mark.parametrize(("ends", "parts"), [((TWO_BYTES, SKEWED, TWO_BYTES), 2), ((BYTE, SKEWED, BYTE), 0)])
def test_dense_layers_on_rows(shape: Sequence[int], ends: Sequence[End], parts: int) -> None:
    net = Net(shape, ends[0])
    first = net.layer("MatMul", ["real/x", net.weights("w", 9, 6)], "a", ends[1])
    second = net.layer("MatMul", [first, net.weights("v", 6, 6)], "b", ends[1])
    net.layer("Add", [first, second], "y", ends[2])
    checked(net.model(), 3, parts)


def test_a_convolution_between_dense_layers_turns_the_axes() -> None:
    net = Net((1, 6, 9))
    made = net.layer("Conv", ["real/x", net.weights("w", 5, 6, 3)], "a")
    net.layer("MatMul", [net.real("Transpose", [made], "t", perm=[0, 2, 1]), net.weights("v", 5, 4)], "y")
    checked(net.model(), 2, 2)


def _ragged(net: Net) -> str:
    a = convolution(net, "real/x", "a", 6, 5)
    c = net.real("Concat", [a, convolution(net, a, "b", 5, 5)], "c", axis=1)
    return convolution(net, c, "y", 10, 4)


def _wide(net: Net) -> str:
    a = net.layer("Conv", ["real/x", net.weights("w", 260, 6, 1, 1)], "a")
    return net.layer("Add", [a, net.layer("Relu", [a], "b")], "y")


def _of_bits(net: Net) -> str:
    return net.layer("Add", [convolution(net, "real/x", "a", 6, 6, BYTE), "real/x"], "y")


def _apart(net: Net) -> str:
    return net.layer("Add", [convolution(net, "real/x", "a", 6, 6, End(factor=1.2345)), "real/x"], "y")


def _of_long_weights(net: Net) -> str:
    net.constant("fine", np.float32(1e-5))
    net.constant("stored", np.arange(-54, 54, dtype=np.int16).reshape(6, 6, 1, 3) * 300)
    return net.layer("Conv", ["real/x", net.real("DequantizeLinear", ["stored", "fine"], "w")], "y")


def _of_blocks(net: Net) -> str:
    """A scale for every two inputs."""
    net.constant("stored", np.arange(-24, 24, dtype=np.int8).reshape(6, 8, 1, 1)[:, :6])
    net.constant("scales", np.full((6, 3, 1, 1), 0.01, np.float32))
    weights = net.real("DequantizeLinear", ["stored", "scales"], "w", axis=1, block_size=2)
    return net.layer("Conv", ["real/x", weights], "y")


def _uncounted(net: Net) -> str:
    return net.layer("AveragePool", ["real/x"], "y", kernel_shape=[3, 3], pads=[1] * 4)


def _beyond(net: Net) -> str:
    return net.layer("AveragePool", ["real/x"], "y", kernel_shape=[2, 2], strides=[2, 2], count_include_pad=1, ceil_mode=1)


@pytest.mark.parametrize(
    ("write", "constraint"),
    [
        (_ragged, long_layers.long_moves), (_wide, long_layers.long_pair), (_of_bits, long_layers.long_pair),
        (_of_long_weights, general.weights_constant), (_of_blocks, general.weights_constant),
        (_apart, long_layers.long_ratio), (_uncounted, long_layers.long_counted), (_beyond, windows.counted_inside),
    ],
)  # fmt: skip
def test_what_stays_on_the_cpu_says_why(write: Callable[[Net], str], constraint: Constraint) -> None:
    net = Net((1, 6, 5, 7))
    write(net)
    assert refusal(constraint) in import_model(net.model(), extras=Extras.of(LONG)).reasons.values()
