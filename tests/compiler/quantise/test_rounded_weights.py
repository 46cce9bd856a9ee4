"""Rounding to four bits keeps what a layer makes of its inputs better than the nearest numbers do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.frontend.model import Node
from compiler.frontend.session import run
from compiler.quantise.rounding import HIGH, LOW, error_share, nearest, places_of, rounded, steps_of
from tests.compiler.frontend.quantised_models import model, node

RNG = np.random.default_rng(6)


def test_inputs_that_have_nothing_in_common_round_to_the_nearest() -> None:
    rows = RNG.standard_normal((5, 12))
    step = steps_of(rows)
    assert np.array_equal(rounded(rows, step, np.diag(RNG.uniform(1, 9, 12))), nearest(rows, step))


@pytest.mark.parametrize("inputs", [3, 40, 200])
def test_what_one_weight_loses_the_others_make_up_for(inputs: int) -> None:
    rows = RNG.standard_normal((6, inputs))
    mixed = RNG.standard_normal((400, inputs)) @ RNG.standard_normal((inputs, inputs))
    products, step = mixed.T @ mixed, steps_of(rows)
    made = rounded(rows, step, products)
    assert set(made.reshape(-1)) <= set(range(LOW, HIGH + 1))
    assert error_share(rows, made * step[:, None], products) < error_share(rows, nearest(rows, step) * step[:, None], products)


def test_the_error_is_that_of_the_outputs() -> None:
    rows, made, inputs = RNG.standard_normal((3, 8)), RNG.standard_normal((3, 8)), RNG.standard_normal((50, 8))
    real, other = inputs @ rows.T, inputs @ made.T
    assert error_share(rows, made, inputs.T @ inputs) == pytest.approx(np.square(other - real).sum() / np.square(real).sum())


def test_a_row_of_zeros_has_a_step() -> None:
    assert (steps_of(np.zeros((2, 5))) > 0).all()


@pytest.mark.parametrize(
    "attributes",
    [{}, {"pads": [1, 0, 2, 1]}, {"strides": [2, 3]}, {"dilations": [2, 1], "pads": [1, 1, 1, 1], "strides": [1, 2]}],
)
def test_places_hold_what_an_output_reads(attributes: dict[str, Any]) -> None:
    """Each row times the weights is an output of onnxruntime's convolution."""
    x, w = (RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 9, 8), (4, 3, 2, 3)))
    source = model([node("Conv", "x w", **attributes)], x.shape, {"w": w})
    outputs = np.moveaxis(run(source, {"x": x})["y"], 1, -1).reshape(-1, 4)
    places = places_of(Node("n", "Conv", ("x", "w"), ("y",), attributes), x, w.shape[2:], np.random.default_rng(0))
    assert len(places) == len(outputs)
    assert np.allclose(places @ w.reshape(4, -1).T, outputs, atol=1e-4)
