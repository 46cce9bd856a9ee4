"""Reads a PNG of 8-bit RGBA pixels, as far as the tests need it."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def read_rgba(path: Path) -> NDArray[np.uint8]:
    data, position, packed = path.read_bytes(), 8, b""
    width = height = 0
    while position < len(data):
        length, kind = struct.unpack(">I4s", data[position : position + 8])
        body = data[position + 8 : position + 8 + length]
        position += 12 + length
        if kind == b"IHDR":
            width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", body)
            assert (depth, colour) == (8, 6)
        elif kind == b"IDAT":
            packed += body
    raw = zlib.decompress(packed)
    pitch = 4 * width + 1
    rows = [bytearray(4 * width + 4)]
    for y in range(height):
        row = bytearray(4) + bytearray(raw[y * pitch + 1 : (y + 1) * pitch])
        above = rows[-1]
        for i in range(4, len(row)):
            left, up, corner = row[i - 4], above[i], above[i - 4]
            row[i] = (row[i] + _predicted(raw[y * pitch], left, up, corner)) & 255
        rows.append(row)
    return np.array([np.frombuffer(row[4:], np.uint8) for row in rows[1:]]).reshape(height, width, 4)


def _predicted(method: int, left: int, up: int, corner: int) -> int:
    if method == 4:
        distance = {left: abs(up - corner), up: abs(left - corner), corner: abs(left + up - 2 * corner)}
        return min((left, up, corner), key=distance.__getitem__)
    return (0, left, up, (left + up) // 2)[method]
