"""The reasons for which nodes run on the CPU, as docs/reference/refusals.md lists them; any other is a bug of the compiler."""

from __future__ import annotations

import re

from compiler.frontend.constraints.base import ALWAYS, CONSTRAINTS, refusal
from compiler.frontend.importer import run
from compiler.frontend.importer.context import RULES
from compiler.frontend.importer.rows import OF_ROWS
from compiler.frontend.in_the_way import IN_THE_WAY
from compiler.frontend.partition import MOVED_FOR_CPU, OPERANDS_ON_CPU, READ_ON_CPU, UNQUANTISED_FOR_CPU
from compiler.frontend.pipeline import NOT_FOLLOWED, WOULD_ABORT

NEIGHBOURS = {
    OPERANDS_ON_CPU: "all that it reads is made on the CPU; see what keeps its makers there",
    READ_ON_CPU: "float numbers are wanted, which the machine has none of; quantise what reads it, or leave it so",
    MOVED_FOR_CPU: "it changes no number, and is not worth a way to the machine and back",
    UNQUANTISED_FOR_CPU: "a float result stays where it is made; quantise it",
    "its result is an output of the model and is not quantised": "add QuantizeLinear, or leave it so",
    IN_THE_WAY: "the layer behind it is worth more; order the dimensions alike on both sides of it",
    WOULD_ABORT: "a mistake of onnxruntime; export the model without control flow",
    NOT_FOLLOWED: "its ties are rounded as float32 noise has it; `--inexact` puts it on the machine, a step off here and there",
}
"""The remedies for reasons that come from a node's neighbours or from onnxruntime's floats, by the beginning of the reason."""
CONFIGURATION = {
    r"no tiling fits configuration \S+: ": "choose a configuration with more of what the rest of the sentence names",
    r"configuration \S+ has CONV's lanes shift \(requant\), and scales of it are no powers of two":
        "quantise to powers of two, or set requant to float32 in the configuration",
    r"configuration \S+ builds no (POOL|MISC) unit, which ": "set build_pool or build_misc to true in the configuration",
    r"rows of ROW have \d+ elements at most \(row_words\), ": "set row_words in the configuration, for rows of 4096 at most",
    r"MISC sums and compares \d+ channels at most, ": "leave it so, or cut the channels in two",
}
"""The remedies for reasons that come from a configuration, by a pattern of the reason."""
UNKNOWN = "no unit of the machine computes "
BUILD_ROWS = "set build_rows = true in the configuration, and quantise what it reads and makes"
"""The remedy for operators that ROW computes."""


def documented(reason: str) -> bool:
    """Whether the reason is in the list. An operator of the table of support is never unknown."""
    assert run.FAMILIES
    if reason.startswith(UNKNOWN):
        return of_rows(reason) or reason.removeprefix(UNKNOWN) not in {operator for _, operator in RULES}
    asked = {refusal(each) for each in (*ALWAYS, *(c for many in CONSTRAINTS.values() for c in many))}
    return (
        reason in asked
        or reason.startswith(tuple(NEIGHBOURS))
        or any(re.match(pattern, reason) for pattern in CONFIGURATION)
    )  # fmt: skip


def of_rows(reason: str) -> bool:
    """Whether the node is on the CPU because the machine has no ROW."""
    return reason.startswith(UNKNOWN) and reason.removeprefix(UNKNOWN) in {operator for _, operator in OF_ROWS}
