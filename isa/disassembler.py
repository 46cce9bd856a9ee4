"""Translates binary to assembler text. The text assembles to the same words again, whatever they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from isa.assembler import RAW_WORD
from isa.codec import Op, decode
from isa.faults import MachineFault
from isa.instructions import Unit
from isa.table import Field

_HEXADECIMAL = ("addr", "offset", "config", "c_lo")
"""The endings of the names of fields that are read as bit patterns, not as counts."""


def disassemble(words: Sequence[int], comment: Callable[[int], str] | None = None) -> str:
    """The program as text, one line for each instruction. ``comment`` gives the remark on the one at a word offset."""
    lines = []
    for pc, content in statements(words):
        text = format_statement(content)
        remark = comment(pc) if comment else ""
        lines.append(f"{text}  ; {remark}\n" if remark else f"{text}\n")
    return "".join(lines)


def statements(words: Sequence[int]) -> Iterator[tuple[int, Op | int]]:
    """The word offsets and the instructions, in order. A word at which no legal encoding starts stands for itself."""
    pc = 0
    while pc < len(words):
        content: Op | int
        try:
            content, following = decode(words, pc)
        except MachineFault:
            content, following = words[pc], pc + 1
        yield pc, content
        pc = following


def format_statement(content: Op | int) -> str:
    """An instruction, or a bare word, as text."""
    return f"{RAW_WORD} {content:#010x}" if isinstance(content, int) else format_op(content)


def format_op(op: Op) -> str:
    """One instruction as text. Fields that are zero are left out."""
    parts = [op.name]
    parts += [f"{key}={_units(units)}" for key, units in (("wait", op.wait), ("signal", op.signal)) if units]
    parts += [f"{name}={_value(field, op[name])}" for name, field in op.row.fields.items() if op[name]]
    return " ".join(parts)


def _units(units: frozenset[Unit]) -> str:
    return ",".join(unit.name for unit in sorted(units))


def _value(field: Field, value: int) -> str:
    if field.enum is not None and value in {int(member) for member in field.enum}:
        return field.enum(value).name
    return f"{value:#x}" if field.name.endswith(_HEXADECIMAL) else str(value)
