"""QDQ patterns that onnxruntime computes with one integer kernel, or that are one function of one map."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

from compiler.frontend.pipeline import NOT_FOLLOWED
from compiler.quantise.choices import EXACT, INEXACT
from compiler.xgraph.ops import Concat, Cpu, Eltwise
from tests.compiler.frontend.quantised_models import check_exact, host_operators, imported, model, node

KINDS: dict[str, tuple[int, Any, int]] = {"int8": (TensorProto.INT8, np.int8, 0), "uint8": (TensorProto.UINT8, np.uint8, 128)}
SHAPE = (1, 6, 16, 16)


def constants(kind: str, **scales: tuple[float, int]) -> dict[str, NDArray[Any]]:
    """``name=(scale, int8 zero-point)``: ``names`` is the scale, ``namez`` the zero-point."""
    _, dtype, shift = KINDS[kind]
    table: dict[str, NDArray[Any]] = {}
    for name, (scale, zero) in scales.items():
        table |= {f"{name}s": np.array(scale, np.float32), f"{name}z": np.array(zero + shift, dtype)}
    return table


def quantised(op_type: str, inputs: str, name: str, scale: str, **attributes: Any) -> list[onnx.NodeProto]:
    """An operator, QuantizeLinear (``name_q``) and DequantizeLinear (``name``)."""
    return [
        node(op_type, inputs, f"{name}_f", **attributes),
        node("QuantizeLinear", f"{name}_f {scale}s {scale}z", f"{name}_q"),
        node("DequantizeLinear", f"{name}_q {scale}s {scale}z", name),
    ]


def ended(nodes: list[onnx.NodeProto]) -> list[onnx.NodeProto]:
    """Without the last DequantizeLinear; the model's output is ``y``."""
    nodes = nodes[:-1]
    nodes[-1].output[0] = "y"
    return nodes


def machine(found: Any) -> list[str]:
    return [type(op).__name__ for op in found.graph.ops if not isinstance(op, Cpu)]


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_a_concat_get_the_quantisation_of_the_whole(kind: str) -> None:
    table = constants(kind, x=(0.0312847, 5), a=(0.0271931, -9), b=(0.0171931, 11), y=(0.0212847, 3))
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"),
        *quantised("Sigmoid", "xf", "one", "a"), *quantised("LeakyRelu", "xf", "two", "b", alpha=0.3),
        *ended(quantised("Concat", "one two xf", "whole", "y", axis=1)),
    ]  # fmt: skip
    found = imported(model(nodes, SHAPE, table, elem=KINDS[kind][0]))
    check_exact(found)
    assert any(isinstance(op, Concat) for op in found.graph.ops)
    assert not host_operators(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gate", ["Sigmoid", "HardSigmoid"])
def test_a_map_times_a_function_of_itself_is_one_table(kind: str, gate: str) -> None:
    """SiLU and HardSwish as quantisers write them: the gate has a quantisation of its own."""
    table = constants(kind, x=(0.0412847, 5), a=(1 / 255, -128), y=(0.0312847, -90))
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"), *quantised(gate, "xf", "gate", "a"),
        *ended(quantised("Mul", "xf gate", "product", "y")),
    ]  # fmt: skip
    found = imported(model(nodes, SHAPE, table, elem=KINDS[kind][0]))
    check_exact(found)
    (op,) = (op for op in found.graph.ops if isinstance(op, Eltwise))
    assert op.inputs == ("x",)
    assert op.finish.table is not None
    assert machine(found) == ["Eltwise"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("op_type", ["Add", "Mul"])
def test_a_function_of_a_function_meets_the_map_of_both(kind: str, op_type: str) -> None:
    """The tables are applied in their order: a gate, and then a slope."""
    table = constants(kind, x=(0.0412847, 5), a=(1 / 255, -128), b=(0.0042847, -80), y=(0.0712847, -90))
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"), *quantised("Sigmoid", "xf", "gate", "a"),
        *quantised("HardSwish", "gate", "steep", "b"), *ended(quantised(op_type, "steep xf", "result", "y")),
    ]  # fmt: skip
    found = imported(model(nodes, SHAPE, table, elem=KINDS[kind][0]))
    check_exact(found)
    assert machine(found) == ["Eltwise"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("op_type", "inputs"), [("Add", "xf c"), ("Add", "c xf"), ("Mul", "xf c")])
