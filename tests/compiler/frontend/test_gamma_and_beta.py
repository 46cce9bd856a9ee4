"""What a normalisation ends with, a factor and an offset for each feature, before a function: on the machine."""

from __future__ import annotations

import pytest

from tests.compiler.frontend.quantised_models import check_exact, host_operators, imported, model, node, weights

TABLE = {"W": weights(12, 8), "gamma": weights(8) + 1, "beta": weights(8), "V": weights(8, 4)}


@pytest.mark.parametrize("scheme", ["free", "power_of_two"])
def test_factors_of_features_are_no_part_of_a_function_of_one_tensor(scheme: str) -> None:
    nodes = [
        node("MatMul", "x W", "a"), node("ReduceMean", "a", "m", axes=[-1]), node("Sub", "a m", "d"),
        node("Mul", "d gamma", "g"), node("Add", "g beta", "b"), node("Relu", "b", "r"), node("MatMul", "r V"),
    ]  # fmt: skip
    found = imported(model(nodes, (3, 12), TABLE), scheme)
    assert not host_operators(found)
    check_exact(found)
