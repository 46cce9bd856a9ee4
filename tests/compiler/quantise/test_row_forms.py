"""Softmax and normalisation of float models: in eight bits where the machine has ROW, else as ever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.frontend.extras import Extras
from compiler.frontend.pipeline import import_model
from compiler.frontend.reader import read
from compiler.quantise.choices import Choices
from compiler.quantise.forms import Form, forms_of
from compiler.quantise.quantise import SHARES
from compiler.xgraph.ops import Cpu
from isa.config import preset
from tests.compiler.frontend.row_models import DATA, ROWS, encoder
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs


@pytest.mark.parametrize("scheme", ["free", "power_of_two"])
def test_an_encoder_is_one_segment(scheme: str) -> None:
    compiled = compile_model(encoder(), ROWS, calibration=DATA, scheme=scheme, cache=False)
    graph = compiled.imported.graph
    assert {*compiled.imported.reasons} == {"x_QuantizeLinear", "h_DequantizeLinear"}
    kinds = [type(op).__name__ for op in graph.ops]
    assert (kinds.count("Softmax"), kinds.count("Normalisation"), kinds.count("Conv")) == (1, 2, 3)
    shares = graph.tensors[next(op.output for op in graph.ops if op.name == "shares")].quantisation
    assert (shares.scale, shares.zero_point) == (1 / 256, -128) == (SHARES.scale, SHARES.zero_point)
    found = check(compiled, random_inputs(compiled.program), per_layer=True)
    assert found.equal
    assert len(found.defined) == 3
    assert all(row.within(1) for row in found.defined)


def test_without_row_both_stay_in_float() -> None:
    compiled = compile_model(encoder(), preset("nano"), calibration=DATA, cache=False)
    assert {"first", "shares", "second"} <= {*compiled.imported.reasons}
    assert not compiled.imported.defined


def test_a_softmax_at_the_end_stays_in_float() -> None:
    found = import_model(encoder("Softmax"), calibration=DATA, extras=Extras(rows=True))
    assert "ending" in found.reasons
    assert {op.name for op in found.graph.ops if not isinstance(op, Cpu)} >= {"first", "shares", "second"}


def test_what_is_asked_stays_in_float() -> None:
    found = import_model(encoder(), calibration=DATA, choices=Choices(keep_float=("shares",)), extras=Extras(rows=True))
    assert found.reasons["shares"] == "kept on the CPU as asked"
    assert "first" not in found.reasons


def test_a_rest_that_is_quantised_has_them_too() -> None:
    """The dense layers come quantised, all else in float."""
    compiled = compile_model(encoder(), preset("nano"), calibration=DATA, cache=False)
    partly = compiled.imported.oracle
    found = import_model(partly, calibration=DATA, choices=Choices(rest=True), extras=Extras(rows=True))
    assert not {"first", "shares", "second"} & {*found.reasons}


def test_forms() -> None:
    net = read(encoder())
    assert not {"first", "shares", "second"} & {*forms_of(net).of}
    with_row = forms_of(net, extras=Extras(rows=True))
    assert [with_row.of[name] for name in ("first", "shares", "second")] == [Form.FLOAT] * 3
    assert "shares" not in forms_of(net, frozenset({"shares"}), extras=Extras(rows=True)).of
    other = read(encoder())
    nodes = [replace(n, attributes={"axis": 1}) if n.name == "shares" else n for n in other.nodes]
    without = forms_of(replace(other, nodes=tuple(nodes)), extras=Extras(rows=True))
    assert "shares" not in without.of, "not over the last dimension"
