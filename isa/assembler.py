"""Translates assembler text to instructions and to binary, driven by the table.

One instruction in a line: its name, then ``field=value`` in any order; a field left out is zero. ``wait=`` and ``signal=`` take
units (``LOAD,POOL``), fields with named values take the name or the number, numbers are decimal, ``0x`` or ``0b``. ``;`` starts
a comment. ``.word VALUE`` is 32 bits as they are: words that no instruction can express, for tests of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from isa.codec import Op, broken_rule, encode
from isa.config import MachineConfig
from isa.errors import TilewrightError
from isa.instructions import BY_NAME, Unit
from isa.names import nearest
from isa.table import Field, Instruction

RAW_WORD = ".word"
"""The directive that places 32 bits as they are."""
CONFIG_SYMBOL = "CONFIG"
"""The symbol for the hash of the configuration that a program is assembled for: ``START config=CONFIG``."""

_NUMBER = re.compile(r"[+-]?(0x[0-9a-f]+|0b[01]+|[0-9]{1,20})", re.IGNORECASE | re.ASCII)
_TOKENS = ("wait", "signal")


class AssembleError(TilewrightError):
    """Raised for a line of assembler text that names no instruction."""


@dataclass(frozen=True)
class Statement:
    """One line of a program text that is not empty: an instruction, or a bare word."""

    line: int
    content: Op | int

    @property
    def words(self) -> list[int]:
        return [self.content] if isinstance(self.content, int) else encode(self.content)


@dataclass(frozen=True)
class _Place:
    """The place of an error, and the names that may stand for numbers."""

    origin: str
    line: int
    symbols: Mapping[str, int]

    def error(self, message: str) -> AssembleError:
        return AssembleError(f"{self.origin}:{self.line}: {message}")


def parse(text: str, *, origin: str = "<text>", symbols: Mapping[str, int] | None = None) -> list[Statement]:
    """The statements of a program text. ``origin`` is the name that errors carry; ``symbols`` are names that may stand for
    numbers."""
    statements = []
    for number, line in enumerate(text.split("\n"), start=1):
        tokens = line.split(";", 1)[0].split()
        if tokens:
            statements.append(Statement(number, _statement(tokens, _Place(origin, number, symbols or {}))))
    return statements


def assemble(
    text: str, *, origin: str = "<text>", config: MachineConfig | None = None, check_rules: bool = True
) -> list[int]:
    """The program as 32-bit words.

    With a configuration ``CONFIG`` stands for its hash, and every instruction must be legal on that machine, unless
    ``check_rules`` is false. Without one, only what cannot be encoded is refused.
    """
    symbols = {CONFIG_SYMBOL: config.hash} if config else {}
    statements = parse(text, origin=origin, symbols=symbols)
    if config and check_rules:
        check(statements, config, origin=origin)
    return [word for statement in statements for word in statement.words]


def check(statements: Iterable[Statement], config: MachineConfig, *, origin: str = "<text>") -> None:
    """Refuses the first instruction that the machine would stop at because of its fields."""
    for statement in statements:
        op = statement.content
        if isinstance(op, int):
            continue
        problem = broken_rule(op, config)
        if op.name == "START" and op["config"] != config.hash:
            problem = f"config is {op['config']:#x}, expected the hash {config.hash:#x}: write config={CONFIG_SYMBOL}"
        if problem:
            raise AssembleError(f"{origin}:{statement.line}: {op.name} is illegal on {config.name}: {problem}")


def _statement(tokens: list[str], place: _Place) -> Op | int:
    name, *assignments = tokens
    if name.lower() == RAW_WORD:
        return _raw_word(assignments, place)
    row = BY_NAME.get(name.upper())
    if row is None:
        raise place.error(f"instruction {name!r}: unknown{nearest(name, BY_NAME)}; known are {', '.join(BY_NAME)}")
    values: dict[str, int] = {}
    units: dict[str, frozenset[Unit]] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not (key and equals and text):
            raise place.error(f"{row.name}: {assignment!r} is not field=value; write it without spaces, as in rows=4")
        if key in values or key in units:
            raise place.error(f"{row.name}.{key} is given twice; give it once")
        if key in _TOKENS:
            units[key] = _units(row, key, text, place)
        elif key in row.fields:
            values[key] = _value(row, row.fields[key], text, place)
        else:
            known = (*_TOKENS, *row.fields) if row.unit is not None else tuple(row.fields)
            expected = f"its fields are {', '.join(known)}" if known else "it has none"
            raise place.error(f"{row.name}: no field {key!r}{nearest(key, known)}; {expected}")
    return Op(row.name, values, units.get("wait", frozenset()), units.get("signal", frozenset()))


def _raw_word(operands: list[str], place: _Place) -> int:
    if len(operands) != 1:
        raise place.error(f"{RAW_WORD} takes one value, {len(operands)} are given")
    word = _number(operands[0], place.symbols)
    if word is None or not 0 <= word < 1 << 32:
        raise place.error(f"{RAW_WORD} {operands[0]}: expected a number in 0..0xffffffff")
    return word


def _units(row: Instruction, key: str, text: str, place: _Place) -> frozenset[Unit]:
    if row.unit is None:
        raise place.error(f"{row.name}.{key} = {text}: {row.name} takes and gives no tokens; leave {key} out")
    units: set[Unit] = set()
    for name in text.split(","):
        if name.upper() not in Unit.__members__:
            raise place.error(f"{row.name}.{key} = {text}: no unit {name!r}; units are {', '.join(Unit.__members__)}")
        unit = Unit[name.upper()]
        if unit in units:
            raise place.error(f"{row.name}.{key} = {text}: {unit.name} is named twice; one token is the most")
        units.add(unit)
    return frozenset(units)


def _value(row: Instruction, field: Field, text: str, place: _Place) -> int:
    names = field.enum.__members__ if field.enum is not None else {}
    if text.upper() in names:
        return int(names[text.upper()])
    value = _number(text, place.symbols)
    if value is None or not field.low <= value <= field.high:
        expected = f"{', '.join(names)} or " if names else ""
        raise place.error(f"{row.name}.{field.name} = {text}: expected {expected}a number in {field.low}..{field.high}")
    return value


def _number(text: str, symbols: Mapping[str, int]) -> int | None:
    if text in symbols:
        return symbols[text]
    if not _NUMBER.fullmatch(text):
        return None
    digits = text.lower()
    return int(digits, 16 if "0x" in digits else 2 if "0b" in digits else 10)
