"""Networks of the zoo, reduced, quantised by onnxruntime's own tools: every output element is that of its integer kernels."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

from bench.quantised import measured
from compiler.zoo.networks import networks
from compiler.zoo.quantised import ACTIVATIONS, FORMS, WEIGHTS, quantised

SIZE = 32


@cache
def built(name: str) -> bytes:
    whole: bytes = networks()[name](size=SIZE).SerializeToString()
    return whole


WAYS = [("mobilenet_v2", *ways) for ways in product(ACTIVATIONS, WEIGHTS, FORMS)]
WAYS += [("squeezenet", activations, "per channel", "QDQ") for activations in ACTIVATIONS]
QUICK = [("mobilenet_v2", *ways, "QDQ") for ways in zip(ACTIVATIONS, WEIGHTS, strict=True)] + WAYS[-1:]


@pytest.mark.parametrize(
    ("name", "activations", "weights", "form"),
    [pytest.param(*way, marks=() if way in QUICK else pytest.mark.slow) for way in WAYS],
)
def test_a_network_quantised_by_onnxruntime_is_its_integer_kernels(
    name: str, activations: str, weights: str, form: str
) -> None:
    _, differ, _, _, inexact, cpu = measured(quantised(built(name), activations, weights, form))
    assert (differ, inexact) == ("0", "0")
    assert int(cpu) <= 2  # QuantizeLinear and DequantizeLinear at the ends
