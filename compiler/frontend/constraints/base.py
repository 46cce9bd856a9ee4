"""How constraints are declared, asked, and reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Constraint = Callable[..., bool]

CONSTRAINTS: dict[str, list[Constraint]] = {}
"""Constraints of each operator, in the order of declaration."""


class Unsupported(Exception):
    """A node cannot run on the machine; the text says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def constrains(*op_types: str) -> Callable[[Constraint], Constraint]:
    """Declares for which operators a constraint holds."""

    def declare(function: Constraint) -> Constraint:
        for op_type in op_types:
            CONSTRAINTS.setdefault(op_type, []).append(function)
        return function

    return declare


def sentence(constraint: Constraint) -> str:
    """The docstring as one line."""
    return " ".join((constraint.__doc__ or constraint.__name__).split())


def refusal(constraint: Constraint) -> str:
    """What a node is told that does not satisfy it."""
    return f"not satisfied: {sentence(constraint)}"


def require(constraint: Constraint, *arguments: Any) -> None:
    if not constraint(*arguments):
        raise Unsupported(refusal(constraint))
