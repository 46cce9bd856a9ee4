"""Networks of 8 bits, some of whose activations get 16."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from compiler.frontend.session import run
from compiler.zoo.long_tensors import FINER, MICROSOFT, with_long_tensors
from compiler.zoo.quantised import quantised
from compiler.zoo.random_layers import Layer
from compiler.zoo.random_models import Recipe, build

SEEDS = range(8)
MODEL = build(Recipe(1, 4, (9, 7), 1, tuple(Layer(kind, 7) for kind in ("conv", "pool", "Sigmoid", "dense"))))


def constants(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


@pytest.mark.parametrize("activations", ["int8", "uint8"])
def test_tensors_keep_their_range_and_layers_their_biases(activations: str) -> None:
    """What changes are scales and zero-points, and biases with their scales; real values of constants stay."""
    source = quantised(MODEL.SerializeToString(), activations, "per channel", "QDQ")
    before, shares = constants(source), set[float]()
    inputs = {each.name: np.random.default_rng(1).normal(size=(1, 4, 9, 7)).astype(np.float32) for each in source.graph.input}
    for seed in SEEDS:
        made = with_long_tensors(source, seed)
        after = constants(made)
        longer = {name for name, value in after.items() if value.dtype == np.int16}
        shares.add(len(longer) / sum(name.endswith("_zero_point") and before[name].ndim == 0 for name in before))
        for node in made.graph.node:
            if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
                assert (node.domain == MICROSOFT) == (node.input[2] in longer)
        off = 128 if activations == "uint8" else 0
        assert all((after[name] == (before[name].astype(np.int16) - off) * FINER).all() for name in longer)
        for name, value in before.items():
            if name.endswith("_quantized") and value.dtype == np.int32:
                scale = f"{name}_scale"
                assert np.allclose(after[name] * after[scale].astype(float), value * before[scale].astype(float), rtol=1e-5)
        assert all(np.isfinite(value).all() for value in run(made, inputs).values())
    assert len(shares) > 1


def test_what_has_no_quantised_activation_stays() -> None:
    made = with_long_tensors(MODEL, 0).graph
    assert [*made.node] == [*MODEL.graph.node]
    assert [*made.initializer] == [*MODEL.graph.initializer]
