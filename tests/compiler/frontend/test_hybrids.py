"""Hybrids and encoders of text, at reduced size: one segment with both options, and equal to onnxruntime in every tensor."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import onnx
import pytest

from compiler.driver import Compiled
from compiler.quantise.statistics import CalibrationWarning
from compiler.xgraph.ops import Cpu
from compiler.zoo.bert import bert, mobilebert
from compiler.zoo.cascaded import cascaded
from compiler.zoo.conformer import conformer
from compiler.zoo.dynamo import as_dynamo
from compiler.zoo.efficientvit import efficientvit
from compiler.zoo.levit import levit
from compiler.zoo.macs import by_node
from compiler.zoo.mobilevit import mobilevit
from compiler.zoo.swin import swin
from isa.config import preset
from tests.compiler.frontend.quantised_models import host_operators
from tilewright.checking import check
from tilewright.compiling import compile_model
from tilewright.inputs import random_inputs

BOTH = replace(preset("nano"), name="nano_both", build_products=True, build_rows=True, row_words=64)
NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {
    "bert": partial(bert, size=6, width=16, depth=1, words=20),
    "cascaded": partial(cascaded, size=64, widths=(16,), depths=(1,), window=2, classes=3),
    "conformer": partial(conformer, size=24, bands=12, width=8, depth=1, heads=2, classes=6),
    "efficientvit": partial(efficientvit, size=64, widths=(8, 8, 8, 16), depths=(1, 1, 1, 1), classes=3),
    "levit": partial(levit, size=64, widths=(32, 48), heads=(2, 3), depths=(1, 1), classes=3),
    "mobilebert": partial(mobilebert, size=5, width=16, inner=8, depth=1, heads=2, words=20, feeds=1),
    "mobilevit": partial(mobilevit, size=32, stages=((8, 1, 2, 16, 1),), stem=8, last=16, classes=3),
    "swin": partial(swin, size=16, width=64, depths=(2,), window=2, classes=3),
    "swin, a batch": partial(swin, size=8, width=32, depths=(1,), window=1, classes=3, batch=2),
}
WORDS = {"Gather", "Add", "Unsqueeze", "Cast", "Sub", "Mul", "Max", "Reshape", "LayerNormalization", "Slice", "Pad", "Concat"}
"""What looks words up, and makes a mask of them."""


def compiled(net: onnx.ModelProto) -> Compiled:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return compile_model(net, BOTH, cache=False, effort="quick")


SLOW = ("cascaded", "conformer", "mobilebert", "mobilevit", "swin")


def is_whole(net: onnx.ModelProto) -> None:
    made = compiled(net)
    imported = made.imported
    assert not [node for node, macs in by_node(net).items() if macs and node in imported.reasons]
    assert sum(isinstance(op, Cpu) for op in imported.graph.ops) == 2
    assert host_operators(imported) <= (WORDS if len(net.graph.input) == 2 else set())
    found = check(made, random_inputs(made.program), per_layer=True)
    assert found.equal, str(found)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in NETWORKS])
def test_all_products_are_on_the_machine_in_one_segment(name: str) -> None:
    is_whole(NETWORKS[name]())


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name != "levit" else []) for name in NETWORKS])
def test_the_form_of_the_newer_exporter_is_as_whole(name: str) -> None:
    is_whole(as_dynamo(NETWORKS[name]()))
