"""How onnxruntime reads quantised models: patterns as integer kernels, exact sums on any processor, floats left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from sim.runtime.oracle import FLOAT, INTEGER, options, prepared, traps
from sim.runtime.parts import session

RNG = np.random.default_rng(5)
KINDS: dict[str, tuple[int, type[np.generic]]] = {"int8": (TensorProto.INT8, np.int8), "uint8": (TensorProto.UINT8, np.uint8)}


def model(nodes: list[onnx.NodeProto], elem: int, shape: tuple[int, ...], constants: dict[str, NDArray[Any]]) -> bytes:
    graph = helper.make_graph(
        nodes, "oracle", [helper.make_tensor_value_info("x", elem, shape)], [onnx.ValueInfoProto(name="y")],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    whole: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return whole


def residual(kind: str) -> bytes:
    """QDQ: two convolutions (one with a ReLU that stays), their sum, a mean, a sigmoid."""
    dtype = KINDS[kind][1]
    zero = np.array(dtype(3 if kind == "int8" else 131))
    constants: dict[str, NDArray[Any]] = {
        "w": RNG.integers(-127, 128, (8, 8, 3, 3)).astype(np.int8), "ws": RNG.uniform(0.001, 0.01, 8).astype(np.float32),
        "wz": np.zeros(8, np.int8), "s": np.array(0.05, np.float32), "z": zero, "t": np.array(0.11, np.float32),
    }  # fmt: skip
    nodes = [helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=0)]

    def between(op_type: str, sources: list[str], name: str, scale: str, **attributes: Any) -> None:
        nodes.append(helper.make_node(op_type, sources, [f"{name}_f"], **attributes))
        nodes.append(helper.make_node("QuantizeLinear", [f"{name}_f", scale, "z"], [f"{name}_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", scale, "z"], [name]))

    nodes.append(helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"]))
    between("Conv", ["xf", "wf"], "one", "s", pads=[1, 1, 1, 1])
    between("Conv", ["one", "wf"], "two", "t", pads=[1, 1, 1, 1])
    between("Add", ["xf", "two"], "sum", "t")
    between("Sigmoid", ["sum"], "gate", "s")
    between("GlobalAveragePool", ["gate"], "mean", "s")
    nodes[-1].output[0] = "y"
    return model(nodes, KINDS[kind][0], (1, 8, 9, 9), constants)


@pytest.mark.parametrize("kind", KINDS)
def test_every_pattern_is_an_integer_kernel_and_nothing_else_is_done(kind: str, tmp_path: Path) -> None:
    chosen, without = options(INTEGER)
    chosen.optimized_model_filepath = str(tmp_path / "integer.onnx")
    network = residual(kind)
    data = prepared(network, INTEGER)
    onnxruntime.InferenceSession(data, chosen, providers=["CPUExecutionProvider"], disabled_optimizers=[*without])
    written = (tmp_path / "integer.onnx").read_bytes()
    made = [node.op_type for node in onnx.load_from_string(written).graph.node]
    expected = [*["QLinearConv"] * 2, "QLinearAdd", "QLinearSigmoid", "QLinearGlobalAveragePool", "DequantizeLinear"]
    assert made == expected
    dtype = KINDS[kind][1]
    feeds = {"x": RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, (1, 8, 9, 9)).astype(dtype)}  # type: ignore[type-var]
    theirs = session(written, kind=FLOAT).run(["y"], feeds)[0]
    assert np.array_equal(session(network).run(["y"], feeds)[0], theirs)


def test_a_quantiser_that_rounds_ties_apart_shows_which_kernel_ran() -> None:
    """2.5 + 0.5 steps and a zero-point of 1: the float reading rounds 2.5 to 2 and adds 1, QLinearAdd rounds 3.5 to 4."""
    constants: dict[str, NDArray[Any]] = {
        "one": np.array(1, np.float32), "two": np.array(2, np.float32), "z": np.array(0, np.int8), "zy": np.array(1, np.int8),
    }  # fmt: skip
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "one", "z"], ["xf"]),
        helper.make_node("Reshape", ["xf", "row"], ["again"]),
        helper.make_node("QuantizeLinear", ["again", "one", "z"], ["x2"]),
        helper.make_node("DequantizeLinear", ["x2", "one", "z"], ["x2f"]),
        helper.make_node("Reshape", ["x2f", "column"], ["turned"]),
        helper.make_node("QuantizeLinear", ["turned", "one", "z"], ["x3"]),
        helper.make_node("DequantizeLinear", ["x3", "one", "z"], ["x3f"]),
        helper.make_node("Add", ["x2f", "x3f"], ["sum"]),
        helper.make_node("QuantizeLinear", ["sum", "two", "zy"], ["y"]),
    ]
    constants |= {"row": np.array([1, 8], np.int64), "column": np.array([8, 1], np.int64)}
    data = model(nodes, TensorProto.INT8, (8,), constants)
    x = np.arange(-2, 6).astype(np.int8)
    both = x[None, :].astype(int) + x[:, None]
    assert np.array_equal(session(data, kind=FLOAT).run(["y"], {"x": x})[0], np.rint(both / 2) + 1)
    assert np.array_equal(session(data).run(["y"], {"x": x})[0], np.rint(both / 2 + 1))


@pytest.mark.parametrize("form", ["QLinearConv", "QDQ"])
def test_int8_weights_beside_uint8_activations_do_not_saturate(form: str) -> None:
    """Pairs of products of 255 and 127 leave 16 bits."""
    constants: dict[str, NDArray[Any]] = {
        "w": np.full((4, 32, 1, 1), 127, np.int8), "ws": np.full(4, 1 / 127, np.float32), "wz": np.zeros(4, np.int8),
        "s": np.array(1, np.float32), "z": np.array(0, np.uint8), "t": np.array(32, np.float32),
    }  # fmt: skip
    if form == "QDQ":
        nodes = [
            helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"]),
            helper.make_node("DequantizeLinear", ["w", "ws"], ["wf"], axis=0),
            helper.make_node("Conv", ["xf", "wf"], ["sum"]),
            helper.make_node("QuantizeLinear", ["sum", "t", "z"], ["y"]),
        ]
    else:
        nodes = [helper.make_node("QLinearConv", ["x", "s", "z", "w", "ws", "wz", "t", "z"], ["y"])]
    data = model(nodes, TensorProto.UINT8, (1, 32, 3, 3), constants)
    assert len(traps(data)) == 1
    x = np.full((1, 32, 3, 3), 255, np.uint8)
    assert (session(data).run(["y"], {"x": x})[0] == 255).all()


def test_a_float_model_is_computed_word_by_word() -> None:
    """A Gelu of single operators, which the optimiser would fuse into a kernel with other roundings."""
    constants: dict[str, NDArray[Any]] = {
        "root": np.array(np.sqrt(2), np.float32), "one": np.array(1, np.float32), "half": np.array(0.5, np.float32),
    }  # fmt: skip
    nodes = [
        helper.make_node("Div", ["x", "root"], ["a"]), helper.make_node("Erf", ["a"], ["b"]),
        helper.make_node("Add", ["b", "one"], ["c"]), helper.make_node("Mul", ["x", "c"], ["d"]),
        helper.make_node("Mul", ["d", "half"], ["y"]),
    ]  # fmt: skip
    data = model(nodes, TensorProto.FLOAT, (64, 64), constants)
    x = RNG.standard_normal((64, 64)).astype(np.float32)
    assert np.array_equal(session(data).run(["y"], {"x": x})[0], session(data, kind=FLOAT).run(["y"], {"x": x})[0])
