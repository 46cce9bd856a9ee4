"""Which layers take weights of four bits, and what is said of bits that nothing goes by."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.pipeline import import_model
from compiler.frontend.reader import read
from compiler.quantise.bits import Bits, bits_of
from compiler.quantise.choices import Choices
from compiler.quantise.quantise import Quantised, quantise
from compiler.quantise.statistics import CalibrationError, CalibrationWarning
from compiler.xgraph.ops import Conv
from tests.compiler.frontend.quantised_models import check_exact, model, node

RNG = np.random.default_rng(4)
DATA = RNG.standard_normal((8, 4, 10, 10)).astype(np.float32)
SHAPES = {"w": (12, 4, 3, 3), "d": (12, 1, 3, 3), "v": (10, 12, 1, 1), "u": (10, 10, 1, 1), "t": (3, 10, 1, 1)}
TABLE = {name: (RNG.standard_normal(shape) * 0.3).astype(np.float32) for name, shape in SHAPES.items()}
SOURCE = model(
    [node("Conv", "x w", "a"), node("Conv", "a d", "b", group=12), node("Conv", "b v", "c"), node("Relu", "c", "r"),
     node("Conv", "r u", "e"), node("Conv", "e t")],
    (1, 4, 10, 10), TABLE, opset=17,
)  # fmt: skip
DENSE = [name for name in SHAPES if name != "d"]


def made(bits: str, scheme: str = "free", method: str = "measured") -> Quantised:
    return quantise(read(SOURCE), {"x": DATA}, Choices(scheme, method, weights=bits))


def narrow(found: Quantised) -> list[str]:
    """Weights that have four bits."""
    constants = found.model.constants
    return [name for name in SHAPES if np.abs(constants[f"{name}_quantized"].astype(int) + 0.5).max() < 8]


def test_all_layers_but_depthwise_ones_have_four_bits() -> None:
    """Depthwise weights are in another memory."""
    assert narrow(made("4")) == DENSE
    assert narrow(made("8")) == []
    assert narrow(made("4", method="minmax")) == DENSE


def test_four_bits_are_exact_and_take_half_the_bytes() -> None:
    found = import_model(SOURCE, calibration={"x": DATA}, choices=Choices(weights="4"))
    assert [op.int4 for op in found.graph.ops if isinstance(op, Conv)] == [True, False, True, True, True]
    check_exact(found)


def test_the_first_and_the_last_layer_come_last() -> None:
    weights = sum(int(np.prod(shape)) for shape in SHAPES.values())
    inner = TABLE["v"].size + TABLE["u"].size
    assert narrow(made(f"auto:{weights}B")) == []
    assert narrow(made(f"auto:{weights - inner // 2}B")) == ["v", "u"]
    assert narrow(made(f"auto:{weights - inner // 2 - 1}B")) in (["w", "v", "u"], ["v", "u", "t"])


def test_noise_decides_how_many() -> None:
    counts = [len(narrow(made(f"auto:{decibels}dB"))) for decibels in (-10, 25, 60)]
    assert counts[0] == len(DENSE)
    assert counts[0] > counts[1] >= counts[2] == 0
    assert len(narrow(made("auto"))) < len(DENSE)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("8", None), ("4", Bits(True)), ("auto", Bits()), ("auto:30dB", Bits(decibels=30.0)), ("auto:2MB", Bits(size=2e6)),
        ("auto:1.5kB", Bits(size=1500.0)), ("auto:700B", Bits(size=700.0)),
    ],
)  # fmt: skip
def test_what_a_user_asks_for(text: str, found: Bits | None) -> None:
    assert bits_of(text) == found


@pytest.mark.parametrize("text", ["", "2", "16", "four", "auto:", "auto:dB", "auto:30", "auto:2TB", "4,8"])
def test_other_bits_are_refused(text: str) -> None:
    with pytest.raises(CalibrationError, match=r"bits of weights: .* is unknown; choose one of 8, 4, auto"):
        Choices(weights=text).check()


def test_what_cannot_be_had_is_refused() -> None:
    with pytest.raises(CalibrationError, match="'4' needs scheme free, found 'power_of_two'; leave one out"):
        made("4", scheme="power_of_two")
    with pytest.raises(CalibrationError, match="'auto' needs calibration method measured, found 'minmax'; leave one out"):
        made("auto", method="minmax")
    with pytest.raises(CalibrationError, match="100 bytes are asked for, expected 449 or more, what four bits take"):
        made("auto:100B")
    with (
        pytest.warns(CalibrationWarning, match="no calibration data"),
        pytest.raises(CalibrationError, match="'auto' needs calibration data; give it, or say 4 or 8"),
    ):
        quantise(read(SOURCE), None, Choices(weights="auto"))