def test_a_quantised_number_is_added_and_multiplied_as_in_the_integer_kernel(kind: str, op_type: str, inputs: str) -> None:
    table = constants(kind, x=(0.5, 4), c=(0.25, 1), y=(1.0 if op_type == "Add" else 0.25, 3))
    table["cq"] = np.array(7 + KINDS[kind][2], KINDS[kind][1])
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"), node("DequantizeLinear", "cq cs cz", "c"),
        *ended(quantised(op_type, inputs, "result", "y")),
    ]  # fmt: skip
    check_exact(imported(model(nodes, SHAPE, table, elem=KINDS[kind][0])))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 1, 1, 1)])
def test_an_average_adds_its_zero_point_before_rounding(kind: str, pads: tuple[int, ...]) -> None:
    """A window of nine pixels has no ties; the zero-point is odd."""
    table = constants(kind, x=(0.0412847, 5))
    average = quantised("AveragePool", "xf", "mean", "x", kernel_shape=[3, 3], pads=pads, count_include_pad=1)
    nodes = [node("DequantizeLinear", "x xs xz", "xf"), *ended(average)]
    check_exact(imported(model(nodes, SHAPE, table, elem=KINDS[kind][0])))


@pytest.mark.parametrize("greatest", [1.9e9, 2.2e9])
def test_a_float_bias_that_leaves_32_bits_keeps_its_layer_on_the_cpu(greatest: float) -> None:
    table = constants("int8", x=(0.01, 0), y=(2e4, 0))
    table |= {
        "w": np.ones((4, 6, 1, 1), np.int8), "ws": np.array(1e-3, np.float32), "wz": np.array(0, np.int8),
        "b": np.array([greatest * 1e-5, 0.5, -3.0, 0.0], np.float32),
    }  # fmt: skip
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"), node("DequantizeLinear", "w ws wz", "wf"),
        *ended(quantised("Conv", "xf wf b", "sum", "y")),
    ]  # fmt: skip
    found = imported(model(nodes, SHAPE, table, elem=TensorProto.INT8))
    assert (machine(found) == ["Conv"]) == (greatest < 2**31)
    if greatest > 2**31:
        assert "A float bias over the scales of input and weights fits 32 bits." in found.reasons["Conv_sum_f"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_mean_that_is_reshaped_before_it_is_quantised_is_a_global_pool(kind: str) -> None:
    """As exporters write heads today: ReduceMean, Reshape, QuantizeLinear, Gemm."""
    table = constants(kind, x=(0.0412847, 5), m=(0.0212847, -3), y=(0.0731, 4))
    table |= {
        "axes": np.array([2, 3], np.int64), "flat": np.array([1, 6], np.int64), "w": np.ones((6, 4), np.int8),
        "ws": np.array(0.013, np.float32), "wz": np.array(0, np.int8),
    }  # fmt: skip
    table["w"][::2] = -7
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"), node("ReduceMean", "xf axes", "mean", keepdims=1),
        *quantised("Reshape", "mean flat", "row", "m"), node("DequantizeLinear", "w ws wz", "wf"),
        *ended(quantised("Gemm", "row wf", "result", "y")),
    ]  # fmt: skip
    found = imported(model(nodes, (1, 6, 7, 7), table, opset=18, elem=KINDS[kind][0]))
    check_exact(found)
    assert machine(found) == ["Pool", "Conv"]


def test_averages_that_float_additions_decide_are_counted() -> None:
    """A window of four pixels between equal scales: every fourth sum is a tie. Of nine pixels none is."""
    for side, expected in ((2, True), (3, False)):
        table = constants("uint8", x=(0.0412847, -128))
        average = quantised("AveragePool", "xf", "mean", "x", kernel_shape=[side, side])
        nodes = [node("DequantizeLinear", "x xs xz", "xf"), *ended(average)]
        found = imported(model(nodes, SHAPE, table, elem=TensorProto.UINT8), follow=INEXACT)
        assert bool(found.inexact) == expected
    table = constants("uint8", x=(0.25, -128))
    average = quantised("AveragePool", "xf", "mean", "x", kernel_shape=[2, 2])
    found = imported(model([node("DequantizeLinear", "x xs xz", "xf"), *ended(average)], SHAPE, table, elem=TensorProto.UINT8))
    assert not found.inexact
    check_exact(found)


