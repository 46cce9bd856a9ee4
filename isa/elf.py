"""ELF64 containers, little-endian and relocatable: sections and symbols to bytes, and back.

Only the parts of ELF that a program file needs are written by hand here, since libraries that write ELF are larger than this
page.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from isa.errors import TilewrightError

_Part = TypeVar("_Part", "Section", "Symbol")
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NOTE = struct.Struct("<III")
_IDENT = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
"""Magic, 64 bits, little-endian, version 1, no particular system."""
_RELOCATABLE, _NO_MACHINE = 1, 0
_GLOBAL_OBJECT = 1 << 4 | 1


class ElfError(TilewrightError):
    """Raised for bytes that are not the ELF file that they should be."""


class SectionType(enum.IntEnum):
    NULL = 0
    PROGBITS = 1
    SYMTAB = 2
    STRTAB = 3
    NOTE = 7
    NOBITS = 8


class Flag(enum.IntFlag):
    NONE = 0
    WRITE = 1
    ALLOC = 2
    EXEC = 4


@dataclass(frozen=True)
class Section:
    """A named run of bytes, or (``NOBITS``) a size without any."""

    name: str
    data: bytes = b""
    type: SectionType = SectionType.PROGBITS
    flags: Flag = Flag.NONE
    align: int = 1
    entry_size: int = 0
    size: int = 0
    """The size of a ``NOBITS`` section; elsewhere the length of ``data`` counts."""
    link: int = 0
    info: int = 0

    @property
    def length(self) -> int:
        return self.size if self.type is SectionType.NOBITS else len(self.data)


@dataclass(frozen=True)
class Symbol:
    """A name for ``size`` bytes at ``offset`` of a section."""

    name: str
    section: str
    offset: int
    size: int


def note(owner: str, kind: int, description: bytes) -> bytes:
    """The content of a ``NOTE`` section with one note."""
    name = owner.encode() + b"\0"
    return _NOTE.pack(len(name), len(description), kind) + _padded(name) + _padded(description)


def note_description(content: bytes, owner: str, kind: int) -> bytes | None:
    """The description of the section's first note, or None if that has another owner or kind."""
    expected = owner.encode() + b"\0"
    if len(content) < _NOTE.size + len(_padded(expected)):
        return None
    name_size, size, found = _NOTE.unpack_from(content)
    start = _NOTE.size + len(_padded(expected))
    if name_size != len(expected) or found != kind or not content.startswith(expected, _NOTE.size):
        return None
    return content[start : start + size] if start + size <= len(content) else None


def write(sections: Sequence[Section], symbols: Sequence[Symbol]) -> bytes:
    """The bytes of the file: header, contents in the order given, symbol and string tables, and the section headers at the
    end."""
    number = {section.name: index for index, section in enumerate(sections, start=1)}
    names = _Strings()
    entries = [_SYMBOL.pack(0, 0, 0, 0, 0, 0)]
    entries += [_SYMBOL.pack(names.add(s.name), _GLOBAL_OBJECT, 0, number[s.section], s.offset, s.size) for s in symbols]
    symtab_link = len(sections) + 2
    tables = [
        Section(".symtab", b"".join(entries), SectionType.SYMTAB, align=8, entry_size=_SYMBOL.size, link=symtab_link, info=1),
        Section(".strtab", names.content, SectionType.STRTAB),
    ]
    titles = _Strings()
    everything = [*sections, *tables]
    places = [titles.add(section.name) for section in everything]
    places.append(titles.add(".shstrtab"))
    everything.append(Section(".shstrtab", titles.content, SectionType.STRTAB))

    body = bytearray(_HEADER.size)
    headers = [_SECTION.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)]
    for section, place in zip(everything, places, strict=True):
        body += bytes(-len(body) % section.align)
        headers.append(
            _SECTION.pack(
                place, section.type, section.flags, 0, len(body), section.length,
                section.link, section.info, section.align, section.entry_size,
            )
        )  # fmt: skip
        body += section.data
    body += bytes(-len(body) % 8)
    _HEADER.pack_into(
        body, 0, _IDENT, _RELOCATABLE, _NO_MACHINE, 1, 0, 0, len(body), 0,
        _HEADER.size, 0, 0, _SECTION.size, len(headers), len(headers) - 1,
    )  # fmt: skip
    return bytes(body) + b"".join(headers)


