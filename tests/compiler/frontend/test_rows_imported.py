"""Softmax and normalisation between Q and DQ: imported for machines with ROW, equal to the definition in every bit."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.constraints import general, rows
from compiler.frontend.constraints.base import refusal
from compiler.frontend.documented import documented
from compiler.frontend.extras import Extras
from compiler.frontend.idle import NothingOnMachine
from compiler.frontend.pipeline import import_model
from compiler.programs.fitting import fitted
from compiler.xgraph.ops import Cpu
from isa.config import preset
from isa.errors import TilewrightError
from tests.compiler.frontend.row_models import ROWS, between, model
from tilewright.checking import Check, check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

INT8, UINT8 = TensorProto.INT8, TensorProto.UINT8
OPERATORS = ("Softmax", "LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
NEWEST = {"RMSNormalization": 23}


def checked(given: onnx.ModelProto, operations: int = 1, engine: str = "functional", on_cpu: int = 0) -> Check:
    """All on the machine but for so many nodes, and equal to the oracle; beside floats at most a step off, and seldom."""
    compiled = compile_model(given, ROWS, cache=False)
    assert len([op for op in compiled.imported.graph.ops if not isinstance(op, Cpu)]) == operations
    assert len(compiled.imported.reasons) == on_cpu
    found = check(compiled, random_inputs(compiled.program), engine)
    assert found.equal, str(found)
    assert check(compiled, random_inputs(compiled.program), engine, per_layer=True).equal
    assert all(row.within(1) and row.differ <= 1 for row in found.defined)
    return found


@pytest.mark.parametrize("kind", [INT8, UINT8])
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator(operator: str, kind: int) -> None:
    found = checked(between(operator, (1, 5, 9), NEWEST.get(operator, 17), kind))
    assert [row.elements for row in found.defined] == [45]


@pytest.mark.parametrize("shape", [(1, 1, 9), (1, 5, 1), (1, 1, 1), (6,), (3, 10), (2, 4, 7), (1, 3, 7, 7), (2, 3, 5, 13)])
@pytest.mark.parametrize("operator", ["Softmax", "LayerNormalization"])
def test_tokens_heads_and_batches(operator: str, shape: tuple[int, ...]) -> None:
    checked(between(operator, shape))


@pytest.mark.parametrize(
    ("opset", "axis", "shape"),
    [(11, 2, (1, 5, 9)), (11, 1, (5, 9)), (12, 1, (4, 1, 9)), (13, 2, (1, 5, 9)), (13, -1, (2, 5, 9))],
)
def test_axes_of_old_and_new_operator_sets(opset: int, axis: int, shape: tuple[int, ...]) -> None:
    checked(between("Softmax", shape, opset, axis=axis))


@pytest.mark.parametrize("kind", [INT8, UINT8])
def test_integer_kernel_of_softmax(kind: int) -> None:
    """254 steps in one where the scale is 1/255, as onnxruntime's kernel has them."""
    of_type = np.int8 if kind == INT8 else np.uint8
    lowest = np.iinfo(of_type).min
    constants = {"s": np.float32(0.05), "z": of_type(lowest + 128), "t": np.float32(1 / 255), "w": of_type(lowest)}
    node = helper.make_node(
        "QLinearSoftmax", ["x", "s", "z", "t", "w"], ["y"], name="row", domain="com.microsoft", axis=-1, opset=13
    )
    found = checked(model([node], (1, 5, 9), constants, kind=kind))
    assert found.defined[0].elements == 45
    made = import_model(model([node], (1, 5, 9), constants, kind=kind), extras=Extras(rows=True)).graph.ops[0]
    assert round(int(made.t[-1]) / (1 << 26)) == 254  # type: ignore[attr-defined]


def test_the_oracle_is_compiled_to_the_same_program() -> None:
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"], name="d0"),
        helper.make_node("LayerNormalization", ["a", "g"], ["b"], name="norm"),
        helper.make_node("QuantizeLinear", ["b", "s", "z"], ["c"], name="q0"),
        helper.make_node("DequantizeLinear", ["c", "s", "z"], ["d"], name="d1"),
        helper.make_node("Softmax", ["d"], ["e"], name="soft", axis=-1),
        helper.make_node("QuantizeLinear", ["e", "t", "w"], ["y"], name="q1"),
    ]
    constants = {
        "s": np.float32(0.05), "z": np.uint8(131), "t": np.float32(1 / 256), "w": np.uint8(0), "g": np.ones(9, np.float32),
    }  # fmt: skip
    compiled = compile_model(model(nodes, (1, 5, 9), constants, kind=UINT8), ROWS, cache=False)
    again = compile_model(compiled.imported.oracle, ROWS, cache=False)
    assert [op.name for op in again.imported.graph.ops] == ["norm", "soft"]
    assert (again.program.words, again.program.const) == (compiled.program.words, compiled.program.const)
    assert again.imported.oracle == compiled.imported.oracle
    with pytest.warns(NothingOnMachine):
        elsewhere = compile_model(compiled.imported.oracle, preset("nano"), cache=False)
    assert check(elsewhere, random_inputs(elsewhere.program)).equal


