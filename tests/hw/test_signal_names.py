"""Signals have the same names on every version of Python: Amaranth reads a name that is not given from the bytecode, and what
it finds there for ``a, b = Signal(), Signal()``, an element of a list or an argument differs between versions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

HW = Path(__file__).parents[2] / "hw"
SOURCES = sorted(HW.rglob("*.py"))


def is_signal(node: ast.AST | None) -> bool:
    """A signal, or a port of a memory, whose signals are named after it."""
    made = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return made in ("Signal", "Signal.like") or made.endswith((".read_port", ".write_port"))


def without_a_name(source: str) -> Iterator[int]:
    """Lines of the signals that neither are given a name nor become one variable or attribute each."""
    nodes = list(ast.walk(ast.parse(source)))
    variables = [
        node.value
        for node in nodes
        if isinstance(node, (ast.AnnAssign, ast.NamedExpr))
        or (isinstance(node, ast.Assign) and all(isinstance(target, (ast.Name, ast.Attribute)) for target in node.targets))
    ]
    for node in nodes:
        if is_signal(node) and not any(node is variable for variable in variables):
            assert isinstance(node, ast.Call)
            if not any(keyword.arg == "name" for keyword in node.keywords):
                yield node.lineno


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("a = Signal(3)", []),
        ("self.a = b = Signal.like(c)", []),
        ("a, b = Signal(), Signal()", [1, 1]),
        ("a, b = (Signal(4) for _ in range(2))", [1]),
        ("a, b = (Signal(name=name) for name in 'ab')", []),
        ("a = Signal() if several else b", [1]),
        ("f(Signal())", [1]),
        ("write, read = memory.write_port(), memory.read_port()", [1, 1]),
        ("read = memory.read_port()", []),
    ],
)
def test_what_has_no_name(source: str, lines: list[int]) -> None:
    assert list(without_a_name(source)) == lines


def test_every_signal_of_the_machine_has_a_name() -> None:
    found = {str(path.relative_to(HW)): list(without_a_name(path.read_text(encoding="utf-8"))) for path in SOURCES}
    assert {path: lines for path, lines in found.items() if lines} == {}
