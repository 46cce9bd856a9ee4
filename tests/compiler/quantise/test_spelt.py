"""What a model spells out with squares, roots and exponentials: which nodes these are, and when they stay in float."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from compiler.frontend.model import Model, to_proto
from compiler.frontend.pipeline import FOR_ACCURACY, import_model
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.frontend.types import with_types
from compiler.quantise.choices import Choices
from compiler.quantise.forms import forms_of
from compiler.quantise.noise import decibels
from compiler.quantise.quantise import quantise
from compiler.quantise.spelt import spelt_out
from compiler.quantise.statistics import batches
from tests.compiler.frontend.quantised_models import model, node

_RNG = np.random.default_rng(7)
TOKENS, WIDTH = 12, 16
TABLE = {
    **{name: (_RNG.standard_normal((WIDTH, WIDTH)) * 0.3).astype(np.float32) for name in ("w", "v", "u")},
    "k": (_RNG.standard_normal((4, 4, 1, 1))).astype(np.float32),
    "two": np.array(2, np.float32), "half": np.array(0.5, np.float32), "small": np.array(1e-5, np.float32),
}  # fmt: skip
NORMALISED = (
    node("ReduceMean", "a", "mean", axes=[-1]), node("Sub", "a mean", "centred"), node("Pow", "centred two", "squared"),
    node("ReduceMean", "squared", "variance", axes=[-1]), node("Add", "variance small", "more"), node("Sqrt", "more", "root"),
    node("Div", "centred root", "normal"),
)  # fmt: skip
SOFTMAX = (
    node("ReduceMax", "a", "greatest", axes=[-1]), node("Sub", "a greatest", "below"), node("Exp", "below", "power"),
    node("ReduceSum", "power", "all", axes=[-1]), node("Div", "power all", "normal"),
)  # fmt: skip
MAGNITUDE = (
    node("Pow", "a two", "real"), node("Mul", "b b", "imaginary"), node("Add", "real imaginary", "power"),
    node("Sqrt", "power", "normal"),
)  # fmt: skip
BLOCK = (
    node("MatMul", "x w", "a"), *NORMALISED, node("MatMul", "normal v", "c"), node("Add", "a c", "d"), node("MatMul", "d u"),
)  # fmt: skip
"""Of a transformer, without its attention."""


def tokens(seed: int, count: int) -> NDArray[np.float32]:
    """Some of which are much louder than others."""
    rng = np.random.default_rng(seed)
    loud = 10 ** rng.uniform(-1.5, 0.5, (count, TOKENS, 1))
    return (rng.standard_normal((count, TOKENS, WIDTH)) * loud).astype(np.float32)


def built(*nodes: onnx.NodeProto, shape: tuple[int, ...] = (1, TOKENS, WIDTH)) -> Model:
    return with_types(read(model([*nodes], shape, TABLE, opset=12)))


def results(nodes: tuple[onnx.NodeProto, ...]) -> set[str]:
    return {name for each in nodes for name in each.output}


@pytest.mark.parametrize("spelt", [NORMALISED, SOFTMAX, MAGNITUDE], ids=["layer normalisation", "softmax", "magnitude"])
def test_all_nodes_are_found_and_none_beside_them(spelt: tuple[onnx.NodeProto, ...]) -> None:
    """Of those that the machine would get: a quotient of two tensors is none."""
    sources = node("MatMul", "x w", "a"), node("MatMul", "x v", "b")
    net = built(*sources, *spelt, node("MatMul", "normal u", "c"), node("Add", "c a", "d"), node("Relu", "d"))
    forms = forms_of(net)
    made = {each.output: each.name for each in net.nodes}
    assert spelt_out(forms) == {made[name] for name in results(spelt)}.intersection(forms.of)


@pytest.mark.parametrize(
    "nodes",
    [
        (node("Conv", "x k", "a"), node("ReduceMean", "a", "m", axes=[2, 3]), node("Conv", "m k", "s"),
         node("Sigmoid", "s", "g"), node("Mul", "a g", "y")),
        (node("Conv", "x k", "a"), node("ReduceMean", "a", "m", axes=[2, 3]), node("Div", "m two", "d"), node("Conv", "d k")),
        (node("Conv", "x k", "a"), node("Mul", "a a", "q"), node("Tanh", "q", "t"), node("Mul", "a t", "y")),
    ],
    ids=["gate by channel", "mean by a constant", "function of one tensor"],
)  # fmt: skip
def test_what_is_none_is_not_found(nodes: tuple[onnx.NodeProto, ...]) -> None:
    assert spelt_out(forms_of(built(*nodes, shape=(1, 4, 6, 6)))) == frozenset()


@pytest.mark.filterwarnings("ignore:output y")
def test_a_normalisation_is_as_near_as_in_float() -> None:
    """By default no more than 3 dB behind a model in which the user keeps it; in eight bits it would be."""
    net, data = built(*BLOCK), tokens(1, 8)
    names = spelt_out(forms_of(net))
    told: list[str] = []
    done = quantise(net, {"x": data}, Choices(), told.append)
    asked = quantise(net, {"x": data}, Choices(keep_float=tuple(names)))
    whole = quantise(net, {"x": data}, Choices(method="mse"))
    found, kept, eight = (score(net, each) for each in (done.model, asked.model, whole.model))
    assert done.kept == names
    assert found > kept - 3
    assert eight < kept - 3
    assert any(line.startswith("spelt out in float: +") for line in told)


def score(net: Model, quantised: Model) -> float:
    signal = noise = 0.0
    for feeds in batches(net, {"x": tokens(2, 8)}):
        real, found = (run(to_proto(each), feeds)["y"].astype(np.float64) for each in (net, quantised))
        signal, noise = signal + np.square(real).sum(), noise + np.square(found - real).sum()
    return decibels(signal, noise)


@pytest.mark.filterwarnings("ignore:output y")
def test_what_gains_nothing_goes_to_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compiler.quantise.refine.LEAST_GAIN", 1000.0)
    assert quantise(built(*BLOCK), {"x": tokens(1, 8)}).kept == frozenset()


@pytest.mark.filterwarnings("ignore:output y")
def test_what_stays_in_float_is_told() -> None:
    """The summary prints what has this reason, and what it costs."""
    found = import_model(model([*BLOCK], (1, TOKENS, WIDTH), TABLE, opset=12), calibration={"x": tokens(1, 8)})
    told = {name for name, reason in found.reasons.items() if reason == FOR_ACCURACY}
    assert told == spelt_out(forms_of(built(*BLOCK)))
