"""Layers of 16-bit activations: imported for machines with act16, equal to the integer definition in every bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest

from compiler.frontend.constraints import general, long_layers
from compiler.frontend.constraints.base import refusal
from compiler.frontend.extras import Extras
from compiler.frontend.pipeline import import_model
from compiler.layers.lower import lower
from compiler.xgraph.long_conv import LongConv
from compiler.xgraph.ops import Cpu
from compiler.xgraph.parser import parse_graph
from compiler.xgraph.printer import print_graph
from isa.config import preset
from tests.compiler.frontend.long_models import INT8, INT16, LONG, UINT8, UINT16, End, convolutions, dense
from tests.tables import in_turn
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

TWO_BYTES, BYTE = End(), End(INT8, 3)
SKEWED = End(INT16, -31000)
BASE = replace(preset("base"), name="base16", act16=True)
MANY = replace(LONG, name="nano16x20", oc_p=20)


def checked(model: onnx.ModelProto, layers: int, config: Any = LONG, engine: str = "functional") -> None:
    """So many layers on the machine, and each of its maps equal."""
    compiled = compile_model(model, config, cache=False)
    found = [op for op in compiled.imported.graph.ops if not isinstance(op, Cpu)]
    assert sum(isinstance(op, LongConv) for op in found) == layers
    result = check(compiled, random_inputs(compiled.program), engine, per_layer=engine == "functional")
    assert result.equal, str(result)


@pytest.mark.parametrize(
    ("ends", "config"),
    in_turn(
        [
            (TWO_BYTES, TWO_BYTES, TWO_BYTES), (BYTE, TWO_BYTES, BYTE),
            (End(UINT16, 30000), End(UINT8, 120), End(UINT16, 32768)), (SKEWED, End(INT16, 32767), SKEWED),
            (TWO_BYTES, BYTE, TWO_BYTES),
        ],
        [LONG, BASE, MANY],
    ),
)  # fmt: skip
def test_inputs_and_outputs_of_all_types(ends: Sequence[End], config: Any) -> None:
    checked(convolutions(ends, pads=[1, 1, 1, 1]), 2, config)


@pytest.mark.parametrize("clamp", ["Relu", "Clip"])
@pytest.mark.parametrize("zero", [0, -32768, 12345])
def test_clamps(clamp: str, zero: int) -> None:
    checked(convolutions((TWO_BYTES, End(INT16, zero), TWO_BYTES), clamp=clamp), 2)


@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((1, 5, 9, 11), {"strides": [2, 1], "pads": [2, 1, 0, 1]}), ((2, 4, 7, 7), {"pads": [1, 0, 1, 0]}),
        ((1, 3, 13), {"pads": [1, 1]}), ((1, 5, 5, 20), {"strides": [3, 2], "pads": [1, 0, 1, 0]}),
        ((1, 5, 12, 12), {"dilations": [2, 2]}), ((1, 5, 9, 9), {"auto_pad": "SAME_UPPER"}),
    ],
)  # fmt: skip
def test_windows_batches_and_one_dimension(shape: Sequence[int], attributes: dict[str, Any]) -> None:
    checked(convolutions((SKEWED, TWO_BYTES, BYTE), shape, **attributes), 2)
    checked(convolutions((BYTE, SKEWED, TWO_BYTES), shape, **attributes), 2)


@pytest.mark.parametrize(
    ("how", "oc_p"),
    in_turn(
        [
            (6, (6, 6), 6, (2, 2)), (16, (16, 32), 4, (4, 4)), (12, (6, 12), 3, (1, 1)), (32, (64, 32), 2, (2, 2)),
            (9, (18, 9), 9, (1, 1)),
        ],
        [2, 4, 8],
    ),
)  # fmt: skip
def test_groups(how: tuple[int, Sequence[int], int, Sequence[int]], oc_p: int) -> None:
    """Groups that share words are one on chip, with zeros; chunks are words, parts of words and several words.

    ``how``: channels, outputs, groups, and groups on chip.
    """
    channels, outputs, groups, on_chip = how
    model = convolutions((TWO_BYTES, SKEWED, TWO_BYTES), (1, channels, 5, 6), outputs, pads=[1, 1, 1, 1], group=groups)
    found = import_model(model, extras=Extras.of(LONG)).graph
    assert [op.groups for op in found.ops if isinstance(op, LongConv)] == list(on_chip)
    checked(model, 2, replace(LONG, name=f"nano16x{oc_p}", oc_p=oc_p))


def test_groups_cost_no_more_than_their_words() -> None:
    """Of 32 channels alone, each word of 4 is made of one: as many beats as 4 channels have, eight times."""
    beats = []
    for channels in (4, 32):
        graph = import_model(
            convolutions((TWO_BYTES, TWO_BYTES), (1, channels, 6, 6), (channels,), group=channels), extras=Extras.of(LONG)
        ).graph
        layers = [lower(LONG, op, graph.tensors) for op in graph.ops if isinstance(op, LongConv)]
        beats += [layer.beats for layer in layers]
    assert beats[1] == 8 * beats[0] == 8 * 16 * 9 * 2


@pytest.mark.parametrize("operator", ["Gemm", "MatMul"])
@pytest.mark.parametrize("ends", [(TWO_BYTES, SKEWED), (TWO_BYTES, BYTE), (BYTE, TWO_BYTES)])
def test_dense_layers(operator: str, ends: Sequence[End]) -> None:
    checked(dense(ends, operator), 1)


def test_sums_beyond_32_bits_and_24() -> None:
    """A kernel of 1 over 2000 channels at the ends of their ranges; its weights are cut into parts on nano."""
    model = dense((End(INT16, 32767), TWO_BYTES), inputs=2000)
    compiled = compile_model(model, LONG, cache=False)
    inputs = {"x": np.full((2, 2000), -32768, np.int16)}
    assert check(compiled, inputs, per_layer=True).equal
    assert check(compiled, random_inputs(compiled.program), per_layer=True).equal


def test_weights_of_four_bits() -> None:
    model = convolutions((TWO_BYTES, TWO_BYTES, TWO_BYTES), weights=7)
    assert all(op.int4 for op in import_model(model, extras=Extras.of(LONG)).graph.ops if isinstance(op, LongConv))
    checked(model, 2)


def test_text_of_a_graph_is_read_back() -> None:
    graph = import_model(convolutions((TWO_BYTES, BYTE, TWO_BYTES)), extras=Extras.of(LONG)).graph
    printed = print_graph(graph)
    assert print_graph(parse_graph(printed)).text == printed.text


def test_a_machine_without_act16_leaves_them_to_the_cpu() -> None:
    found = import_model(convolutions((TWO_BYTES, TWO_BYTES, BYTE)), extras=Extras.of(preset("nano")))
    assert refusal(general.eight_bits) in found.reasons.values()
    assert all(isinstance(op, Cpu) for op in found.graph.ops)


@pytest.mark.parametrize(
    ("model", "constraint"),
    [
        (convolutions((BYTE, TWO_BYTES), (1, 514, 3, 3), (514,), group=514), long_layers.long_group),
        (convolutions((SKEWED, TWO_BYTES), least=2**31 - 1000, most=2**31 - 1, outputs=(8,)), long_layers.long_bias),
    ],
    ids=["channels alone of 8 bits", "bias"],
)
def test_what_stays_on_the_cpu_says_why(model: onnx.ModelProto, constraint: Any) -> None:
    found = import_model(model, extras=Extras.of(LONG))
    assert refusal(constraint) in found.reasons.values()


def test_a_layer_that_is_kept_is_not_asked() -> None:
    from compiler.quantise.choices import Choices

    model = convolutions((TWO_BYTES, TWO_BYTES, TWO_BYTES))
    found = import_model(model, extras=Extras.of(LONG), choices=Choices(keep_float=("sum0/Conv",)))
    assert [type(op).__name__ for op in found.graph.ops if not isinstance(op, Cpu)] == ["LongConv"]


@pytest.mark.slow
@pytest.mark.parametrize(("channels", "outputs", "group"), [(5, (7, 9), 1), (8, (8, 8), 8), (16, (32, 16), 4)])
def test_on_verilog(channels: int, outputs: Sequence[int], group: int) -> None:
    ends, shape = (SKEWED, TWO_BYTES, BYTE), (1, channels, 9, 11)
    checked(convolutions(ends, shape, outputs, clamp="Relu", pads=[1, 1, 1, 1], group=group), 2, engine="rtl")
