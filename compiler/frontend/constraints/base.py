"""How constraints are declared, asked, and reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Constraint = Callable[..., bool]

CONSTRAINTS: dict[str, list[Constraint]] = {}
"""The constraints of each operator."""

ALWAYS: list[Constraint] = []
"""The constraints of every operator."""


class Unsupported(Exception):
    """A node cannot run on the machine; the text says why."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self.reason = refusal(constraint)
        super().__init__(self.reason)


def constrains(*op_types: str) -> Callable[[Constraint], Constraint]:
    """Declares for which operators a constraint holds."""

    def declare(function: Constraint) -> Constraint:
        for op_type in op_types:
            CONSTRAINTS.setdefault(op_type, []).append(function)
        return function

    return declare


def always(function: Constraint) -> Constraint:
    """Declares a constraint that holds for every operator."""
    ALWAYS.append(function)
    return function


def declared(op_type: str, constraint: Constraint) -> bool:
    """Whether the table of support says that the operator has the constraint."""
    return constraint in ALWAYS or constraint in CONSTRAINTS.get(op_type, ())


def sentence(constraint: Constraint) -> str:
    """The docstring of a constraint as one line."""
    return " ".join((constraint.__doc__ or constraint.__name__).split())


def refusal(constraint: Constraint) -> str:
    """The reason for a node that does not satisfy a constraint."""
    return f"not satisfied: {sentence(constraint)}"


def require(constraint: Constraint, *arguments: Any) -> None:
    if not constraint(*arguments):
        raise Unsupported(constraint)
