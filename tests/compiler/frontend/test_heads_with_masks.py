"""Heads with something added to their scores stay apart: each has a sum and a softmax of its own."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.xgraph.ops import Constant, Eltwise
from compiler.xgraph.row_operations import Softmax
from tests.compiler.frontend.test_masks import HEADS, Array, attention, compiled, noise
from tilewright.checking import check

TOKENS = 6


@pytest.mark.parametrize("form", ["a position for each head", "one for all heads", "a mask from outside"])
def test_each_head_has_its_own(form: str) -> None:
    masks: dict[str, Array | tuple[int, ...]] = {
        "a position for each head": noise(1, HEADS, TOKENS, TOKENS), "one for all heads": noise(1, 1, 1, TOKENS),
        "a mask from outside": (1, 1, 1, TOKENS),
    }  # fmt: skip
    given = masks[form]
    made = compiled(attention(TOKENS, given))
    ops = made.imported.graph.ops
    assert sum(isinstance(op, Softmax) for op in ops) == HEADS
    assert sum(isinstance(op, Eltwise) and len(op.inputs) == 2 for op in ops) == HEADS
    constants = {"a position for each head": HEADS, "one for all heads": 1, "a mask from outside": 0}
    assert sum(isinstance(op, Constant) for op in ops) == constants[form]
    inputs = {"x": noise(1, TOKENS, 8)}
    if isinstance(given, tuple):
        inputs["mask"] = np.zeros(given, np.float32)
    found = check(made, inputs, per_layer=True)
    assert found.equal, str(found)
