"""Each operator of a float model: quantised, imported, and equal to onnxruntime in every bit for power-of-two scales."""

from __future__ import annotations

import pytest

from tests.compiler.frontend.layer_cases import CONVOLUTIONS, DENSE, POOLS
from tests.compiler.frontend.movement_cases import MOVES, RESIZES
from tests.compiler.frontend.operator_case import Case, proto_of
from tests.compiler.frontend.pointwise_cases import POINTWISE
from tests.compiler.frontend.quantised_models import check_counted, check_exact, host_operators, imported

CASES = [*CONVOLUTIONS, *POOLS, *DENSE, *POINTWISE, *MOVES, *RESIZES]
IDS = [case.name for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_power_of_two_scales_agree_in_every_bit(case: Case) -> None:
    found = imported(proto_of(case))
    check_exact(found)
    assert host_operators(found) == case.host


@pytest.mark.parametrize("case", [case for case in CASES if case.free], ids=lambda case: case.name)
def test_free_scales_differ_by_one_at_most_and_rarely(case: Case) -> None:
    check_counted(imported(proto_of(case), "free"))
