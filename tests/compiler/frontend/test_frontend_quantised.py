"""Models that are quantised already: QDQ and QLinear, int8 and uint8, with zero-points."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

from compiler.driver import compile_graph
from compiler.xgraph.ops import Conv, Cpu, Eltwise, Op, Upsample
from isa.config import preset
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run, run_on_cpu
from tests.compiler.frontend.quantised_models import (
    check_counted,
    check_exact,
    differences,
    feeds_of,
    generator,
    host_operators,
    imported,
    model,
    node,
)

MICROSOFT = "com.microsoft"


def f32(value: float) -> NDArray[np.float32]:
    return np.array(value, np.float32)


def i8(value: int) -> NDArray[np.int8]:
    return np.array(value, np.int8)


def u8(value: int) -> NDArray[np.uint8]:
    return np.array(value, np.uint8)


def machine(ops: tuple[Op, ...]) -> list[str]:
    return [type(op).__name__ for op in ops if not isinstance(op, Cpu)]


SCALES: dict[str, NDArray[Any]] = {
    "xs": f32(0.0312847),
    "ys": f32(0.0471931),
    "xz": i8(5),
    "yz": i8(-9),
    "xzu": u8(133),
    "yzu": u8(119),
}
CONV: dict[str, NDArray[Any]] = {
    "w": generator().integers(-127, 128, (8, 4, 3, 3)).astype(np.int8),
    "ws": generator().uniform(0.001, 0.004, 8).astype(np.float32),
    "wz": np.zeros(8, np.int8),
    "b": generator().integers(-3000, 3000, 8).astype(np.int32),
}


def test_qlinear_conv_with_zero_points_agrees_always() -> None:
    nodes = [node("QLinearConv", "x xs xz w ws wz ys yz b", pads=[1, 1, 1, 1])]
    found = imported(model(nodes, (1, 4, 9, 8), {**SCALES, **CONV}, elem=TensorProto.INT8))
    check_exact(found, seeds=8)
    assert machine(found.graph.ops) == ["Conv"]
    assert not [op for op in found.graph.ops if isinstance(op, Cpu)]


def wide_weights(outputs: int, inputs: int) -> dict[str, NDArray[Any]]:
    """uint8 weights whose distance from the zero-point needs nine bits."""
    values = generator().integers(60, 160, (outputs, inputs, 3, 3)).astype(np.uint8)
    values[0, 0, 0, 0], values[1, -1, 2, 1] = 255, 250
    return {"w": values, "ws": f32(0.003), "wz": u8(109), "b": generator().integers(-3000, 3000, outputs).astype(np.int32)}


WIDE = [
    ("dense", 1, (8, 4), u8(109), 1, ["Conv"]),
    ("dense, zeros of channels", 1, (8, 4), np.arange(20, 180, 20).astype(np.uint8), 1, ["Conv", "Eltwise", "Concat", "Conv"]),
    ("grouped", 2, (6, 2), u8(109), 1, ["Conv"]),
    ("grouped, zeros of channels", 2, (6, 2), np.arange(0, 180, 30).astype(np.uint8), 1, ["Upsample", "Conv"]),
    ("depthwise", 4, (4, 1), u8(109), 1, ["Conv"]),
    ("depthwise, zeros of channels", 4, (4, 1), np.arange(0, 200, 50).astype(np.uint8), 1, ["Upsample", "Conv"]),
    ("dilated", 1, (8, 4), u8(0), 2, ["Conv"]),
]


@pytest.mark.parametrize(("group", "shape", "zero", "dilation", "ops"), [case[1:] for case in WIDE], ids=[c[0] for c in WIDE])
def test_weights_of_nine_bits(
    group: int, shape: tuple[int, int], zero: NDArray[np.uint8], dilation: int, ops: list[str]
) -> None:
    """A zero-point of the weights where there is one; else each weight is two of eight bits."""
    constants = {**SCALES, **wide_weights(*shape), "wz": zero, "ws": np.full(zero.size, 0.003, np.float32).reshape(zero.shape)}
    nodes = [
        node(
            "QLinearConv", "x xs xzu w ws wz ys yzu b",
            group=group, pads=[dilation] * 4, strides=[2, 2], dilations=[dilation] * 2,
        )
    ]  # fmt: skip
    found = imported(model(nodes, (1, 4, 9, 8), constants, elem=TensorProto.UINT8))
    check_exact(found)
    assert machine(found.graph.ops) == ops
    assert all(tensor.flip for tensor in found.graph.tensors.values())


def qdq(name: str, scale: str, zero: str, output: str) -> list[onnx.NodeProto]:
    return [
        node("QuantizeLinear", f"{name} {scale} {zero}", f"{output}_q"),
        node("DequantizeLinear", f"{output}_q {scale} {zero}", output),
    ]


def qdq_conv(activation: list[onnx.NodeProto], end: str, **constants: NDArray[Any]) -> onnx.ModelProto:
    nodes = [
        node("DequantizeLinear", "x xs xz", "xf"),
        node("DequantizeLinear", "w ws wz", "wf", axis=0),
        node("DequantizeLinear", "b bs", "bf", axis=0),
        node("Conv", "xf wf bf", "c", pads=[1, 1, 1, 1]),
        *activation,
        node("QuantizeLinear", f"{end} ys yz"),
    ]
    bias_scale = (SCALES["xs"] * CONV["ws"]).astype(np.float32)
    return model(nodes, (1, 4, 9, 8), {**SCALES, **CONV, "bs": bias_scale, **constants}, elem=TensorProto.INT8)


@pytest.mark.parametrize(
    ("activation", "end"),
    [
        ([], "c"),
        ([node("Relu", "c", "r")], "r"),
        ([node("Clip", "c lo hi", "r")], "r"),
        ([node("Clip", "c _ hi", "p"), node("Relu", "p", "r")], "r"),
    ],
)
def test_qdq_convolution_is_one_operation(activation: list[onnx.NodeProto], end: str) -> None:
    found = imported(qdq_conv(activation, end, lo=f32(-0.5), hi=f32(2.0)))
    check_counted(found, seeds=8)
    assert machine(found.graph.ops) == ["Conv"]


def test_function_between_convolution_and_quantisation_stays_on_the_cpu_with_its_reason() -> None:
    found = imported(qdq_conv([node("LeakyRelu", "c", "r", alpha=0.1)], "r"))
    check_exact(found)
    assert machine(found.graph.ops) == []
    assert found.reasons["LeakyRelu_r"] == (
        "not satisfied: What follows, before the result is quantised, is at most an added constant, ReLU or Clip."
    )


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("op_type", ["LeakyRelu", "Sigmoid", "HardSwish", "Relu"])
def test_qdq_function_is_a_table_folded_into_the_convolution(op_type: str, unsigned: bool) -> None:
    nodes = [
        node("QLinearConv", "x xs xz w ws wz ys yz b", "c"),
        node("DequantizeLinear", "c ys yz", "d"),
        node(op_type, "d", "e"),
        node("QuantizeLinear", f"e xs {'xzu' if unsigned else 'xz'}"),
    ]
    found = imported(model(nodes, (1, 4, 9, 8), {**SCALES, **CONV}, elem=TensorProto.INT8))
    check_exact(found)
    (conv,) = [op for op in found.graph.ops if not isinstance(op, Cpu)]
    assert isinstance(conv, Conv)
    assert (conv.finish.table is not None) or op_type == "Relu"


@pytest.mark.parametrize("op_type", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("shape", [(1, 8, 6, 5), (1, 8, 1, 1), (8, 1, 1), (1,)])
def test_constant_operands_of_qlinear_pairs(op_type: str, shape: tuple[int, ...]) -> None:
    """One in all becomes a table; more a map of constants."""
    constant = generator().integers(0, 256, shape).astype(np.uint8)
    nodes = [node(op_type, "x xs xzu c ys yzu zs yzu", domain=MICROSOFT)]
    found = imported(model(nodes, (1, 8, 6, 5), {**SCALES, "c": constant, "zs": f32(0.0528713)}, elem=TensorProto.UINT8))
    check_counted(found, seeds=8)
    assert machine(found.graph.ops)


@pytest.mark.parametrize("op_type", ["QLinearLeakyRelu", "QLinearSigmoid"])
def test_qlinear_functions_are_exact(op_type: str) -> None:
    slope: dict[str, Any] = {"alpha": 0.1} if "Leaky" in op_type else {}
    nodes = [node(op_type, "x xs xzu ys yzu", domain=MICROSOFT, **slope)]
    found = imported(model(nodes, (1, 4, 9, 8), SCALES, elem=TensorProto.UINT8))
    check_exact(found, seeds=4)
    assert isinstance(found.graph.ops[0], Eltwise)


def test_qlinear_concat_brings_its_parts_to_one_scale() -> None:
    nodes = [
        node("QLinearConv", "x xs xz w ws wz ys yz b", "c", pads=[1, 1, 1, 1]),
        node("QLinearConcat", "zs yz c ys yz x xs xz", domain=MICROSOFT, axis=1),
    ]
    found = imported(model(nodes, (1, 4, 9, 8), {**SCALES, **CONV, "zs": f32(0.0528713)}, elem=TensorProto.INT8))
    check_exact(found, seeds=4)
    assert host_operators(found) == set()


def test_global_average_adds_its_zero_point_after_rounding() -> None:
    nodes = [node("QLinearGlobalAveragePool", "x xs xz ys yz", domain=MICROSOFT, channels_last=0)]
    scales = {**SCALES, "xs": f32(0.5), "ys": f32(0.25)}
    check_exact(imported(model(nodes, (1, 64, 2, 2), scales, elem=TensorProto.INT8)), seeds=8)


@pytest.mark.parametrize("elem", [np.int8, np.uint8])
@pytest.mark.parametrize("other", ["f", "g"])
@pytest.mark.parametrize("op_type", ["Add", "Mul"])
def test_a_map_joins_itself_as_the_integer_kernel_has_it(
    op_type: str, other: str, elem: type[np.int8] | type[np.uint8]
) -> None:
    """In ties the zero-point that is added before rounding decides. ``g``: the same bytes with another zero-point."""
    table: dict[str, Any] = {"s": f32(0.5), "z": elem(9), "z2": elem(5), "t": f32(2), "u": elem(11), "number": f32(2)}
    found = imported(model([
        node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "f"), node("Add", "f number", "h"),
        node("QuantizeLinear", "h s z2", "r"), node("DequantizeLinear", "r s z2", "g"), node(op_type, f"f {other}", "a"),
        node("QuantizeLinear", "a t u", "o"), node("DequantizeLinear", "o t u", "y"),
    ], (1, 4, 8, 8), table))  # fmt: skip
    check_exact(found)


def test_average_adds_its_zero_point_before_rounding() -> None:
    nodes = [node("QLinearAveragePool", "x xs xz ys yz", domain=MICROSOFT, kernel_shape=[2, 2], pads=[1, 1, 1, 1])]
    scales = {**SCALES, "xs": f32(0.25), "ys": f32(0.25)}
    check_exact(imported(model(nodes, (1, 8, 9, 9), scales, elem=TensorProto.INT8)), seeds=4)


@pytest.mark.parametrize(
    ("rows", "kernel", "pads"),
    [(2, 2, 0), (4, 4, 0), (2, 4, 1), (3, 2, 0), (4, 2, 0)],
    ids=["the map itself", "a larger map", "more than the map", "a part of the map", "many windows"],
)
def test_an_average_over_the_map_itself_adds_its_zero_point_after_rounding(rows: int, kernel: int, pads: int) -> None:
    """All others add it before; the zero-point is odd, and half of the sums are ties."""
    window: dict[str, Any] = {"kernel_shape": [kernel] * 2, "pads": [pads] * 4, "strides": [kernel] * 2}
    nodes = [node("QLinearAveragePool", "x xs xz ys yz", domain=MICROSOFT, **window)]
    scales: dict[str, Any] = {"xs": f32(0.03125), "xz": np.int8(3), "ys": f32(0.015625), "yz": np.int8(-5)}
    found = imported(model(nodes, (1, 64, rows, rows), scales, elem=TensorProto.INT8))
    check_exact(found, seeds=4)
    assert not found.inexact


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_average_of_counts_that_take_an_odd_zero_point_as_part_of_their_sum(dtype: type[np.int8] | type[np.uint8]) -> None:
    """2, 4 and 6 pixels: at half the scale each count has a whole number of units for it, which an odd count has not."""
    pool = node("QLinearAveragePool", "x xs xz ys yz", domain=MICROSOFT, kernel_shape=[3, 2], pads=[2, 0, 0, 0], strides=[1, 3])
    zeros = {"xz": np.array(13, dtype), "yz": np.array(123, dtype)}
    elem = TensorProto.INT8 if dtype is np.int8 else TensorProto.UINT8
    found = imported(model([pool], (1, 8, 3, 9), {"xs": f32(0.03125), "ys": f32(0.015625), **zeros}, elem=elem))
    check_exact(found, seeds=8)
    assert machine(found.graph.ops) == ["Pool"]
    assert not found.inexact


def test_average_of_counts_that_do_not_all_take_an_odd_zero_point_tells_its_ties() -> None:
    """One pixel at half the scale makes even numbers: an odd zero-point is added after rounding, and ties of 4 go elsewhere."""
    pool = node("QLinearAveragePool", "x xs xz ys yz", domain=MICROSOFT, kernel_shape=[2, 2], pads=[1] * 4, strides=[2, 2])
    scales = {**SCALES, "xs": f32(0.03125), "ys": f32(0.015625)}
    found = imported(model([pool], (1, 14, 16, 14), scales, elem=TensorProto.INT8))
    differ, elements, most = differences(found, feeds_of(found))["y"]
    assert 0 < differ < elements
    assert most == 1
    assert found.inexact == {"QLinearAveragePool_y": "at most 255 of 1021 sums of a window"}


def test_a_part_on_the_cpu_lies_between_two_on_the_machine() -> None:
    nodes = [
        node("QLinearConv", "x xs xz w ws wz ys yz b", "c"),
        node("DequantizeLinear", "c ys yz", "d"),
        node("LRN", "d", "n", size=3),
        node("QuantizeLinear", "n ys yz", "q"),
        node("QLinearConv", "q ys yz w2 ws wz ys yz b"),
    ]
    second = generator().integers(-127, 128, (8, 8, 1, 1)).astype(np.int8)
    found = imported(model(nodes, (1, 4, 9, 8), {**SCALES, **CONV, "w2": second}, elem=TensorProto.INT8))
    check_exact(found)
    assert [type(op).__name__ for op in found.graph.ops] == ["Conv", "Cpu", "Conv"]
    assert found.reasons["LRN_n"] == "no unit of the machine computes LRN"


def test_a_float_result_is_the_same_whether_another_part_reads_it_too_or_not() -> None:
    """onnxruntime quantises float weights of its own accord, where it believes that only QuantizeLinear reads their result."""
    nodes = [
        node("QLinearConv", "x xs xz w ws wz ys yz b", "c"), node("DequantizeLinear", "c ys yz", "d"),
        node("ConvTranspose", "d v", "t"), node("QuantizeLinear", "t ys yz", "q"),
        node("QLinearConv", "q ys yz w2 ws wz ys yz b", "e"), node("DequantizeLinear", "e ys yz", "f"), node("Sub", "f t"),
    ]  # fmt: skip
    constants: dict[str, NDArray[Any]] = {
        "v": generator().normal(size=(8, 8, 2, 2)).astype(np.float32),
        "w2": generator().integers(-9, 9, (8, 8, 1, 1)).astype(np.int8),
    }  # fmt: skip
    found = imported(model(nodes, (1, 4, 9, 8), {**SCALES, **CONV, **constants}, elem=TensorProto.INT8))
    program = compile_graph(found, preset("nano"), strategy="naive").program
    feeds = {"x": generator().integers(-128, 128, (1, 4, 9, 8)).astype(np.int8)}
    assert (Run(program, FunctionalEngine(program.config))(feeds)["y"] == run_on_cpu(program, feeds)["y"]).all()


def test_branches_on_the_cpu_join_in_one_part() -> None:
    """Two LRN side by side are one CPU part: as few parts as the graph allows."""
    nodes = [
        node("QLinearConv", "x xs xz w ws wz ys yz b", "c"),
        node("DequantizeLinear", "c ys yz", "d"),
        node("LRN", "d", "n", size=3),
        node("QLinearConv", "x xs xz w ws wz xs yz b", "e"),
        node("DequantizeLinear", "e xs yz", "f"),
        node("LRN", "f", "m", size=5),
        node("QuantizeLinear", "n ys yz", "q"),
        node("QuantizeLinear", "m ys yz", "p"),
        node("QLinearAdd", "q ys yz p ys yz xs xz", domain=MICROSOFT),
    ]
    found = imported(model(nodes, (1, 4, 9, 8), {**SCALES, **CONV}, elem=TensorProto.INT8))
    check_counted(found)
    assert [type(op).__name__ for op in found.graph.ops].count("Cpu") == 1


def test_nhwc_input_costs_no_transposition() -> None:
    nodes = [node("Transpose", "x", "t", perm=[0, 3, 1, 2]), node("QLinearConv", "t xs xz w ws wz ys yz b")]
    found = imported(model(nodes, (1, 9, 8, 4), {**SCALES, **CONV}, elem=TensorProto.INT8))
    check_exact(found)
    assert machine(found.graph.ops) == ["Conv"]
    assert found.inputs[0].dims == (((288, 1),) * 0, ((32, 9),), ((4, 8),), ((1, 4),))


@pytest.mark.parametrize("elem", [TensorProto.INT8, TensorProto.UINT8])
def test_another_scale_behind_moved_values(elem: int) -> None:
    """The real values of a shuffle get a new scale: nothing but the 256 values and the two scales decides."""
    zeros = ("xz", "yz") if elem == TensorProto.INT8 else ("xzu", "yzu")
    nodes = [
        node("DequantizeLinear", f"x xs {zeros[0]}", "r"),
        node("Reshape", "r s", "g"),
        node("Transpose", "g", "t", perm=[0, 2, 1, 3, 4]),
        node("Reshape", "t u", "m"),
        node("QuantizeLinear", f"m ys {zeros[1]}"),
    ]
    shapes = {"s": np.array([1, 2, 3, 9, 8]), "u": np.array([1, 6, 9, 8])}
    check_exact(imported(model(nodes, (1, 6, 9, 8), {**SCALES, **shapes}, elem=elem)), seeds=4)


def test_upsampling_twice_is_one_map() -> None:
    """Two grouped layers with nine-bit weights on one input read one doubled map."""
    constants = {**wide_weights(4, 1), "wz": np.arange(0, 200, 50).astype(np.uint8), "ws": np.full(4, 0.003, np.float32)}
    nodes = [
        node("QLinearConv", "x xs xzu w ws wz ys yzu b", "p", group=4),
        node("QLinearConv", "x xs xzu w ws wz xs yzu b", "q", group=4),
    ]
    found = imported(model(nodes, (1, 4, 9, 8), {**SCALES, **constants}, ("p", "q"), elem=TensorProto.UINT8))
    check_exact(found)
    assert sum(isinstance(op, Upsample) for op in found.graph.ops) == 1
