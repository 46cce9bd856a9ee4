"""ONNX's own cases of the operators that networks are made of: right on the machine or on the CPU, or refused clearly."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tests.conftest import Golden
from tests.e2e.conformance import DATA_INPUTS, Outcome, outcomes, table

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "conformance.md"
INTRODUCTION = """\
# ONNX conformance

The `onnx` package brings cases for every operator (`onnx.backend.test.case.node`). Those of the operators that image
networks are made of are compiled for `base` and run on the functional simulator: float cases are quantised first, with the
default scheme and the case's own inputs as calibration, and every weight operand is a constant. A case passes if
every bit equals onnxruntime's on the quantised model, and if the float result is the case's own within the error of
eight bits. Operators that only move data are run behind a Sigmoid, or there would be nothing to compute.

*Machine*: nothing but the conversions at the border is left to the CPU. *CPU*: the program runs it in onnxruntime, for
the reason given. *Refused*: the compiler says why and writes nothing.

The test `tests/e2e/test_onnx_conformance.py` makes this page (`--update-golden`).

"""
FEWEST_ON_MACHINE = 192


@lru_cache
def found() -> tuple[Outcome, ...]:
    return tuple(outcomes())


def test_no_case_is_wrong() -> None:
    assert [(row.case, row.wrong) for row in found() if row.wrong] == []


def test_every_operator_has_cases_and_what_the_machine_computes_runs_there() -> None:
    assert {row.operator for row in found()} == set(DATA_INPUTS)
    assert sum(row.where == "machine" for row in found()) >= FEWEST_ON_MACHINE


def test_a_case_that_is_not_on_the_machine_has_its_reason() -> None:
    assert [row.case for row in found() if (row.where == "machine") == bool(row.reason)] == []


def test_the_table_is_current(golden: Golden) -> None:
    golden(PAGE, INTRODUCTION + table(found()))
