"""Finds whether an ONNX model says that bytes of it lie in other files. It reads the wire format, so that nothing else is
needed."""

from __future__ import annotations

from collections.abc import Iterator

_TENSOR = "tensor"
_FIELDS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: _TENSOR, 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: _TENSOR, 6: "graph", 10: _TENSOR, 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: _TENSOR, 2: _TENSOR},
    _TENSOR: {},
}
"""For each message the fields that lead to tensors, and what they hold (``onnx.proto``)."""
_NAME, _EXTERNAL_DATA, _DATA_LOCATION = 8, 13, 14
_ORT_FORMAT = b"ORTM"
"""The bytes from byte 4 on of a model in onnxruntime's own format, which onnxruntime takes, too."""
_VARINT, _FIXED64, _BYTES, _START, _END, _FIXED32 = range(6)


def reads_files(model: bytes) -> str | None:
    """The part of the model that would be read from a file, or None. Bytes that are no model are for onnxruntime to refuse."""
    if model[4:8] == _ORT_FORMAT:
        return "the model is in onnxruntime's own format, which may name files"
    pending: list[tuple[str, memoryview]] = [("model", memoryview(model))]
    while pending:
        kind, message = pending.pop()
        name = ""
        external = False
        for number, value in _fields(message):
            if kind == _TENSOR:
                external |= number == _EXTERNAL_DATA or (number == _DATA_LOCATION and value != 0)
                if number == _NAME and isinstance(value, memoryview):
                    name = bytes(value).decode(errors="replace")
            elif number in _FIELDS[kind] and isinstance(value, memoryview):
                pending.append((_FIELDS[kind][number], value))
        if external:
            return f"tensor {name!r}"
    return None


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The number and value of each field, up to where the message is damaged.

    Fields within a group, which ONNX does not use, are taken for fields of the message. Protocol buffers see 32 bits of a tag.
    """
    place, end = 0, len(message)
    while place < end:
        tag, place = _varint(message, place)
        number, wire = (tag & 0xFFFFFFFF) >> 3, tag & 7
        value: int | memoryview = 0
        if wire == _VARINT:
            value, place = _varint(message, place)
        elif wire in (_FIXED64, _FIXED32):
            place += 8 if wire == _FIXED64 else 4
        elif wire == _BYTES:
            size, place = _varint(message, place)
            value, place = message[place : place + size], place + size
        elif wire not in (_START, _END):
            return
        if place > end:
            return
        yield number, value


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """A number, and where the next field begins. That is beyond the end if the number is cut off."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            break
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    return value, len(message) + 1
