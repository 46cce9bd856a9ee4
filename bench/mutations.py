"""Changes of one place in a Python source: a comparison, an operator, a number, a condition, a boundary."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    path: str
    number: int
    """The number of the change among all of this file."""
    line: int
    change: str
    lines: tuple[int, ...]
    """The lines of the statement that it is in, without what is nested in that."""
    at_import: bool
    """Whether it is in no function, so that it runs once, for all tests."""


def mutants_of(path: str) -> list[Mutant]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    places = _places(tree)
    return [
        Mutant(path, number, node.lineno, change, *places[id(node)]) for number, (node, change, _) in enumerate(_changes(tree))
    ]


def _places(tree: ast.Module) -> dict[int, tuple[tuple[int, ...], bool]]:
    """Returns for each node the lines of its statement, and whether the statement is in no function."""
    places: dict[int, tuple[tuple[int, ...], bool]] = {}

    def visit(node: ast.AST, lines: tuple[int, ...], at_import: bool) -> None:
        if isinstance(node, ast.stmt):
            nested = [child.lineno for child in ast.walk(node) if isinstance(child, ast.stmt) and child is not node]
            first = min((node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))))
            last = max(node.lineno, min(nested) - 1) if nested else node.end_lineno or node.lineno
            lines = tuple(range(first, last + 1))
        places[id(node)] = lines, at_import
        inner = at_import and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, lines, inner if name == "body" else at_import)

    visit(tree, (), True)
    return places


def mutated(mutant: Mutant) -> str:
    """The source of the file with the change."""
    tree = ast.parse((ROOT / mutant.path).read_text(encoding="utf-8"))
    for number, (_, _, apply) in enumerate(_changes(tree)):
        if number == mutant.number:
            apply()
            break
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _changes(tree: ast.Module) -> Iterator[tuple[Any, str, Any]]:
    """Yields for each change its node, its description, and a function that makes it. Annotations, texts and raised errors are
    left alone."""
    for node in _code(tree):
        if isinstance(node, ast.Compare):
            for place, operator in enumerate(node.ops):
                for other in COMPARISONS[type(operator)]:
                    what = f"{_name(operator)} to {other.__name__}"
                    yield node, what, lambda n=node, p=place, o=other: _set(n.ops, p, o())
        elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC and not _of_texts(node):
            other_op = ARITHMETIC[type(node.op)]
            yield node, f"{_name(node.op)} to {other_op.__name__}", lambda n=node, o=other_op: setattr(n, "op", o())
        elif isinstance(node, ast.BoolOp):
            swapped = ast.Or if isinstance(node.op, ast.And) else ast.And
            yield node, f"{_name(node.op)} to {swapped.__name__}", lambda n=node, o=swapped: setattr(n, "op", o())
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, "Not dropped", lambda n=node: _twice(n)
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, f"{node.value} to {node.value + 1}", lambda n=node: setattr(n, "value", n.value + 1)
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            yield node, f"{node.value} to {not node.value}", lambda n=node: setattr(n, "value", not n.value)
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield node, "condition negated", lambda n=node: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))


def _twice(node: ast.UnaryOp) -> None:
    """Puts ``not not x`` in place of ``not x``."""
    node.operand = ast.UnaryOp(ast.Not(), node.operand)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
            continue
        if isinstance(child, ast.AnnAssign):
            if child.value is not None:
                yield child.value
                yield from _code(child.value)
            continue
        if isinstance(child, ast.arg) or child is getattr(node, "returns", None):
            continue
        yield child
        yield from _code(child)


def _of_texts(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether texts are joined by ``+``. There is no other way to join them, so the change would only be an error."""
    parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    return any(isinstance(part, ast.JoinedStr) or isinstance(getattr(part, "value", None), str) for part in parts)


def _name(operator: ast.AST) -> str:
    return type(operator).__name__


def _set(values: list[Any], place: int, value: Any) -> None:
    values[place] = value


def drawn(folders: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """``count`` mutants of all places, the same for the same seed and sources."""
    paths = [path.relative_to(ROOT).as_posix() for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    every = [mutant for path in paths for mutant in mutants_of(path)]
    return random.Random(seed).sample(every, min(count, len(every)))
