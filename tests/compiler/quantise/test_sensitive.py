"""Accuracy that is asked for: how many layers stay in float, which, and what is told where an output is of little use."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from compiler.frontend.reader import read
from compiler.quantise.choices import Choices
from compiler.quantise.noise import Noise, noise_of_tensors
from compiler.quantise.quantise import quantise
from compiler.quantise.sensitive import Loss, reaching
from compiler.quantise.statistics import CalibrationError, CalibrationWarning
from tests.compiler.frontend.quantised_models import model, node

DATA = np.random.default_rng(4).standard_normal((8, 4, 10, 10)).astype(np.float32)
_RNG = np.random.default_rng(4)


def seeded(*shape: int) -> NDArray[np.float32]:
    return (_RNG.standard_normal(shape) * 0.3).astype(np.float32)


TABLE = {
    "w": seeded(6, 4, 3, 3), "v": seeded(6, 6, 1, 1), "u": seeded(3, 6, 1, 1), "two": np.array(2, np.float32),
    "small": np.array(1e-3, np.float32),
}  # fmt: skip
VARIANCE = read(model(
    [node("Conv", "x w", "a"), node("ReduceMean", "a", "m", axes=[2, 3]), node("Sub", "a m", "d"), node("Pow", "d two", "p"),
     node("ReduceMean", "p", "q", axes=[2, 3]), node("Add", "q small", "e"), node("Sqrt", "e", "s"), node("Div", "d s", "n"),
     node("Conv", "n v", "c"), node("Relu", "c", "r"), node("Conv", "r u")],
    (1, 4, 10, 10), TABLE, opset=13,
))  # fmt: skip
"""A normalisation, spelt out."""


@pytest.mark.parametrize("needed", range(8))
def test_as_few_stay_in_float_as_must(needed: int) -> None:
    """By a loop from the head of the row."""
    ranked = [Loss(Noise(f"n{i}", f"t{i}", 20.0), 30.0, frozenset({f"n{i}"})) for i in range(7)]
    asked = []

    def met(names: frozenset[str]) -> bool:
        asked.append(names)
        return len(names) >= needed

    expected = next(frozenset(f"n{i}" for i in range(count)) for count in range(8) if count >= needed)
    assert reaching(ranked, met) == expected
    assert len(asked) <= 7


def test_noise_that_a_layer_adds_is_what_it_makes_less_what_it_reads() -> None:
    assert Loss(Noise("n", "t", 20.0), 30.0, frozenset()).added == pytest.approx(0.01 - 0.001)
    assert Loss(Noise("n", "t", float("inf")), float("inf"), frozenset()).added == 0


@pytest.mark.parametrize("asked", [25.0, 33.0])
def test_what_is_asked_is_reached(asked: float) -> None:
    """On calibration inputs; the outputs of others are near it."""
    done = quantise(VARIANCE, {"x": DATA}, Choices(accuracy=asked))
    rows = {row.tensor: row.decibels for row in noise_of_tensors(done.float_model, done.model, {"x": DATA})}
    assert rows.get("y", 99.0) >= asked - 3
    assert asked < 30 or done.kept
    assert {each.op_type for each in done.model.nodes if each.name in done.kept} <= {each.op_type for each in VARIANCE.nodes}


def test_everything_in_float_is_what_no_quantisation_reaches() -> None:
    done = quantise(VARIANCE, {"x": DATA}, Choices(accuracy=90.0))
    assert not any(each.op_type.startswith("QLinear") for each in done.model.nodes)


def test_answers_are_kept() -> None:
    nodes = [node("Conv", "x w", "a"), node("GlobalAveragePool", "a", "g"), node("Flatten", "g")]
    net = read(model(nodes, (1, 4, 10, 10), TABLE))
    assert quantise(net, {"x": DATA}, Choices(top1=1.0)).model.outputs == ("y",)


def test_an_output_that_is_of_little_use_is_told_with_where_it_is_lost() -> None:
    """A difference of two large numbers."""
    table = {"w": TABLE["w"], "far": np.array(1000, np.float32), "near": np.array(-1000, np.float32), "v": TABLE["v"]}
    nodes = [node("Conv", "x w", "a"), node("Add", "a far", "b"), node("MaxPool", "b", "p", kernel_shape=[2, 2])]
    net = read(model([*nodes, node("Add", "p near", "c"), node("Conv", "c v")], (1, 4, 10, 10), table))
    message = r"output y: signal to noise .* dB on calibration inputs held back, 15 are expected; most is lost in .*y 15dB"
    with pytest.warns(CalibrationWarning, match=message):
        quantise(net, {"x": DATA})


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (Choices(top1=1.5), "top-1: 1.5 is asked for, expected a share above 0 and at most 1"),
        (Choices(accuracy=20.0, method="mse"), "accuracy: needs calibration method measured, found 'mse'"),
    ],
)
def test_what_cannot_be_asked_is_refused(choices: Choices, message: str) -> None:
    with pytest.raises(CalibrationError, match=message):
        choices.check()