def read(blob: bytes) -> tuple[list[Section], list[Symbol]]:
    """Returns sections (without the symbol and string tables) and symbols; raises ``ElfError`` if the file is wrong."""
    if not blob.startswith(_IDENT[:4]):
        raise ElfError(f"not an ELF file: it begins with {blob[:4]!r}, expected {_IDENT[:4]!r}")
    if len(blob) < _HEADER.size:
        raise ElfError(f"truncated: {len(blob)} bytes, and the ELF header alone has {_HEADER.size}")
    ident, kind, _, _, _, _, start, _, _, _, _, entry, count, titles_index = _HEADER.unpack_from(blob)
    if ident[:7] != _IDENT[:7] or kind != _RELOCATABLE or entry != _SECTION.size:
        raise ElfError("an ELF file of another kind: expected a 64-bit, little-endian, relocatable one")
    if start + count * entry > len(blob):
        raise ElfError(f"truncated: {len(blob)} bytes of {start + count * entry}")
    raw = [_SECTION.unpack_from(blob, start + index * entry) for index in range(count)]
    if not 0 < titles_index < count:
        raise ElfError("damaged: the table of section names is missing")
    titles = _content(blob, raw[titles_index])
    named = _within((_section(blob, fields, titles) for fields in raw), lambda section: len(section.name), len(blob))
    sections = list(_within(named, lambda section: len(section.data), len(blob)))
    tables = (section for section in sections if section.type is SectionType.SYMTAB)
    found = (symbol for table in tables for symbol in _symbols(table, sections))
    symbols = list(_within(found, lambda symbol: len(symbol.name), len(blob)))
    return [s for s in sections if s.type not in (SectionType.NULL, SectionType.SYMTAB, SectionType.STRTAB)], symbols


def _within(parts: Iterable[_Part], length: Callable[[_Part], int], most: int) -> Iterator[_Part]:
    """Yields the parts as long as all together are no longer than their file, so that none lies in the place of another."""
    total = 0
    for part in parts:
        total += length(part)
        if total > most:
            raise ElfError(f"damaged: its parts share bytes: together they have more than the {most} of the file")
        yield part


def _section(blob: bytes, fields: tuple[int, ...], titles: bytes) -> Section:
    name, kind, flags, _, _, size, link, info, align, entry_size = fields
    if kind not in {int(known) for known in SectionType}:
        raise ElfError(f"damaged: a section of unknown type {kind}")
    data = _content(blob, fields) if kind not in (SectionType.NOBITS, SectionType.NULL) else b""
    return Section(_string(titles, name), data, SectionType(kind), Flag(flags), align, entry_size, size, link, info)


def _content(blob: bytes, fields: tuple[int, ...]) -> bytes:
    offset, size = fields[4], fields[5]
    if offset + size > len(blob):
        raise ElfError(f"truncated: a section ends at byte {offset + size}, the file has {len(blob)}")
    return blob[offset : offset + size]


def _symbols(table: Section, sections: list[Section]) -> Iterator[Symbol]:
    if len(table.data) % _SYMBOL.size or table.link >= len(sections):
        raise ElfError("damaged: the symbol table is not one")
    names = sections[table.link].data
    for name, _, _, index, offset, size in list(_SYMBOL.iter_unpack(table.data))[1:]:
        if index >= len(sections):
            raise ElfError(f"damaged: a symbol lies in section {index} of {len(sections)}")
        yield Symbol(_string(names, name), sections[index].name, offset, size)


def _string(table: bytes, start: int) -> str:
    end = table.find(b"\0", start)
    if end < 0:
        raise ElfError("damaged: a name lies outside its table")
    try:
        return table[start:end].decode()
    except UnicodeDecodeError:
        raise ElfError(f"damaged: a name is not UTF-8: {table[start:end]!r}") from None


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


class _Strings:
    """A string table that grows. Offset 0 is the empty name."""

    def __init__(self) -> None:
        self._content = bytearray(1)

    @property
    def content(self) -> bytes:
        return bytes(self._content)

    def add(self, name: str) -> int:
        start = len(self._content)
        self._content += name.encode() + b"\0"
        return start
