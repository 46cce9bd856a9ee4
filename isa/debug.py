"""The layer and the tile of each instruction: the debug records of a program and their compact form."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from isa.errors import TilewrightError, printable

_RECORD = struct.Struct("<IIi")
_NO_TILE = -1


class DebugError(TilewrightError):
    """Raised for debug records that cannot be read."""


@dataclass(frozen=True)
class DebugRecord:
    """The origin of one instruction."""

    pc: int
    """The word offset of the instruction in the program."""
    layer: str
    tile: int | None = None
    """The tile, or None for work for the whole layer, such as loading its weights."""

    def __str__(self) -> str:
        layer = printable(self.layer)
        return layer if self.tile is None else f"{layer} tile {self.tile}"


def pack(records: Sequence[DebugRecord]) -> tuple[bytes, bytes]:
    """The table, 12 bytes for each record (word offset, number of the layer, tile), and the layers' names, each ended by 0."""
    layers: dict[str, int] = {}
    table = bytearray()
    for record in records:
        layer = layers.setdefault(record.layer, len(layers))
        table += _RECORD.pack(record.pc, layer, _NO_TILE if record.tile is None else record.tile)
    return bytes(table), b"".join(name.encode() + b"\0" for name in layers)


def unpack(table: bytes, names: bytes) -> tuple[DebugRecord, ...]:
    """The records of ``pack``."""
    if len(table) % _RECORD.size or (names and not names.endswith(b"\0")):
        raise DebugError("damaged: the debug records end in the middle of one")
    layers = names.decode(errors="replace").split("\0")[:-1]
    records = []
    for pc, layer, tile in _RECORD.iter_unpack(table):
        if layer >= len(layers):
            raise DebugError(f"damaged: a debug record names layer {layer} of {len(layers)}")
        records.append(DebugRecord(pc, layers[layer], None if tile == _NO_TILE else tile))
    return tuple(records)