def test_between_convolution_and_tokens() -> None:
    """The channels of patches become those of tokens, in the order in which they lie."""
    nodes = [
        helper.make_node("QLinearConv", ["x", "s", "z", "k", "s", "z", "s", "z"], ["a"], name="patches", strides=[2, 2]),
        helper.make_node("DequantizeLinear", ["a", "s", "z"], ["b"], name="d0"),
        helper.make_node("Reshape", ["b", "shape"], ["c"], name="flat"),
        helper.make_node("Transpose", ["c"], ["d"], name="tokens", perm=[0, 2, 1]),
        helper.make_node("LayerNormalization", ["d", "g"], ["e"], name="norm"),
        helper.make_node("QuantizeLinear", ["e", "s", "z"], ["y"], name="q0"),
    ]
    constants = {
        "s": np.float32(0.05), "z": np.int8(0), "g": np.ones(6, np.float32), "shape": np.array([1, 6, 6]),
        "k": np.random.default_rng(0).integers(-99, 99, (6, 3, 2, 2)).astype(np.int8),
    }  # fmt: skip
    given = model(nodes, (1, 3, 4, 6), constants, output=(1, 6, 6))
    found = import_model(given, extras=Extras(rows=True))
    assert [type(op).__name__ for op in found.graph.ops if type(op).__name__ != "Reshape"] == ["Conv", "Normalisation"]
    compiled = compile_model(given, ROWS, cache=False)
    assert check(compiled, random_inputs(compiled.program), per_layer=True).equal


def test_a_float_result_that_others_read_stays_float_for_them() -> None:
    given = between("Softmax", (1, 5, 9))
    given.graph.output.append(helper.make_tensor_value_info("made", TensorProto.FLOAT, (1, 5, 9)))
    compiled = compile_model(given, ROWS, cache=False)
    assert [op.name for op in compiled.imported.graph.ops if not isinstance(op, Cpu)] == ["quantize"]
    assert {*compiled.imported.reasons} == {"dequantize", "row"}
    assert check(compiled, random_inputs(compiled.program)).equal


def test_extreme_rows() -> None:
    """Of one value, of one peak, and of the greatest differences."""
    rows_of = np.full((1, 5, 9), -128, np.int8)
    rows_of[0, 1], rows_of[0, 2, 4], rows_of[0, 3, ::2], rows_of[0, 4, :5] = 127, 127, 3, 127
    for operator in ("Softmax", "LayerNormalization"):
        compiled = compile_model(between(operator, (1, 5, 9)), ROWS, cache=False)
        found = check(compiled, {"x": rows_of})
        assert found.equal
        assert found.defined[0].within(1)


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS)
def test_on_the_verilog(operator: str) -> None:
    checked(between(operator, (2, 3, 7, 13), NEWEST.get(operator, 17)), engine="rtl")


def reason(given: onnx.ModelProto, on: str = "row") -> str:
    found = import_model(given, extras=Extras(rows=True))
    assert found.oracle == import_model(given).oracle, "nothing is defined"
    assert documented(found.reasons[on])
    return found.reasons[on]


@pytest.mark.parametrize(
    ("given", "constraint"),
    [
        (between("Softmax", (1, 5, 9), axis=1), rows.last_axis),
        (between("Softmax", (1, 5, 9), 11), rows.last_axis),
        (between("LayerNormalization", (1, 5, 9), gamma=np.ones((5, 9), np.float32), axis=1), rows.last_axis),
        (between("Softmax", (1, 2, 4097)), rows.row_fits),
        (between("LayerNormalization", (1, 5, 9), outputs=("made", "mean")), rows.one_result),
        (between("Softmax", (1, 2, 2, 2, 9)), general.at_most_four_dimensions),
    ],
)
def test_what_row_does_not_compute(given: onnx.ModelProto, constraint: object) -> None:
    found = reason(given)
    assert found == refusal(constraint) or constraint is general.at_most_four_dimensions  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        between("Softmax", (1, 5, 9), output_scale=1 / 512),
        between("LayerNormalization", (1, 5, 9), output_scale=1e-7),
        between("LayerNormalization", (1, 5, 9), epsilon=1e12),
    ],
)
def test_numbers_that_row_does_not_hold(given: onnx.ModelProto) -> None:
    assert reason(given, "quantize") == refusal(rows.numbers_fit)


def test_factors_that_are_computed() -> None:
    given = between("LayerNormalization", (1, 5, 9))
    given.graph.input.append(helper.make_tensor_value_info("g", TensorProto.FLOAT, (9,)))
    del given.graph.initializer[[held.name for held in given.graph.initializer].index("g")]
    assert reason(given) == refusal(rows.factors_constant)


