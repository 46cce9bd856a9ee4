"""Why nodes are on the CPU: what their neighbours have to do with it, which node is the first cause, and what would help."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from compiler.frontend.causes import first_causes
from compiler.frontend.constraints import general
from compiler.frontend.constraints.base import refusal
from compiler.frontend.idle import NothingOnMachine, warn_of_empty
from compiler.frontend.model import Model, Node
from compiler.frontend.partition import MOVED_FOR_CPU, OPERANDS_ON_CPU, READ_ON_CPU, UNQUANTISED_FOR_CPU
from compiler.frontend.pipeline import ImportedModel
from compiler.xgraph.ops import Conv
from tests.compiler.frontend.quantised_models import host_operators, imported, model, node, weights

QUANTISED: dict[str, Any] = {
    "s": np.array(0.05, np.float32), "z": np.array(3, np.int8), "t": np.array(0.08, np.float32), "u": np.array(-7, np.int8),
    "w": np.random.default_rng(0).integers(-127, 128, (4, 4, 1, 1)).astype(np.int8), "ws": np.array(0.01, np.float32),
    "wz": np.array(0, np.int8),
}  # fmt: skip
CONV = [node("DequantizeLinear", "x s z", "xf"), node("DequantizeLinear", "w ws wz", "wf"), node("Conv", "xf wf", "c")]


def quantised(nodes: list[onnx.NodeProto], outputs: tuple[str, ...] = ("y",), **table: Any) -> ImportedModel:
    return imported(model(nodes, (1, 4, 6, 5), {**QUANTISED, **table}, outputs, elem=TensorProto.INT8))


def test_a_float_result_stays_with_whoever_reads_it() -> None:
    found = quantised([*CONV, node("Relu", "c", "r"), node("LRN", "r", "y", size=3)])
    assert found.reasons["Conv_c"] == f"{UNQUANTISED_FOR_CPU} before Relu_r reads it, which is on the CPU"
    assert found.reasons["Relu_r"] == f"{UNQUANTISED_FOR_CPU} before LRN_y reads it, which is on the CPU"
    assert found.reasons["DequantizeLinear_xf"] == f"{READ_ON_CPU}, by Conv_c"


def test_a_float_result_that_is_an_output_is_made_twice() -> None:
    """The machine computes the quantised one."""
    found = quantised([*CONV, node("QuantizeLinear", "c t u")], ("y", "c"))
    assert found.reasons["Conv_c"] == f"{UNQUANTISED_FOR_CPU}, and it is an output of the model"
    assert any(isinstance(op, Conv) for op in found.graph.ops)


def test_a_dequantised_output_is_read_by_the_model() -> None:
    found = quantised([*CONV, node("QuantizeLinear", "c t u", "q"), node("DequantizeLinear", "q t u")])
    assert found.reasons == {"DequantizeLinear_y": f"{READ_ON_CPU}, by the model output"}


def test_what_only_moves_data_stays_where_its_data_is() -> None:
    found = quantised([node("Transpose", "x", perm=[0, 2, 3, 1])])
    assert found.reasons["Transpose_y"].startswith(MOVED_FOR_CPU)


@pytest.mark.parametrize(
    ("behind", "outputs", "on_machine"),
    [
        ([node("QuantizeLinear", "p s z")], ("y",), True),
        ([node("QuantizeLinear", "p s z"), node("QuantizeLinear", "p s z", "v")], ("y", "v"), True),
        ([node("QuantizeLinear", "p t u")], ("y",), False),
        ([node("QuantizeLinear", "p s u")], ("y",), False),
        ([node("QuantizeLinear", "p s z"), node("QuantizeLinear", "p t u", "v")], ("y", "v"), False),
        ([node("QuantizeLinear", "p s z")], ("y", "p"), False),
        ([node("QuantizeLinear", "p s z"), node("LRN", "p", "v", size=3)], ("y", "v"), False),
        ([node("Relu", "p", "r"), node("QuantizeLinear", "r s z")], ("y",), False),
    ],
)
def test_a_padding_value_between_codes_asks_for_the_same_quantisation_of_all_readers(
    behind: list[onnx.NodeProto], outputs: tuple[str, ...], on_machine: bool
) -> None:
    """Rounded by it, it is the code that the machine pads with; read otherwise, its value is seen."""
    pads = {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "value": np.array(0.33, np.float32)}
    found = quantised([node("DequantizeLinear", "x s z", "xf"), node("Pad", "xf pads value", "p"), *behind], outputs, **pads)
    assert ("Pad" not in host_operators(found)) == on_machine
    told = "The padding value is one of the 256 quantised values, or the result is quantised next and to the same scale."
    assert (told in found.reasons.get("Pad_p", "")) == (not on_machine)


# First causes

FLOAT_BEFORE = refusal(general.quantised_input)


def chain(*names: str, **more: tuple[str, ...]) -> Model:
    """Nodes in a row, each named as the tensor that it makes; ``more``: nodes by name with what they read."""
    nodes = [Node(name, "Op", (before,), (name,)) for before, name in zip(("x", *names), names, strict=False)]
    nodes += [Node(name, "Op", reads, (name,)) for name, reads in more.items()]
    return Model("m", tuple(nodes), {}, {}, ("x",), ("y",), {})


UNKNOWN = "no unit of the machine computes Op"


@pytest.mark.parametrize(
    ("found", "reasons", "causes"),
    [
        # Each its own.
        (chain("a", "b"), {"a": UNKNOWN, "b": UNKNOWN}, {"a": "a", "b": "b"}),
        # Operands come from the CPU: back to the maker.
        (chain("a", "b", "c"), {"a": UNKNOWN, "b": FLOAT_BEFORE, "c": OPERANDS_ON_CPU}, {"a": "a", "b": "a", "c": "a"}),
        # Float is read by the CPU: on to the reader.
        (
            chain("a", "b", "c"), {"a": f"{READ_ON_CPU}, by b", "b": f"{UNQUANTISED_FOR_CPU} before c", "c": UNKNOWN},
            {"a": "c", "b": "c", "c": "c"},
        ),
        # What moves data: who makes it, before who reads it; the machine is no cause.
        (chain("a", "b", "c"), {"a": UNKNOWN, "b": f"{MOVED_FOR_CPU} that", "c": UNKNOWN}, {"a": "a", "b": "a", "c": "c"}),
        (chain("a", "b", "c"), {"b": f"{MOVED_FOR_CPU} that", "c": UNKNOWN}, {"b": "c", "c": "c"}),
        # The reader is on the machine, or an output: the node itself.
        (chain("a", "b"), {"a": f"{READ_ON_CPU}, by the model output"}, {"a": "a"}),
        # A name that is no node of the model.
        (chain("a"), {"gone": UNKNOWN, "a": UNKNOWN}, {"gone": "gone", "a": "a"}),
        # Of several makers the first one on the CPU.
        (
            chain("a", m=("x",), n=("x",), j=("a", "m", "n")), {"m": UNKNOWN, "n": UNKNOWN, "j": OPERANDS_ON_CPU},
            {"m": "m", "n": "n", "j": "m"},
        ),
    ],
)  # fmt: skip
def test_the_first_cause_of_each_node(found: Model, reasons: dict[str, str], causes: dict[str, str]) -> None:
    assert first_causes(found, reasons) == causes
    assert first_causes(found, dict(reversed(reasons.items()))) == causes


def test_of_two_that_keep_each_other_there_the_later_seen_is_the_cause() -> None:
    found = chain("a", "b")
    assert first_causes(found, {"a": READ_ON_CPU, "b": OPERANDS_ON_CPU}) == {"a": "b", "b": "b"}
    assert first_causes(found, {"b": OPERANDS_ON_CPU, "a": READ_ON_CPU}) == {"a": "a", "b": "a"}


# Nothing on the machine


def warned(found: ImportedModel) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_empty(found)
    assert len(caught) <= 1
    assert all(each.category is NothingOnMachine for each in caught)
    return str(caught[0].message) if caught else ""


def test_models_of_which_something_runs_on_the_machine_are_not_warned_of() -> None:
    assert not warned(quantised([*CONV, node("QuantizeLinear", "c t u")]))


def test_what_would_help_is_told_with_the_most_frequent_reason() -> None:
    sums = [node("CumSum", "x axis", "a"), node("CumSum", "a axis", "b"), node("Det", "b", "y")]
    said = warned(imported(model(sums, (1, 4, 4), {"axis": np.array(1)}, elem=TensorProto.FLOAT)))
    assert said.startswith("nothing of the model runs on the machine (no unit of the machine computes CumSum): ")
    assert "`tilewright compile --verbose` says why" in said


@pytest.mark.parametrize(("elem", "kind"), [(TensorProto.FLOAT16, "float16"), (TensorProto.DOUBLE, "float64")])
def test_other_types_are_named(elem: int, kind: str) -> None:
    assert f"it computes in {kind}; give the model in float32" in warned(
        imported(model([node("Relu", "x")], (1, 4), elem=elem))
    )


def test_models_quantised_dynamically_are_named() -> None:
    table = {"w": np.zeros((4, 4), np.int8)}
    nodes = [node("DynamicQuantizeLinear", "x", "q s z"), node("MatMulInteger", "q w z")]
    assert "it is quantised dynamically; give calibration data" in warned(imported(model(nodes, (1, 4), table)))


def test_float_layers_of_a_quantised_model_are_named() -> None:
    nodes = [
        node("DequantizeLinear", "x s z", "f"), node("Gemm", "f v", "g"), node("Softmax", "g"),
    ]  # fmt: skip
    table = {**QUANTISED, "v": weights(4, 4)}
    assert "--quantise-rest quantises them" in warned(imported(model(nodes, (1, 4), table, elem=TensorProto.INT8)))
