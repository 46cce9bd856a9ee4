"""The fit of the size model: weights that are known are found again, and errors are those of what was left out."""

from __future__ import annotations

import numpy as np
import pytest

from bench.size_model import chosen, fit, fitted, left_out_errors, machines

RNG = np.random.default_rng(3)
ROWS = np.column_stack([np.ones(12), RNG.uniform(1, 100, (12, 3))])
WEIGHTS = np.array([500.0, 7.0, 0.0, 2.0])


def test_weights_that_made_the_sizes_are_found_again() -> None:
    np.testing.assert_allclose(fit(ROWS, ROWS @ WEIGHTS), WEIGHTS, atol=1e-3)


def test_no_weight_is_negative() -> None:
    assert fit(ROWS, ROWS @ np.array([500.0, 7.0, -1.0, 2.0])).min() == 0


def test_the_fit_is_the_best_of_its_neighbours() -> None:
    measured = ROWS @ WEIGHTS * RNG.uniform(0.8, 1.2, 12)

    def badness(weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float((((ROWS @ weights) / measured - 1) ** 2).sum())

    found = fit(ROWS, measured)
    for part in range(4):
        for factor in (0.99, 1.01):
            other = found.copy()
            other[part] = max(1e-3, other[part]) * factor
            assert badness(other) >= badness(found)


def test_errors_are_those_of_machines_that_were_left_out() -> None:
    measured = ROWS @ WEIGHTS
    assert np.abs(left_out_errors(ROWS, measured)).max() < 1e-4
    measured[4] *= 2
    assert left_out_errors(ROWS, measured)[4] == pytest.approx(-0.5, abs=1e-3)


def test_only_parts_that_help_are_taken() -> None:
    measured = ROWS @ np.array([0.0, 7.0, 0.0, 0.0])
    assert chosen(ROWS, measured) == [1]
    kinds = fitted(ROWS, {"LUT": measured}, ["a", "b", "c", "d"])
    assert kinds == {"LUT": {"weights": {"b": 7.0}, "error": 0.0}}


def test_machines_have_names_of_their_own() -> None:
    for target in ("xcup", "ecp5"):
        names = [config.name for config in machines(target)]
        assert len({*names}) == len(names)
