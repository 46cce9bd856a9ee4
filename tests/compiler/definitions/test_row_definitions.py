"""Softmax and normalisation: the functional simulator's arithmetic against onnxruntime on the integer graphs, and both against
plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from onnx import helper, numpy_helper

from compiler.definitions.by_name import definition, is_definition
from compiler.definitions.integer_graph import DOMAIN
from compiler.definitions.rows import DIVISORS, INPUTS, NORMALISATION, SOFTMAX
from compiler.frontend.session import run
from isa.rows import (
    Ints,
    RowError,
    below_root,
    exp_tables,
    exp_words,
    exponentials,
    factors,
    norm_factors,
    norm_records,
)
from sim.functional import rows

LENGTHS = (1, 2, 7, 64, 197, 768, 4096)
SPREADS = (1, 12, 128)
"""Rows of nearly equal elements, of ordinary ones, of any."""


def drawn(length: int, seed: int) -> Ints:
    """Rows of every spread, the extremes among them."""
    rng = np.random.default_rng([length, seed])
    some = [np.clip(rng.normal(rng.integers(-64, 64), spread, (3, length)), -128, 127) for spread in SPREADS]
    edges = [np.full((1, length), value) for value in (-128, 0, 127)]
    peak = np.full((1, length), -128)
    peak[0, -1] = 127
    return np.concatenate([*some, *edges, peak]).astype(np.int64)


def on_onnxruntime(name: str, x: Ints, opset: int = 21, /, **constants: object) -> Ints:
    """What the definition makes of int8 rows, and of the same as uint8; ``constants``: what it reads besides."""
    signed = _run(name, x.astype(np.int8), opset, {**constants, "low": -128, "high": 127})
    higher = {"x_zero_point", "zero_point"} & {*constants}
    raised = {key: np.asarray(constants[key]) + 128 for key in higher}
    unsigned = _run(name, (x + 128).astype(np.uint8), opset, {**constants, **raised, "low": 0, "high": 255})
    assert np.array_equal(signed, unsigned - 128)
    return signed


def _run(name: str, x: np.ndarray, opset: int, constants: dict[str, object]) -> Ints:
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    node = helper.make_node(name, INPUTS[name], ["y"], domain=DOMAIN, to=kind)
    ends = [helper.make_tensor_value_info(end, kind, ["rows", x.shape[1]]) for end in "xy"]
    numbers = [numpy_helper.from_array(np.asarray(value, np.int64), key) for key, value in constants.items()]
    graph = helper.make_graph([node], "definition", ends[:1], ends[1:], numbers)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=[definition(name, opset)], ir_version=10)
    result: Ints = run(model, {"x": x})["y"].astype(np.int64)
    return result


def half_even(value: Fraction) -> int:
    return round(value)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(
    ("scale", "output_scale", "zero_point"), [(0.09, 1 / 255, -128), (1.5, 1 / 256, -128), (1e-4, 0.011, 3)]
)
def test_softmax(length: int, scale: float, output_scale: float, zero_point: int) -> None:
    e, t = exponentials(scale, output_scale)
    x = drawn(length, 1)
    ours = np.clip(rows.softmax(x, e, t) + zero_point, -128, 127)
    assert np.array_equal(ours, on_onnxruntime(SOFTMAX, x, e=e, t=t, zero_point=zero_point))
    for number in range(0, len(x), 4):
        denominator = sum(int(e[v - x[number].max() + 255]) for v in x[number])
        for value, result in zip(x[number, :50], ours[number], strict=False):
            exact = Fraction(16 * int(t[value - x[number].max() + 255]), denominator)
            assert result == min(127, max(-128, half_even(exact) + zero_point))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("rms", [False, True])
@pytest.mark.parametrize(("scale", "epsilon", "output_scale"), [(0.02, 1e-6, 0.03), (3.0, 1e-12, 0.1), (0.01, 1e-3, 1e-4)])
def test_normalisation(length: int, rms: bool, scale: float, epsilon: float, output_scale: float) -> None:
    rng = np.random.default_rng([length, rms])
    gamma, beta = rng.normal(1, 0.5, length), rng.normal(0, 0.5, length)
    g, b, shift = factors(gamma, beta, output_scale)
    k = below_root(epsilon, length, scale)
    x = drawn(length, 2)
    zero_point, input_zero_point = -7, 5 if rms else 0
    ours = rows.normalised(x - input_zero_point, k, g, b, shift, rms=rms)
    ours = np.clip(ours + zero_point, -128, 127)
    numbers = {"k": k, "g": g, "b": b, "divisor": DIVISORS[shift], "centred": not rms}
    theirs = on_onnxruntime(NORMALISATION, x, x_zero_point=input_zero_point, zero_point=zero_point, **numbers)
    assert np.array_equal(ours, theirs)
    real = (x - input_zero_point) * scale
    centred = real if rms else real - real.mean(axis=1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + k * scale**2 / length**2 / 2**14) * gamma + beta
    near = np.clip(wanted / output_scale + zero_point, -128, 127)
    assert np.abs(ours - near).max() <= 0.5 + 1e-3


@pytest.mark.parametrize("opset", range(10, 27))
def test_every_operator_set(opset: int) -> None:
    x = drawn(7, 3)
    e, t = exponentials(0.1, 1 / 255)
    numbers = {"k": 5, "g": np.full(7, 1 << 20), "b": np.zeros(7), "divisor": 1 << 45, "centred": 1, "x_zero_point": 3}
    for name, values in ((SOFTMAX, {"e": e, "t": t}), (NORMALISATION, numbers)):
        newest = on_onnxruntime(name, x, **values, zero_point=-9)
        assert np.array_equal(newest, on_onnxruntime(name, x, opset, **values, zero_point=-9))
        assert is_definition(definition(name, opset))


def test_another_function_is_no_definition() -> None:
    found = definition(SOFTMAX, 21)
    other = type(found).FromString(found.SerializeToString())
    assert is_definition(other)
    del other.node[3]
    assert not is_definition(other)


def test_tables_and_records_come_back() -> None:
    e, t = exponentials(0.05, 1 / 255)
    assert e[255] == 1 << 30
    assert t[255] == 255 << 26
    assert math.isclose(e[0] / 2**30, math.exp(-255 * 0.05), abs_tol=2**-31)
    assert all(np.array_equal(*pair) for pair in zip(exp_tables(exp_words(e, t)), (e, t), strict=True))
    g, b, shift = factors([1.5, -2.0, 0.0], [0.5, -0.25, 3.0], 0.02)
    assert shift == 0
    assert all(np.array_equal(*pair) for pair in zip(norm_factors(norm_records(g, b)), (g, b), strict=True))


def test_factors_take_the_least_shift() -> None:
    assert [factors([2.0**n], [0.0], 1.0)[2] for n in (7, 8, 10, 11, 14, 16)] == [0, 1, 1, 2, 3, 3]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: exponentials(0.1, 1 / 512), "softmax from scale 0.1 to 0.001953125: expected scales above 0"),
        (lambda: exponentials(0.0, 1.0), "softmax from scale 0.0 to 1.0"),
        (lambda: factors([1e6], [0.0], 1.0), "gamma or beta is 1e\\+06 steps of it, more than ROW holds; keep it on the CPU"),
        (lambda: below_root(1.0, 4096, 1e-6), "normalisation of scale 1e-06: epsilon 1.0 is \\d+ of its units"),
    ],
)
def test_what_row_cannot_hold_is_refused(make: Callable[[], object], text: str) -> None:
    with pytest.raises(RowError, match=text):
        make()
