"""How wide the numbers of a window are: as the instruction table says."""

from __future__ import annotations

from amaranth import Shape, signed, unsigned

from isa.instructions import BY_NAME

_FIELDS = BY_NAME["CONV"].fields


def shape_of(name: str) -> Shape:
    """The shape of a field that CONV and POOL share."""
    field = _FIELDS[name]
    return signed(field.bits) if field.signed else unsigned(field.bits)


def greatest(name: str) -> int:
    """The greatest number that the field holds."""
    return int((1 << _FIELDS[name].bits) - 1)


def shapes_of(*names: str) -> dict[str, Shape]:
    return {name: shape_of(name) for name in names}
