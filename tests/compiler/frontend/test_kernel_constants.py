"""Sums and products of two maps at free scales: what onnxruntime's kernels compute, and constants that give it always."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from onnx import TensorProto, helper

from compiler.frontend.importer import kernels
from compiler.frontend.importer.fitting import fitted, right
from compiler.frontend.importer.requantise import factors
from compiler.frontend.importer.values import Params
from compiler.xgraph.ops import Eltwise
from compiler.xgraph.reference import execute_op
from sim.runtime.parts import session
from tests.compiler.frontend.quantised_models import imported, model, node

RNG = np.random.default_rng(4)
FINITE = st.floats(-1e6, 1e6, width=32)


@given(FINITE, FINITE, FINITE)
def test_a_fused_sum_is_rounded_once(a: float, b: float, c: float) -> None:
    found = kernels.fused_multiply_add(*(np.array([v], np.float32) for v in (a, b, c)))[0]
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    below, above = np.nextafter(found, np.float32(-np.inf)), np.nextafter(found, np.float32(np.inf))
    distance = abs(Fraction(float(found)) - exact)
    for other in (below, above):
        apart = abs(Fraction(float(other)) - exact)
        assert distance < apart or (distance == apart and int(found.view(np.int32)) % 2 == 0)


def params(unsigned: bool, scale: float, stored: int) -> Params:
    return Params(float(np.float32(scale)), stored - 128 if unsigned else stored, unsigned)


def drawn(unsigned: bool) -> tuple[Params, Params, Params]:
    first, second = RNG.uniform(0.005, 0.05, 2)
    stored = RNG.integers(0, 256, 3) - (0 if unsigned else 128)
    scales = (first, second, (first + second) * RNG.uniform(0.4, 1))
    a, b, out = (params(unsigned, float(s), int(z)) for s, z in zip(scales, stored, strict=True))
    return a, b, out


def pair_model(kind: str, a: Params, b: Params, out: Params, sides: tuple[str, str], form: str) -> onnx.ModelProto:
    """Two inputs of 256 rows and columns, the first of which may give its first column."""
    dtype = np.uint8 if a.unsigned else np.int8
    constants = {
        name: np.array(value, kind)
        for name, value, kind in (
            ("as", a.scale, np.float32), ("az", a.stored, dtype), ("bs", b.scale, np.float32), ("bz", b.stored, dtype),
            ("cs", out.scale, np.float32), ("cz", out.stored, dtype),
        )
    }  # fmt: skip
    nodes = []
    given = {"full": "x", "turned": "t", "row": "r"}
    if "row" in sides:
        constants |= {"first": np.array([0]), "second": np.array([1]), "axis": np.array([3])}
        nodes.append(node("Slice", "x first second axis", "r"))
    one, two = (given[side] for side in sides)
    if form == "QDQ":
        nodes += [
            node("DequantizeLinear", f"{one} as az", "af"), node("DequantizeLinear", f"{two} bs bz", "bf"),
            node(kind, "af bf", "c"), node("QuantizeLinear", "c cs cz", "y"),
        ]  # fmt: skip
    else:
        nodes.append(node(f"QLinear{kind}", f"{one} as az {two} bs bz cs cz", "y", "com.microsoft"))
    elem = TensorProto.UINT8 if a.unsigned else TensorProto.INT8
    whole = model(nodes, (1, 1, 256, 256), constants, elem=elem)
    if "turned" in sides:
        whole.graph.input.append(helper.make_tensor_value_info("t", elem, (1, 1, 256, 256)))
    return whole


def all_codes(unsigned: bool) -> dict[str, NDArray[Any]]:
    """Each row of one, each column of the other holds one code: all pairs."""
    codes = np.repeat(kernels.CODES[:, None], 256, axis=1) + (128 if unsigned else 0)
    x = codes.astype(np.uint8 if unsigned else np.int8)[None, None]
    return {"x": x, "t": np.ascontiguousarray(x.swapaxes(2, 3))}


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("kind", ["Add", "Mul", "Sub"])
def test_the_arithmetic_is_onnxruntimes_in_all_pairs(kind: str, unsigned: bool) -> None:
    for _ in range(4):
        a, b, out = drawn(unsigned)
        data = pair_model(kind, a, b, out, ("full", "turned"), "QDQ").SerializeToString()
        theirs = session(data).run(["y"], all_codes(unsigned))[0][0, 0].astype(np.int64) - (128 if unsigned else 0)
        ours = {"Add": kernels.added, "Mul": kernels.multiplied}.get(kind)
        found = ours(a, b, out) if ours else kernels.between("Sub", a, b, out, -np.inf, np.inf)
        assert np.array_equal(found, theirs)


@pytest.mark.parametrize("sides", [("full", "row"), ("row", "full")])
def test_a_first_operand_that_meets_whole_rows_is_added_first(sides: tuple[str, str]) -> None:
    """onnxruntime folds it into the constant part of the sum: the second operand lies there anyway."""
    for _ in range(4):
        a, b, out = drawn(True)
        data = pair_model("Add", a, b, out, sides, "QLinear").SerializeToString()
        x = np.tile(np.arange(256, dtype=np.uint8), (256, 1))
        x[:, 0] = np.arange(256)
        theirs = session(data).run(["y"], {"x": x[None, None]})[0][0, 0].astype(np.int64) - 128
        table = kernels.added(a, b, out, single=sides[0] == "row")
        table = table if sides[0] == "row" else table.T
        expected = table[np.arange(256)[:, None], x]
        assert np.array_equal(expected, theirs)


def all_pairs(op: Eltwise) -> NDArray[np.int64]:
    """Operand ``a`` by rows, ``b`` by columns."""
    maps = [codes.astype(np.int8)[None, :, :, None] for codes in np.meshgrid(kernels.CODES, kernels.CODES, indexing="ij")]
    return execute_op(op, maps, (1, 256, 256, 1))[0, :, :, 0].astype(np.int64)


AWKWARD = [
    ("Add", True, (0.0183011, 117), (0.0460347, 131), (0.0437105, 98)),
    ("Add", False, (0.0312847, 5), (0.0471931, -9), (0.0501717, 3)),
    ("Mul", True, (0.0231847, 0), (1 / 255, 0), (0.0131113, 0)),
    ("Mul", False, (0.0312847, 5), (0.0471931, -9), (0.0921717, 3)),
]


@pytest.mark.parametrize("form", ["QDQ", "QLinear"])
@pytest.mark.parametrize(("kind", "unsigned", "a", "b", "out"), AWKWARD)
def test_imported_pairs_are_the_integer_kernels_in_all_cases(
    kind: str, unsigned: bool, a: tuple[float, int], b: tuple[float, int], out: tuple[float, int], form: str
) -> None:
    """Zero-points are added before rounding, in QDQ models too."""
    first, second, result = (params(unsigned, *p) for p in (a, b, out))
    found = imported(pair_model(kind, first, second, result, ("full", "turned"), form))
    (op,) = (op for op in found.graph.ops if isinstance(op, Eltwise))
    mine = all_pairs(op)
    data = found.oracle.SerializeToString()
    theirs = session(data).run(["y"], all_codes(unsigned))[0][0, 0].astype(np.int64) - (128 if unsigned else 0)
    assert np.array_equal(mine, theirs)
    assert not found.inexact


def test_constants_are_searched_where_the_nearest_are_wrong() -> None:
    searched = left = 0
    x, y = (codes.reshape(-1) for codes in np.broadcast_arrays(kernels.CODES[:, None], kernels.CODES))
    for _ in range(60):
        a, b, out = drawn(True)
        target = kernels.added(a, b, out).reshape(-1)
        ratios = (a.scale / out.scale, b.scale / out.scale)
        m, shift = factors(*ratios)
        c = -a.zero_point * m[0] - b.zero_point * m[1] + (out.zero_point << shift)
        if right(x, y, (m[0], m[1]), c, shift, target, -128, 127):
            continue
        found = fitted(x, y, ratios, target, -128, 127)
        total = x * found.factors[0] + y * found.factors[1] + found.c
        given = np.clip(np.rint((total / 2.0**found.shift).astype(np.float32)), -128, 127)
        assert int((given != target).sum()) == found.wrong <= 4
        searched += found.wrong == 0
        left += found.wrong > 0
    assert searched > left


def test_what_no_constants_give_is_counted() -> None:
    """Every pair of a checkerboard of ones is wrong for a plane."""
    x, y = (codes.reshape(-1) for codes in np.broadcast_arrays(kernels.CODES[:, None], kernels.CODES))
    target = (x + y) % 2
    found = fitted(x, y, (0.5, 0.5), target, -128, 127)
    total = x * found.factors[0] + y * found.factors[1] + found.c
    assert found.wrong == int((np.clip(np.rint(total / 2.0**found.shift), -128, 127) != target).sum()) > 1000


def test_a_relu_that_cuts_keeps_the_float_reading() -> None:
    """onnxruntime makes no integer kernel of Add, Relu at a zero-point within the range."""
    a, b, out = (params(False, s, z) for s, z in ((0.0311847, 3), (0.0473931, -5), (0.0525717, 1)))
    proto = pair_model("Add", a, b, out, ("full", "turned"), "QDQ")
    proto.graph.node[-1].input[0] = "cut"
    proto.graph.node.insert(len(proto.graph.node) - 1, node("Relu", "c", "cut"))
    found = imported(proto)
    (op,) = (op for op in found.graph.ops if isinstance(op, Eltwise))
    mine = all_pairs(op)
    theirs = session(found.oracle.SerializeToString()).run(["y"], all_codes(False))[0][0, 0]
    assert np.array_equal(mine, theirs)
