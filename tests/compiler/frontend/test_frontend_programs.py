"""Imported models as programs on the functional simulator: what views, joins and phases look like to the back end."""

from __future__ import annotations

import pytest

from compiler.driver import compile_graph
from compiler.frontend.session import run
from isa.config import preset
from sim.runtime.engine import FunctionalEngine
from sim.runtime.run import Run
from tests.compiler.frontend.layer_cases import CONVOLUTIONS, DENSE, POOLS
from tests.compiler.frontend.movement_cases import MOVES, RESIZES
from tests.compiler.frontend.operator_case import Case, proto_of
from tests.compiler.frontend.pointwise_cases import POINTWISE
from tests.compiler.frontend.quantised_models import feeds_of, imported

CASES = [*MOVES, *RESIZES, *POINTWISE[19:], *CONVOLUTIONS, *DENSE, *POOLS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_programs_compute_what_onnxruntime_computes(case: Case) -> None:
    found = imported(proto_of(case))
    program = compile_graph(found, preset("nano"), strategy="naive").program
    feeds = feeds_of(found, 3)
    results, expected = Run(program, FunctionalEngine(program.config))(feeds), run(found.oracle, feeds)
    for name in case.outputs:
        assert (results[name] == expected[name]).all(), name
