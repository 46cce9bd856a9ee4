"""Weights of tests: their own, whichever tests have run before."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compiler.frontend.quantised_models import generator, weights

AHEAD = weights(3)


@pytest.mark.parametrize("turn", range(2))
def test_what_is_drawn_depends_on_the_test_alone(turn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test of another name draws in between; a module draws by its own name."""
    here = f"tests/compiler/frontend/test_drawn_weights.py::test_what_is_drawn_depends_on_the_test_alone[{turn}]"
    expected = np.random.default_rng([*here.encode()]).standard_normal(6) * 0.3
    first = weights(3)
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "another (call)")
    weights(5)
    monkeypatch.undo()
    np.testing.assert_array_equal(np.concatenate([first, weights(3)]), expected.astype(np.float32))
    module = np.random.default_rng([*__name__.encode()]).standard_normal(3) * 0.3
    np.testing.assert_array_equal(AHEAD, module.astype(np.float32))
    assert generator() is generator()
