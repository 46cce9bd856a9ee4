"""Instance and group normalisation on machines that have rows and products, and what is too long for a row."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from compiler.frontend.extras import NO_EXTRAS, Extras
from compiler.frontend.model import to_proto
from compiler.frontend.pipeline import ImportedModel
from compiler.frontend.reader import read
from compiler.frontend.session import run
from compiler.frontend.types import with_types
from compiler.quantise.instances import as_rows
from compiler.xgraph.row_operations import Normalisation
from tests.compiler.frontend.quantised_models import check_exact, host_operators, imported, model, node, weights

BOTH = Extras(rows=True, products=True)
TABLE = {
    "w": weights(8, 3, 3, 3), "v": weights(4, 8, 1, 1), "g": np.linspace(0.5, 1.5, 8, dtype=np.float32), "b": weights(8),
    "ones": np.ones(2, np.float32), "none": np.zeros(2, np.float32), "groups": np.array([1, 2, -1]),
    "back": np.array([1, 8, 6, 6]), "gc": weights(8, 1, 1), "bc": weights(8, 1, 1),
}  # fmt: skip
FIRST, LAST = node("Conv", "x w", "c", pads=[1] * 4), node("Conv", "n v")
SPELT = [
    node("Reshape", "c groups", "r"), node("InstanceNormalization", "r ones none", "i"), node("Reshape", "i back", "s"),
    node("Mul", "s gc", "m"), node("Add", "m bc", "n"),
]  # fmt: skip
NETS = {
    "instances": ([node("InstanceNormalization", "c g b", "n", epsilon=1e-3)], 17),
    "groups spelt out": (SPELT, 17),
    "groups": ([node("GroupNormalization", "c g b", "n", num_groups=4)], 21),
}


def network(name: str, side: int = 6) -> onnx.ModelProto:
    nodes, opset = NETS[name]
    table = {**TABLE, "back": np.array([1, 8, side, side])}
    used = {key for each in (FIRST, *nodes, LAST) for key in each.input}
    return model([FIRST, *nodes, LAST], (1, 3, side, side), {k: v for k, v in table.items() if k in used}, opset=opset)


def normalisations(found: ImportedModel) -> int:
    return sum(isinstance(op, Normalisation) for op in found.graph.ops)


@pytest.mark.parametrize("name", NETS)
def test_they_are_rows(name: str) -> None:
    found = imported(network(name), extras=BOTH)
    assert not host_operators(found)
    assert normalisations(found) == 1
    check_exact(found)


@pytest.mark.parametrize("name", NETS)
def test_the_function_is_the_same(name: str) -> None:
    before = with_types(read(network(name)))
    x = {"x": np.random.default_rng(2).standard_normal((1, 3, 6, 6)).astype(np.float32)}
    expected, found = (run(to_proto(each), x, ["y"])["y"] for each in (before, with_types(as_rows(before))))
    assert np.abs(expected - found).max() < 1e-4


def test_what_no_row_holds_stays_on_the_cpu() -> None:
    found = imported(network("instances", side=66), extras=BOTH)
    assert host_operators(found) == {"InstanceNormalization"}
    assert normalisations(found) == 0


def test_machines_without_the_options_leave_them_to_the_cpu() -> None:
    assert host_operators(imported(network("instances"), extras=NO_EXTRAS)) == {"InstanceNormalization"}
