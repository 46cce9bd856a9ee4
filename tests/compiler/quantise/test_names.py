"""Tensors that are called as quantisation calls what it makes of others."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.frontend.errors import ModelError
from compiler.quantise.names import ENDINGS
from tests.compiler.frontend.quantised_models import check_exact, imported, model, node, weights

SHAPE = (1, 4, 6, 6)
W = weights(4, 4, 3, 3)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_constant_is_not_taken_for_what_is_made_of_a_tensor(ending: str) -> None:
    def scales(name: str) -> dict[str, float]:
        nodes = [node("Add", f"x {name}", "a"), node("Sigmoid", "a", "b"), node("Conv", "b w", "c"), node("Conv", "x w", "d")]
        found = imported(model(nodes, SHAPE, {"w": W, name: np.array(0.5, np.float32)}, ("c", "d")))
        check_exact(found)
        return {tensor: it.quantisation.scale for tensor, it in found.graph.tensors.items()}

    assert scales(f"x{ending}") == scales("k")


@pytest.mark.parametrize("ending", ENDINGS)
def test_tensors_and_outputs_keep_apart(ending: str) -> None:
    nodes = [node("Conv", "x w", "a"), node("Relu", "a", f"x{ending}"), node("Conv", f"x{ending} w", f"a{ending}")]
    check_exact(imported(model(nodes, SHAPE, {"w": W}, (f"a{ending}",))))


def test_two_names_that_must_stay_are_refused() -> None:
    with pytest.raises(ModelError, match="tensor x_scale: is called as what quantisation makes of x, and both"):
        imported(model([node("Relu", "x", "x_scale")], SHAPE, outputs=("x_scale",)))
