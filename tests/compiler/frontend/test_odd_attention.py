"""Attention at its edges: no heads, scales beyond the tables of exponentials."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.frontend.errors import ModelError
from compiler.frontend.pipeline import import_model
from tests.compiler.frontend.row_models import ROWS, between
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs


@pytest.mark.parametrize(
    ("operator", "domain", "name"),
    [("Attention", "", "q_num_heads"), ("Attention", "", "kv_num_heads"), ("MultiHeadAttention", "com.microsoft", "num_heads")],
)
@pytest.mark.parametrize("heads", [0, -1])
def test_heads_that_are_none_are_refused(operator: str, domain: str, name: str, heads: int) -> None:
    """onnxruntime would divide by their number."""
    given: dict[str, Any] = {"q_num_heads": 2, "kv_num_heads": 2} if operator == "Attention" else {}
    node = helper.make_node(operator, ["q", "k", "v"], ["y"], "mixed", domain=domain, **{**given, name: heads})
    inputs, outputs = (
        [helper.make_tensor_value_info(tensor, TensorProto.FLOAT, (1, 5, 8)) for tensor in names] for names in ("qkv", "y")
    )
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph([node], "g", inputs, outputs), opset_imports=opsets, ir_version=10)
    with pytest.raises(ModelError, match=rf"node mixed: {name} {heads} of {operator}, at least 1 is expected"):
        import_model(model)


@pytest.mark.parametrize("scale", [30.0, 1e4, 1e-9, 1e-30])
def test_scales_that_the_table_does_not_hold(scale: float) -> None:
    """Great ones leave nothing but the greatest elements, which share all; small ones leave equal shares."""
    given = between("Softmax", (1, 5, 9), output_scale=1 / 255)
    held = next(value for value in given.graph.initializer if value.name == "s")
    held.CopyFrom(numpy_helper.from_array(np.array(scale, np.float32), "s"))
    compiled = compile_model(given, ROWS, cache=False)
    assert "row" not in compiled.imported.reasons
    inputs = random_inputs(compiled.program)
    inputs["x"][0, 1, 3:6] = inputs["x"].max()
    found = check(compiled, inputs)
    assert found.equal, str(found)
    assert all(row.differ == 0 for row in found.defined)
