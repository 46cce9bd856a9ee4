"""The table of support: every operator that the machine computes and its conditions, made from rules and constraints."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.definitions.integer_graph import DOMAIN
from compiler.frontend.constraints.base import ALWAYS, CONSTRAINTS, sentence
from compiler.frontend.importer import run
from compiler.frontend.importer.context import RULES
from compiler.frontend.importer.rows import OF_ROWS
from compiler.frontend.importer.tables import TABLE_OPERATORS
from compiler.frontend.partition import NEIGHBOURS
from compiler.layers.fit import Fit

HOST = "runs on the CPU, in onnxruntime"


@dataclass(frozen=True)
class Row:
    """One operator; ``conditions`` are sentences that must all hold, else it runs on the CPU."""

    operator: str
    domain: str
    form: str
    conditions: tuple[str, ...]


def support_table() -> tuple[Row, ...]:
    """The rows in alphabetical order; every operator that is not listed runs on the CPU."""
    assert run.FAMILIES
    rows = []
    for domain, operator in sorted(RULES, key=lambda key: (key[1], key[0])):
        if domain == DOMAIN:  # only the compiler writes these
            continue
        form = "256-entry table" if operator in TABLE_OPERATORS else "machine"
        form = "machine with build_rows" if (domain, operator) in OF_ROWS else form
        # The conditions are in the order of their declarations, whichever file is imported first.
        asked = sorted(CONSTRAINTS.get(operator, ()), key=lambda found: (found.__module__, found.__code__.co_firstlineno))
        conditions = tuple(sentence(constraint) for constraint in asked)
        rows.append(Row(operator, domain or "ai.onnx", form, conditions))
    return tuple(rows)


def common_conditions() -> tuple[str, ...]:
    """The conditions of every operator."""
    return tuple(sentence(constraint) for constraint in ALWAYS)


def neighbour_conditions() -> tuple[str, ...]:
    """The conditions that a node asks of its neighbours, even if the machine can compute it."""
    return tuple(NEIGHBOURS.values())


def fitting_conditions() -> tuple[str, ...]:
    """The conditions that every operation asks of the configuration."""
    return tuple(condition.value for condition in Fit)


def common_lists() -> dict[str, tuple[str, ...]]:
    """The conditions of all operators, by title."""
    return {
        "Every operator asks for this, too:": common_conditions(),
        "And of the nodes around it:": neighbour_conditions(),
        "And of the configuration, which each operation must fit by itself:": fitting_conditions(),
    }


def support_text() -> str:
    """The table as Markdown."""
    lines = ["| operator | domain | how | runs on the machine if |", "|---|---|---|---|"]
    lines += [f"| {row.operator} | {row.domain} | {row.form} | {' '.join(row.conditions)} |" for row in support_table()]
    for title, conditions in common_lists().items():
        lines += ["", title, "", *(f"- {condition}" for condition in conditions)]
    return "\n".join([*lines, "", f"Every other operator {HOST}.", ""])
