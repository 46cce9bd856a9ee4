"""Chooses one of several values."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Array, Mux, Value
from amaranth.hdl import ValueLike


def pick(options: Sequence[ValueLike], index: Value) -> Value:
    """The option at ``index``. Amaranth's indexing of an array by a number gives the same, but costs a shifter of the whole
    array where its width is not a power of two."""
    return Value.cast(options[0] if len(options) == 1 else Array(options)[index])


def pick_by_halves(options: Sequence[ValueLike], index: Value) -> Value:
    """The same as ``pick``, but as a tree. Synthesis decodes the index of ``pick``, which may take twice the LUTs of a tree for
    long words and more than four options."""
    if len(options) == 1:
        return Value.cast(options[0])
    bit = (len(options) - 1).bit_length() - 1
    low, high = options[: 1 << bit], options[1 << bit :]
    return Mux(index[bit], pick_by_halves(high, index[:bit]), pick_by_halves(low, index[:bit]))