@pytest.mark.parametrize(("reduce", "scale", "expected"), [
    ("ReduceSum", (0.0412847 * 64 / 9, -128), "at most 28 of 15301 sums of a window"), ("ReduceSum", (0.25, -128), ""),
    ("ReduceMean", (0.0412847, -128), "at most 255 of 15301 sums of a window"),
])  # fmt: skip
def test_sums_that_float_additions_decide_are_counted(reduce: str, scale: tuple[float, int], expected: str) -> None:
    """There is no integer kernel of ReduceSum and ReduceMean: at every tie float32's roundings on the way decide."""
    x = (0.25, -128) if not expected else (0.0412847, -128)
    table = constants("uint8", x=x, y=scale) | {"axes": np.array([2, 3], np.int64)}
    nodes = [node("DequantizeLinear", "x xs xz", "xf"), *ended(quantised(reduce, "xf axes", "sum", "y", keepdims=1))]
    found = imported(model(nodes, (1, 6, 3, 20), table, opset=18, elem=TensorProto.UINT8))
    assert list(found.inexact.values()) == ([expected] if expected else [])
    if not expected:
        check_exact(found)


@pytest.mark.parametrize(("step", "kinds"), [(3.07e-10, []), (3.07e-5, ["Pool"])], ids=["finer than the noise", "coarser"])
def test_a_mean_in_steps_finer_than_the_noise_of_float_sums_stays_on_the_cpu(step: float, kinds: list[str]) -> None:
    """What is 0 as a sum of integers is some steps of such a scale as a sum of floats."""
    table = constants("uint8", x=(0.0169703, 9), y=(step, 30)) | {"axes": np.array([2, 3], np.int64)}
    nodes = [node("DequantizeLinear", "x xs xz", "xf"), *ended(quantised("ReduceMean", "xf axes", "sum", "y", keepdims=1))]
    found = imported(model(nodes, (1, 6, 3, 4), table, opset=18, elem=TensorProto.UINT8))
    assert machine(found) == kinds
    told = "not satisfied: What float32 may round off the sums of a mean is less than one step of its result."
    assert (told in found.reasons.values()) == (not kinds)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relu", [False, True])
def test_batch_normalisation_between_quantised_maps_is_one_tap_per_channel(kind: str, relu: bool) -> None:
    """Factors of both signs and one of 0; every value of every channel is onnxruntime's."""
    table = constants(kind, x=(0.0412847, 5), y=(0.0512847, -128 if relu else -7))
    table |= {
        "gamma": np.array([1.3, -0.7, 0.9, 0.0, 0.2, 2.1], np.float32), "beta": np.linspace(-1, 1, 6).astype(np.float32),
        "mean": np.linspace(0.5, -0.4, 6).astype(np.float32), "variance": np.linspace(0.3, 2, 6).astype(np.float32),
    }  # fmt: skip
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"), node("BatchNormalization", "xf gamma beta mean variance", "n"),
        *ended(quantised("Relu", "n", "cut", "y") if relu else quantised("Identity", "n", "same", "y")),
    ]  # fmt: skip
    found = imported(model(nodes, (1, 6, 16, 32), table, elem=KINDS[kind][0]))
    check_exact(found, seeds=4)
    assert machine(found) == ["Conv"]
    assert not found.inexact


def test_batch_normalisation_takes_quantised_parameters() -> None:
    """As onnxruntime's quantiser writes them: scale and offset through DequantizeLinear."""
    table = constants("uint8", x=(0.0412847, 5), y=(0.0512847, -7), p=(0.0123, 0))
    table |= {
        "gq": np.array([255, 3, 128, 77, 201, 140], np.uint8), "bq": np.array([0, 255, 9, 128, 130, 99], np.uint8),
        "mean": np.linspace(0.5, -0.4, 6).astype(np.float32), "variance": np.linspace(0.3, 2, 6).astype(np.float32),
    }  # fmt: skip
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"), node("DequantizeLinear", "gq ps pz", "gamma"),
        node("DequantizeLinear", "bq ps pz", "beta"),
        *ended(quantised("BatchNormalization", "xf gamma beta mean variance", "n", "y")),
    ]  # fmt: skip
    found = imported(model(nodes, SHAPE, table, elem=TensorProto.UINT8))
    check_exact(found)
    assert machine(found) == ["Conv"]


