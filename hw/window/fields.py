"""The widths of the numbers of a window, as the instruction table has them."""

from __future__ import annotations

from amaranth import Shape

from hw.interfaces import field_shape
from isa.config import MachineConfig
from isa.instructions import BY_NAME

_FIELDS = BY_NAME["CONV"].fields


def shape_of(config: MachineConfig, name: str) -> Shape:
    """The shape of a field that CONV and POOL share."""
    return field_shape(_FIELDS[name], config)


def greatest(name: str) -> int:
    """The greatest number that the field holds."""
    return int((1 << _FIELDS[name].bits) - 1)


def shapes_of(config: MachineConfig, *names: str) -> dict[str, Shape]:
    return {name: shape_of(config, name) for name in names}
