"""The table of support is made from the rules and constraints, and says something of every operator."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest

from compiler.definitions.integer_graph import DOMAIN
from compiler.frontend import partition
from compiler.frontend.constraints.base import ALWAYS, CONSTRAINTS, Constraint, declared, sentence
from compiler.frontend.extras import Extras
from compiler.frontend.importer.context import RULES
from compiler.frontend.importer.run import interpreted
from compiler.frontend.partition import NEIGHBOURS
from compiler.frontend.reader import read
from compiler.frontend.support import common_conditions, support_table, support_text
from compiler.layers.fit import Fit
from compiler.quantise.quantise import is_float, quantise
from isa.errors import TilewrightError
from tests.compiler.frontend.layer_cases import CONVOLUTIONS, DENSE
from tests.compiler.frontend.movement_cases import MOVES
from tests.compiler.frontend.operator_case import proto_of
from tests.compiler.frontend.pointwise_cases import POINTWISE
from tests.conftest import Golden
from tests.onnx_cases import node_cases

FRONTEND = Path(__file__).parents[3] / "compiler" / "frontend"


def test_every_rule_has_a_row_and_every_condition_is_a_sentence() -> None:
    rows = support_table()
    assert {(row.domain.replace("ai.onnx", ""), row.operator) for row in rows} == {key for key in RULES if key[0] != DOMAIN}
    for row in rows:
        assert all(text.endswith(".") and text[0].isupper() for text in row.conditions), row.operator


def test_the_table_does_not_depend_on_who_is_imported_first(monkeypatch: pytest.MonkeyPatch) -> None:
    before = support_text()
    for operator, found in CONSTRAINTS.items():
        monkeypatch.setitem(CONSTRAINTS, operator, found[::-1])
    assert support_text() == before


def test_constraints_concern_operators_that_have_rules() -> None:
    known = {operator for _, operator in RULES}
    assert set(CONSTRAINTS) <= known


def test_every_refusal_goes_through_a_declared_constraint() -> None:
    """What refuses a node is a function of the registry, and nothing is declared that nobody asks."""
    known = {constraint.__name__ for constraint in (*ALWAYS, *(c for found in CONSTRAINTS.values() for c in found))}
    asked: set[str] = set()
    for path in sorted(FRONTEND.rglob("*.py")):
        for found in ast.walk(ast.parse(path.read_text())):
            if isinstance(found, ast.Call) and isinstance(found.func, ast.Name):
                assert found.func.id != "Unsupported" or path.name == "base.py", f"{path}:{found.lineno}: raise it by `require`"
                if found.func.id == "require":
                    asked.add(ast.unparse(found.args[0]).rpartition(".")[2])
            stored = isinstance(found, ast.Subscript) and isinstance(found.ctx, ast.Store)
            if stored and ast.unparse(found).startswith("ctx.reasons["):
                assert path.name == "run.py", f"{path}: a reason beside the registry"
    assert asked == known


@pytest.fixture(scope="module")
def refusals() -> dict[tuple[str, Constraint], str]:
    """Operators, and the constraints that refuse a node of theirs, in small cases and in ONNX's own; with a node for each."""
    known = {operator for _, operator in RULES}
    ours = [proto_of(case) for case in (*CONVOLUTIONS, *DENSE, *MOVES, *POINTWISE)]
    theirs = [case.model for case in node_cases()]
    found: dict[tuple[str, Constraint], str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for proto in (*ours, *theirs):
            if not known.intersection(node.op_type for node in proto.graph.node):
                continue
            try:
                model = read(proto)
                model = quantise(model, extras=Extras(rows=True)).model if is_float(model) else model
            except TilewrightError:
                continue
            operators = {node.name: node.op_type for node in model.nodes}
            failed = interpreted(model, {}, extras=Extras(rows=True)).failed
            found |= {(operators[name], constraint): name for name, constraint in failed.items()}
    return found


@pytest.mark.slow
def test_the_table_says_every_condition_that_refuses_a_node(refusals: dict[tuple[str, Constraint], str]) -> None:
    assert len(refusals) > 40
    silent = {(operator, sentence(why)): name for (operator, why), name in refusals.items() if not declared(operator, why)}
    assert not silent


def test_conditions_of_every_operator_are_told_once() -> None:
    text = support_text()
    for condition in common_conditions():
        assert text.count(f"- {condition}\n") == 1
    assert not {c.__name__ for c in ALWAYS} & {c.__name__ for found in CONSTRAINTS.values() for c in found}


def test_every_reason_that_a_neighbour_gives_is_told() -> None:
    """``partitioned`` gives no other reasons than these and those of the rules."""
    tree = ast.parse((FRONTEND / "partition.py").read_text())
    why = next(f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == "_why")
    returned = [r.value for r in ast.walk(why) if isinstance(r, ast.Return) and r.value is not None]
    names = {name.id for value in returned for name in ast.walk(value) if isinstance(name, ast.Name)} - {"reader"}
    assert {getattr(partition, name) for name in names} == set(NEIGHBOURS)
    assert all(isinstance(value, ast.Name | ast.JoinedStr) for value in returned)


def test_every_misfit_names_the_condition_that_the_table_tells() -> None:
    """Each condition is given by somebody, and a planner's or a lowering's refusal names one of them."""
    given: set[str] = set()
    for path in sorted((FRONTEND.parent).rglob("*.py")):
        for found in ast.walk(ast.parse(path.read_text())):
            if isinstance(found, ast.Attribute) and ast.unparse(found.value) == "Fit":
                given.add(found.attr)
            if isinstance(found, ast.Call) and ast.unparse(found.func) == "FitError":
                first = ast.unparse(found.args[0])
                other_groups = first == "None" and path.name == "grouping.py"
                assert first == "condition" or first.startswith("Fit.") or other_groups, f"{path}:{found.lineno}"
    assert given == {condition.name for condition in Fit}
    text = support_text()
    assert all(text.count(f"- {condition.value}\n") == 1 for condition in Fit)


def test_table_is_current(golden: Golden) -> None:
    golden(Path(__file__).with_name("support.md"), support_text())
