"""How an instruction is declared: words of 32 bits, each filled with fields from bit 0 up."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from isa.errors import TilewrightError

WORD_BITS = 32


class TableError(TilewrightError):
    """Raised if the instruction table contradicts itself."""


@dataclass(frozen=True)
class Field:
    """A run of bits within one word."""

    name: str
    bits: int
    doc: str = ""
    signed: bool = False
    nonzero: bool = False
    """Whether it is a count of something, so that zero makes the instruction illegal."""
    enum: type[enum.IntEnum] | None = None
    """The names of the values. A value without a name makes the instruction illegal."""
    words: bool = False
    """Whether it counts feature-map words, modulo those that the machine's addresses tell apart."""
    needs: str = ""
    """The switch of the configuration without which these bits are reserved; empty: none."""

    @property
    def low(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def high(self) -> int:
        return (1 << (self.bits - 1)) - 1 if self.signed else (1 << self.bits) - 1


def reserved(bits: int) -> Field:
    """Bits that must be zero; a one makes the instruction illegal."""
    return Field("", bits)


@dataclass(frozen=True)
class Rule:
    """A condition between fields that every legal instruction meets.

    ``holds(f, c)`` gets the fields as attributes (ints, or hardware values) and the configuration, and
    combines them with ``== != < <= + | &`` alone, so that the assembler, the functional simulator and
    the hardware evaluate the very same expression. Sums are exact: they never wrap.
    """

    text: str
    holds: Callable[[Any, Any], Any]
    needs: str = ""
    """The switch of the configuration without which this rule is about fields that the machine lacks; empty: none."""


def is_built(part: Field | Rule, config: Any) -> bool:
    """Whether the machine has this field, or the fields of this rule."""
    return not part.needs or bool(getattr(config, part.needs))


@dataclass(frozen=True)
class Placed:
    """A field and its place in the instruction."""

    field: Field
    word: int
    lsb: int


@dataclass(frozen=True)
class Instruction:
    """One row of the instruction table."""

    name: str
    opcode: int
    unit: enum.IntEnum | None
    """The unit whose queue it enters, or None if the dispatcher executes it."""
    doc: str
    words: tuple[tuple[Field, ...], ...]
    """The words after the header."""
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for number, word in enumerate(self.words, start=1):
            total = sum(f.bits for f in word)
            if total != WORD_BITS:
                raise TableError(
                    f"{self.name} word {number}: fields cover {total} bits of {WORD_BITS}; every bit must be named or reserved"
                )
            for f in word:
                if f.name and f.name in seen:
                    raise TableError(f"{self.name}: field {f.name} is declared twice")
                seen.add(f.name)

    def built(self, config: Any) -> Instruction:
        """The row for a machine. A field that needs a switch that is off is reserved there."""
        if all(is_built(f, config) for f in self.fields.values()) and all(is_built(rule, config) for rule in self.rules):
            return self
        words = tuple(tuple(f if is_built(f, config) else reserved(f.bits) for f in word) for word in self.words)
        return replace(self, words=words, rules=tuple(rule for rule in self.rules if is_built(rule, config)))

    @cached_property
    def length(self) -> int:
        """The number of words, the header included."""
        return 1 + len(self.words)

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        """Every named field with its place; word 0 is the header."""
        return tuple(p for p in self._walk() if p.field.name)

    @cached_property
    def fields(self) -> dict[str, Field]:
        return {p.field.name: p.field for p in self.placed}

    def reserved_mask(self, word: int) -> int:
        """The bits of that word that must be zero."""
        return self._reserved[word]

    @cached_property
    def _reserved(self) -> tuple[int, ...]:
        masks = [0] * self.length
        for p in self._walk():
            if not p.field.name:
                masks[p.word] |= ((1 << p.field.bits) - 1) << p.lsb
        return tuple(masks)

    def _walk(self) -> Iterator[Placed]:
        for number, word in enumerate(self.words, start=1):
            lsb = 0
            for f in word:
                yield Placed(f, number, lsb)
                lsb += f.bits
