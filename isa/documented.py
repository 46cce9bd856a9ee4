"""Enumerations with the meaning of each member."""

from __future__ import annotations

import ast
import enum
import inspect
from collections.abc import Iterator


def documented(kind: type[enum.IntEnum] | type[enum.IntFlag]) -> Iterator[tuple[str, int, str]]:
    """The name, value and text of each member, where the text is written below the member. A run of members shares the text at
    its end."""
    (body,) = (node.body for node in ast.parse(inspect.getsource(kind)).body if isinstance(node, ast.ClassDef))
    waiting: list[str] = []
    for statement in body[1:]:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            waiting += [name] if name in kind.__members__ else []
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            text = " ".join(str(statement.value.value).split())
            yield from ((name, kind[name].value, text) for name in waiting)
            waiting = []
    yield from ((name, kind[name].value, "") for name in waiting)
