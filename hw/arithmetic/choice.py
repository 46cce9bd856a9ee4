"""One of several values."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Array, Value
from amaranth.hdl import ValueLike


def pick(options: Sequence[ValueLike], index: Value) -> Value:
    """The option at ``index``. An element of an array by its number is the same, and costs a shifter of the whole array
    where its width is no power of two."""
    return Value.cast(options[0] if len(options) == 1 else Array(options)[index])