def test_masks() -> None:
    """A mask of minus infinity goes to the CPU; one of a large number that int8 holds is right."""
    for value, on_machine in ((-np.inf, False), (-6.4, True)):
        mask = np.where(np.tri(9, dtype=bool), 0, value).astype(np.float32).reshape(1, 9, 9)
        constants = {
            "s": np.float32(0.05), "z": np.int8(0), "t": np.float32(1 / 256), "w": np.int8(-128), "mask": mask,
            "held": np.rint(mask / 0.05).clip(-128, 127).astype(np.int8),
        }  # fmt: skip
        read = "mask" if np.isinf(value) else "mask_real"
        nodes = [
            helper.make_node("DequantizeLinear", ["x", "s", "z"], ["a"], name="d0"),
            *([] if np.isinf(value) else [helper.make_node("DequantizeLinear", ["held", "s", "z"], [read], name="d1")]),
            helper.make_node("Add", ["a", read], ["b"], name="masked"),
            helper.make_node("QuantizeLinear", ["b", "s", "z"], ["c"], name="q0"),
            helper.make_node("DequantizeLinear", ["c", "s", "z"], ["d"], name="d2"),
            helper.make_node("Softmax", ["d"], ["e"], name="soft", axis=-1),
            helper.make_node("QuantizeLinear", ["e", "t", "w"], ["y"], name="q1"),
        ]
        compiled = compile_model(model(nodes, (1, 9, 9), constants), ROWS, cache=False)
        reasons = compiled.imported.reasons
        assert ("masked" not in reasons) == on_machine
        assert on_machine or reasons["masked"] == refusal(general.finite_constants)
        assert "soft" not in reasons
        assert check(compiled, random_inputs(compiled.program)).equal


def test_a_row_beyond_the_buffer_goes_to_the_cpu() -> None:
    given = between("Softmax", (1, 2, 65))
    found, _ = fitted(import_model(given, extras=Extras(rows=True)), ROWS)
    assert found.reasons["row"] == "rows of ROW have 64 elements at most (row_words), those of x 65"
    assert documented(found.reasons["row"])
    assert found.oracle == import_model(given).oracle


def test_a_machine_without_row_computes_as_ever() -> None:
    found = import_model(between("Softmax", (1, 5, 9)))
    assert found.reasons["row"] == "no unit of the machine computes Softmax"
    assert not found.defined
    assert all(node.domain != "tilewright" for node in found.oracle.graph.node)


def spoiled(name: str, value: object, *, inputs: int | None = None, operator: str = "") -> onnx.ModelProto:
    """The oracle of a normalisation, with another constant or another call."""
    found = onnx.ModelProto()
    found.CopyFrom(import_model(between("LayerNormalization", (1, 5, 9)), extras=Extras(rows=True)).oracle)
    (call,) = (node for node in found.graph.node if node.domain == "tilewright")
    call.op_type = operator or call.op_type
    if inputs is not None:
        del call.input[inputs:]
    places = {held.name: place for place, held in enumerate(found.graph.initializer)}
    if name:
        found.graph.initializer[places[f"y/{name}"]].CopyFrom(numpy_helper.from_array(np.asarray(value), f"y/{name}"))
    return found


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (spoiled("divisor", 1 << 40), r"node row: divisor y/divisor is int64 1099511627776, what .* writes is expected"),
        (spoiled("k", np.int32(5)), r"node row: k y/k is int32 5, what"),
        (spoiled("g", 5), r"node row: g y/g is int64 5, what"),
        (spoiled("centred", 2), r"node row: centred y/centred is int64 2, what"),
        (spoiled("g", np.ones(8, np.int64)), r"onnxruntime cannot load the model: .*Incompatible dimensions"),
        (spoiled("k", 1 << 48), r"operation row: k is 281474976710656, 1 to 281474976710655 is expected"),
        (spoiled("zero_point", 200), r"operation row: zero_point is 200, -128 to 127 is expected"),
        (spoiled("", 0, inputs=4), r"node row: tilewright.LayerNormalization of 4 inputs is unknown; expected Softmax of 6"),
        (spoiled("", 0, operator="Hardmax"), r"node row: tilewright.Hardmax of 10 inputs is unknown; expected"),
    ],
)
def test_spoiled_calls_of_definitions_are_refused(given: onnx.ModelProto, told: str) -> None:
    with pytest.raises(TilewrightError, match=told):
        import_model(given, extras=Extras(rows=True))


def test_another_function_of_the_name_is_none_of_ours() -> None:
    """It is what its own nodes are."""
    given = spoiled("", 0)
    (function,) = given.functions
    function.node[-1].op_type = "Neg"
    found = import_model(given, extras=Extras(rows=True))
    assert [op.name.partition("_")[0] for op in found.graph.ops] == ["cpu0", "Neg"]
    assert {node.domain for node in found.oracle.graph.node} == {""}