def test_a_resize_between_equal_scales_says_how_many_sums_may_differ() -> None:
    table = constants("uint8", x=(0.0412847, -128), y=(0.0399847, -128)) | {"factors": np.array([1, 1, 2, 2], np.float32)}
    found: dict[str, int] = {}
    for scale in ("x", "y"):
        nodes = [
            node("DequantizeLinear", "x xs xz", "xf"),
            *ended(quantised("Resize", "xf _ factors", "wide", scale, mode="linear")),
        ]
        (text,) = imported(model(nodes, SHAPE, table, elem=TensorProto.UINT8), follow=INEXACT).inexact.values()
        assert text.endswith("of 4081 sums of neighbours")
        found[scale] = int(text.removeprefix("at most ").split()[0])
    assert found["x"] == 255
    assert found["y"] < 5


def test_averages_stay_on_the_machine_unless_all_is_to_follow() -> None:
    """Every fourth mean of four pixels is a tie: 96 of 384, which float32's noise decides."""
    table = constants("uint8", x=(0.0412847, -128))
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"), *quantised("Sigmoid", "xf", "m", "x"),
        *ended(quantised("AveragePool", "m", "mean", "x", kernel_shape=[2, 2], strides=[2, 2])),
    ]  # fmt: skip
    proto = model(nodes, (1, 6, 16, 16), table, elem=TensorProto.UINT8)
    found = imported(proto)
    assert machine(found) == ["Eltwise", "Pool"]
    assert list(found.inexact.values()) == ["at most 255 of 1021 sums of a window"]
    followed = imported(proto, follow=EXACT)
    assert machine(followed) == ["Eltwise"]
    assert any(text.startswith(f"{NOT_FOLLOWED}: at most 255 of 1021") for text in followed.reasons.values())


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes"),
    [
        ("ReduceMean", "xf", {"axes": [2, 3]}), ("AveragePool", "xf", {"kernel_shape": [2, 2]}), ("Conv", "xf wf", {}),
        ("BatchNormalization", "xf gamma beta beta gamma", {}),
    ],
)  # fmt: skip
def test_a_float_result_quantised_twice_is_two_operations(op_type: str, inputs: str, attributes: dict[str, Any]) -> None:
    """Each of one node, with a name of its own, before what joins them, and with its own count of cases in doubt."""
    table = constants("int8", x=(0.0412847, 5), a=(0.0212847, 5), b=(0.0512847, -9), w=(0.01, 0))
    table |= {"wq": np.ones((6, 6, 1, 1), np.int8), "gamma": np.full(6, 0.7, np.float32), "beta": np.full(6, 0.3, np.float32)}
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"), node("DequantizeLinear", "wq ws wz", "wf"),
        node(op_type, inputs, "sum", **attributes),
        *quantised("Dropout", "sum", "one", "a"), *quantised("Dropout", "sum", "two", "b"),
        *ended(quantised("Concat", "one two", "whole", "a", axis=1)),
    ]  # fmt: skip
    found = imported(model(nodes, SHAPE, table, elem=TensorProto.INT8), follow=INEXACT)
    names = [name for name, origin in found.origins.items() if origin == f"{op_type}_sum"]
    assert [op.name for op in found.graph.ops if not isinstance(op, Concat | Cpu)] == names
    assert len(names) == 2
    if op_type == "ReduceMean":
        assert [found.inexact[name].split(" of ")[0] for name in names] == ["at most 143", "at most 93"]
    check_exact(found)


def test_exact_leaves_to_the_cpu_what_cannot_follow_in_all_cases() -> None:
    table = constants("uint8", x=(0.0412847, -128)) | {"factors": np.array([1, 1, 2, 2], np.float32)}
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"), *quantised("Sigmoid", "xf", "m", "x"),
        *ended(quantised("Resize", "m _ factors", "wide", "x", mode="linear")),
    ]  # fmt: skip
    proto = model(nodes, SHAPE, table, elem=TensorProto.UINT8)
    assert len(imported(proto, follow=INEXACT).inexact) == 1
    found = imported(proto, follow=EXACT)
    assert not found.inexact
    (reason,) = (text for text in found.reasons.values() if text.startswith(NOT_FOLLOWED))
    assert "255 of 4081 sums" in reason
    assert machine(found) == ["Eltwise"]
    check_exact(found)
