"""The table of support is made from the rules and constraints, and says something of every operator."""

from __future__ import annotations

from pathlib import Path

from compiler.frontend.constraints.base import CONSTRAINTS
from compiler.frontend.importer.context import RULES
from compiler.frontend.support import support_table, support_text
from tests.conftest import Golden


def test_every_rule_has_a_row_and_every_condition_is_a_sentence() -> None:
    rows = support_table()
    assert {(row.domain.replace("ai.onnx", ""), row.operator) for row in rows} == set(RULES)
    for row in rows:
        assert all(text.endswith(".") and text[0].isupper() for text in row.conditions), row.operator


def test_constraints_concern_operators_that_have_rules() -> None:
    known = {operator for _, operator in RULES}
    assert set(CONSTRAINTS) <= known


def test_table_is_current(golden: Golden) -> None:
    golden(Path(__file__).with_name("support.md"), support_text())
