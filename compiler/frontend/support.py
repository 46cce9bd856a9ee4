"""The table of support: every operator that the machine computes and what it asks for, made from rules and constraints."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.frontend.constraints.base import ALWAYS, CONSTRAINTS, sentence
from compiler.frontend.importer import run
from compiler.frontend.importer.context import RULES
from compiler.frontend.importer.tables import TABLE_OPERATORS

HOST = "runs on the CPU, in onnxruntime"


@dataclass(frozen=True)
class Row:
    """One operator; ``conditions`` are sentences that must all hold, else it runs on the CPU."""

    operator: str
    domain: str
    form: str
    conditions: tuple[str, ...]


def support_table() -> tuple[Row, ...]:
    """Operators in alphabetical order; every operator that is not listed runs on the CPU."""
    assert run.FAMILIES
    rows = []
    for domain, operator in sorted(RULES, key=lambda key: (key[1], key[0])):
        form = "256-entry table" if operator in TABLE_OPERATORS else "machine"
        conditions = tuple(sentence(constraint) for constraint in CONSTRAINTS.get(operator, ()))
        rows.append(Row(operator, domain or "ai.onnx", form, conditions))
    return tuple(rows)


def common_conditions() -> tuple[str, ...]:
    """What every operator asks for."""
    return tuple(sentence(constraint) for constraint in ALWAYS)


def support_text() -> str:
    """The table as Markdown."""
    lines = ["| operator | domain | how | runs on the machine if |", "|---|---|---|---|"]
    lines += [f"| {row.operator} | {row.domain} | {row.form} | {' '.join(row.conditions)} |" for row in support_table()]
    common = ["", "Every operator asks for this, too:", "", *(f"- {condition}" for condition in common_conditions()), ""]
    return "\n".join([*lines, *common, f"Every other operator {HOST}.", ""])
