"""Older operator sets are converted, with what else is in the model."""

from __future__ import annotations

import numpy as np

from compiler.frontend.model import to_proto
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.quantise.opset import TARGET, modernised
from tests.compiler.frontend.quantised_models import model, node


def test_operators_of_other_domains_stay() -> None:
    net = read(model([node("Relu", "x", "r"), node("Gelu", "r", "y", "com.microsoft")], (1, 4), opset=TARGET - 1))
    found, values = modernised(net), {"x": np.arange(-1, 3, dtype=np.float32).reshape(1, 4)}
    assert found.opsets[""] == TARGET
    np.testing.assert_array_equal(run(to_proto(found), values)["y"], run(to_proto(net), values)["y"])
