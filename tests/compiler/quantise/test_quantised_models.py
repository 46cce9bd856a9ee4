"""Float models beside their quantised ones, operator by operator; scales that onnxruntime's kernels ask for; operator sets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from compiler.frontend.errors import ModelError
from compiler.frontend.importer.kernels import significant_bits
from compiler.frontend.importer.values import Params
from compiler.frontend.model import Model, Node, TensorType, to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.quantise.accuracy import Accuracy, accuracy
from compiler.quantise.choices import Choices
from compiler.quantise.draft import MOST_MEAN_RATIO, RESIZED_BITS
from compiler.quantise.opset import TARGET, modernised
from compiler.quantise.quantise import Quantised, is_float, quantise
from compiler.quantise.statistics import CalibrationError
from tests.compiler.frontend.layer_cases import CONVOLUTIONS, DENSE, POOLS
from tests.compiler.frontend.movement_cases import MOVES, RESIZES
from tests.compiler.frontend.operator_case import Case, proto_of
from tests.compiler.frontend.pointwise_cases import POINTWISE
from tests.compiler.frontend.quantised_models import model, node, weights
from tests.tables import in_turn, name_of

UNSTEADY = {"two tensors divided"}
"""A divisor that is next to nothing takes a step anywhere."""
CASES = [case for case in (*CONVOLUTIONS, *DENSE, *POOLS, *MOVES, *RESIZES, *POINTWISE) if case.name not in UNSTEADY]
JUMPS = {"Floor", "ThresholdedRelu"}
"""Functions that take a step of their input far."""
MOST_ERROR = {"free": 0.04, "power_of_two": 0.08}
"""Root of the mean square, beside that of the result."""
FLOAT_LAYERS = {"Conv", "Gemm"}


def noise(shape: Any, seed: int = 0) -> NDArray[np.float32]:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape), np.float32)


def numbers(found: Quantised) -> dict[str, NDArray[Any]]:
    return dict(found.model.constants)


@pytest.mark.parametrize(("case", "scheme"), in_turn(CASES, [*MOST_ERROR]), ids=name_of)
def test_a_quantised_operator_is_near_the_float_one(case: Case, scheme: str) -> None:
    """Calibrated with the input itself. What is not for the CPU has weights of eight bits."""
    before = read(proto_of(case))
    feeds = {"x": noise(before.shape("x"))}
    found = quantise(before, feeds, Choices(scheme)).model
    expected, made = run(to_proto(before), feeds), run(to_proto(found), feeds)
    for name in case.outputs:
        apart = math.sqrt(np.mean(np.square(made[name] - expected[name])))
        assert apart <= (0.4 if case.name in JUMPS else MOST_ERROR[scheme]) * math.sqrt(np.mean(np.square(expected[name])))
    assert not {each.op_type for each in found.nodes} & FLOAT_LAYERS - case.host
    assert case.host or not is_float(found)


def test_scales_of_weights_lie_along_their_outputs() -> None:
    """One for each output of a Conv, of a Gemm whichever way its matrix lies, of a deconvolution without groups."""
    table = {"w": weights(5, 6, 1, 1), "v": weights(5, 7, 2, 2), "g": weights(4, 7), "m": weights(4, 3)}
    nodes = [
        node("Conv", "x w", "a"), node("Relu", "a", "b"), node("ConvTranspose", "b v", "c"),
        node("GlobalAveragePool", "c", "d"), node("Flatten", "d", "e"), node("Gemm", "e g", "f", transB=1),
        node("Relu", "f", "h"), node("Gemm", "h m"),
    ]  # fmt: skip
    before = read(model(nodes, (1, 6, 4, 4), table))
    found = numbers(quantise(before, {"x": noise((1, 6, 4, 4))}, Choices("free", "mse")))
    for name, axis in (("w", 0), ("v", 1), ("g", 0), ("m", 1)):
        others = tuple(i for i in range(table[name].ndim) if i != axis)
        assert np.allclose(found[f"{name}_scale"], np.abs(table[name]).max(axis=others) / 127)


def test_deconvolutions_in_groups_have_one_scale() -> None:
    table = {"v": weights(6, 2, 3, 3)}
    before = read(model([node("Relu", "x", "r"), node("ConvTranspose", "r v", group=3)], (1, 6, 4, 4), table))
    found = numbers(quantise(before, {"x": noise((1, 6, 4, 4))}, Choices("free", "mse")))
    assert found["v_scale"].shape == ()


@pytest.mark.parametrize("offset", [0.5, 0.01, 0.0005])
def test_means_are_not_too_fine_for_onnxruntime(offset: float) -> None:
    """Of values around zero the mean is next to nothing. Its scale is doubled until the ratio is within the limit, not more."""
    x = np.array([9.0, -9.0, 9.0, -9.0], np.float32).reshape(1, 1, 2, 2).repeat(2, axis=1) + np.float32(offset)
    nodes = [node("MaxPool", "x", "p", kernel_shape=[1, 1]), node("GlobalAveragePool", "p")]
    found = quantise(read(model(nodes, (1, 2, 2, 2))), {"x": x}, Choices("free", "minmax"))
    constants = numbers(found)
    ratio = float(constants["p_scale"]) / (float(constants["y_scale"]) * 4)
    assert ratio < MOST_MEAN_RATIO
    plain = offset / 255
    doubled = float(constants["y_scale"]) / plain
    assert math.log2(doubled) == pytest.approx(round(math.log2(doubled)), abs=1e-3)
    assert ratio >= MOST_MEAN_RATIO / 2 or doubled == pytest.approx(1, rel=1e-3)
    assert run(to_proto(found.model), {"x": x})["y"].shape == (1, 2, 1, 1)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize("seed", range(4))
def test_scales_of_what_is_resized_linearly_have_few_bits(seed: int, mode: str) -> None:
    """The next ones above, so that nothing is clipped."""
    x = noise((1, 2, 5, 4), seed)
    nodes = [node("LeakyRelu", "x", "r"), node("Resize", "r _ factors", mode=mode)]
    proto = model(nodes, (1, 2, 5, 4), {"factors": np.array([1, 1, 2, 2], np.float32)}, opset=19)
    found = numbers(quantise(read(proto), {"x": x}, Choices("free", "minmax")))
    real = np.where(x < 0, x * np.float32(0.01), x)
    plain = float(real.max() - min(0.0, real.min())) / 255
    scale = float(found["r_scale"])
    if mode == "nearest":
        assert scale == pytest.approx(plain, rel=1e-6)
        return
    assert significant_bits(scale) <= RESIZED_BITS
    assert plain * (1 - 1e-6) <= scale <= plain * (1 + 2.0 ** (1 - RESIZED_BITS))


def test_statistics_can_be_given_again_and_must_be_whole() -> None:
    before = read(model([node("Conv", "x w", "c"), node("Relu", "c")], (1, 3, 4, 4), {"w": weights(2, 3, 1, 1)}))
    how = Choices(method="mse")
    first = quantise(before, {"x": noise((1, 3, 4, 4))}, how)
    again = quantise(before, first.statistics, how)
    assert to_proto(again.model) == to_proto(first.model)
    part = {name: value for name, value in first.statistics.items() if name != "x"}
    with pytest.raises(CalibrationError, match="tensor x is missing"):
        quantise(before, part)


def test_a_form_that_is_given_is_that_of_all_that_shares_it() -> None:
    """A maximum has the scale of what it is taken of."""
    nodes = [node("MaxPool", "x", "p", kernel_shape=[2, 2]), node("Conv", "p w")]
    before = read(model(nodes, (1, 3, 4, 4), {"w": weights(2, 3, 1, 1)}))
    found = numbers(quantise(before, {"x": noise((1, 3, 4, 4))}, Choices(method="mse"), given={"x": Params(0.75, 11, False)}))
    assert [float(found[f"{name}_scale"]) for name in ("x", "p")] == [0.75, 0.75]
    assert [int(found[f"{name}_zero_point"]) for name in ("x", "p")] == [11, 11]


@pytest.mark.parametrize(
    ("nodes", "is_so"),
    [
        ([node("Relu", "x")], True), ([node("DequantizeLinear", "w s", "f"), node("Add", "x f")], True),
        ([node("QuantizeLinear", "x s z")], False), ([node("DynamicQuantizeLinear", "x", "y a b")], False),
        ([node("Cast", "x", "i", to=onnx.TensorProto.INT8), node("DequantizeLinear", "i s")], False),
        ([node("Cast", "x", "i", to=onnx.TensorProto.INT8), node("MatMulInteger", "i m")], False),
    ],
)  # fmt: skip
def test_which_models_are_float(nodes: list[onnx.NodeProto], is_so: bool) -> None:
    table: dict[str, Any] = {
        "w": np.ones((2, 2), np.int8), "m": np.ones((2, 2), np.int8), "s": np.array(0.5, np.float32), "z": np.array(0, np.int8),
    }  # fmt: skip
    assert is_float(read(model(nodes, (2, 2), table))) == is_so


@pytest.mark.parametrize("rank", [2, 3, 4, 5, 6])
def test_the_machine_has_four_dimensions(rank: int) -> None:
    nodes = [node("Relu", "x", "r"), node("Add", "r x")]
    before = read(model(nodes, (2,) * rank))
    found = quantise(before, {"x": noise((2,) * rank)})
    assert is_float(found.model) == (rank > 4)


# Accuracy


def classifier(signs: tuple[int, ...]) -> Model:
    """Answers with the greatest of its inputs, times signs."""
    return read(model([node("Mul", "x k", "m"), node("Reshape", "m s")], (1, 3, 1), {
        "k": np.array(signs, np.float32).reshape(1, 3, 1), "s": np.array([1, 3, 1], np.int64)
    }))  # fmt: skip


def test_accuracy_counts_samples_that_each_model_gets_right() -> None:
    """By hand: answers 0, 1, 2, 1 and 2, 2, 2, 1."""
    x = np.array([[3, 1, 2], [-2, 5, 4], [1, 2, 3], [-1, 9, 2]], np.float32)[..., None]
    plain, other = classifier((1, 1, 1)), classifier((1, 1, 2))
    found = accuracy(plain, other, {"x": x}, np.array([0, 1, 1, 1]))
    assert found == Accuracy(4, 3, 1, 2)
    assert str(found) == "4 samples: float 3 right, quantised 1 right, same answer for 2"
    assert accuracy(plain, other, {"x": x[:2]}, np.array([[0], [2], [9]])) == Accuracy(2, 1, 1, 0)


# Operator sets


def test_old_operator_sets_become_the_first_with_quantised_forms() -> None:
    """Attributes that have become inputs, small and large constants, names of nodes."""
    table = {"w": weights(4, 3, 3, 3), "b": weights(4)}
    nodes = [node("Conv", "x w b", "c"), node("Clip", "c", "d", min=-0.5, max=0.75), node("Softmax", "d", axis=1)]
    nodes[1].name = ""
    before = read(model(nodes, (1, 3, 6, 5), table, opset=10))
    found = modernised(before)
    assert found.opsets[""] == TARGET
    assert found.opsets["com.microsoft"] == 1
    assert all(each.name for each in found.nodes)
    x = {"x": noise((1, 3, 6, 5))}
    assert np.allclose(run(to_proto(found), x)["y"], run(to_proto(before), x)["y"], atol=1e-6)
    assert found.constants["w"] is before.constants["w"]


@pytest.mark.parametrize("opset", [TARGET, TARGET + 4])
def test_newer_operator_sets_are_kept(opset: int) -> None:
    before = read(model([node("Relu", "x")], (1, 3), opset=opset))
    found = modernised(before)
    assert found.opsets[""] == opset
    assert found.nodes == before.nodes


def test_an_operator_set_that_cannot_be_converted_is_told() -> None:
    before = Model("m", (Node("n", "Riddle", ("x",), ("y",)),), {}, {"x": TensorType(1, (4,))}, ("x",), ("y",), {"": 9})
    with pytest.raises(ModelError, match=f"operator set 9 cannot be converted to {TARGET}"):
        modernised(before)
