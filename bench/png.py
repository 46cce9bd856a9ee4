"""Reads a picture: eight bits per channel, not interlaced, which is what the test pictures are."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
"""The channels of each colour type."""


def read_png(path: Path) -> NDArray[np.uint8]:
    """The picture, height x width x channels."""
    data, packed = path.read_bytes(), b""
    assert data.startswith(b"\x89PNG\r\n\x1a\n"), f"{path} is no PNG file"
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    assert (depth, interlaced) == (8, 0), f"{path}: only 8 bits per channel without interlacing are read"
    at = 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    channels = CHANNELS[colour]
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    return _unfiltered(rows, channels).reshape(height, width, channels)


def _unfiltered(rows: NDArray[np.uint8], channels: int) -> NDArray[np.uint8]:
    """Undoes the prediction of each row from its left, upper and upper left neighbours."""
    above = np.zeros(rows.shape[1] - 1 + channels, np.int64)
    result = np.zeros((len(rows), rows.shape[1] - 1), np.uint8)
    for number, row in enumerate(rows):
        kind, line = int(row[0]), np.concatenate([np.zeros(channels, np.int64), row[1:].astype(np.int64)])
        for i in range(channels, len(line)):
            a, b, c = int(line[i - channels]), int(above[i]), int(above[i - channels])
            line[i] = (line[i] + (0, a, b, (a + b) // 2, _paeth(a, b, c))[kind]) & 255
        result[number] = line[channels:]
        above = line
    return result


def _paeth(a: int, b: int, c: int) -> int:
    """The neighbour nearest to ``a + b - c``."""
    return min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
