"""The settings of MISC's arithmetic, and the layouts between its parts."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Value, signed, unsigned
from amaranth.lib import data

from isa.config import MachineConfig
from isa.instructions import MISC_ALONE, MISC_REDUCTIONS, MiscMode

SETTINGS = data.StructLayout({
    "reads_b": unsigned(1),
    "reduces": unsigned(1),
    "highest": unsigned(1),
    "multiplies": unsigned(1),
    "by_sign": unsigned(1),
    "uses_y": unsigned(1),
    "compares": unsigned(1),
    "picks_less": unsigned(1),
    "a_zp": signed(8),
    "b_zp": signed(8),
    "b_one": unsigned(1),
    "b_lane": unsigned(6),
    "last_lanes": unsigned(7),
    "m_a": signed(26),
    "m_b": signed(26),
    "constant": signed(48),
    "shift": unsigned(6),
    "zp": signed(8),
    "lo": signed(8),
    "hi": signed(8),
    "act": unsigned(2),
    "table": unsigned(2),
})
"""An instruction's settings, in a form in which all modes are one computation: two factors, two products, their sum.

``multiplies``: the first factor is ``x * y``; with ``by_sign`` only for negative ``x``, else ``x`` is multiplied by ``m_b``.
``reduces``: the first factor is the result of the lanes and loop 4, their sum or (``highest``) their maximum. Otherwise the
first factor is ``x``. ``uses_y``: ``y`` is multiplied by ``m_b``. ``compares``: one of the products goes on instead of the sum,
the greater or (``picks_less``) the smaller one.
"""

_FIELDS = ("a_zp", "b_zp", "b_one", "b_lane", "last_lanes", "m_a", "m_b", "shift", "zp", "lo", "hi", "act", "table")


def is_one_of(mode: Value, *modes: MiscMode) -> Value:
    return Cat(mode == one.value for one in modes).any()


def settings_of(op: Any) -> dict[str, Value]:
    """The ``SETTINGS`` of an instruction with these fields."""
    mode = op.mode
    return {
        "reads_b": ~is_one_of(mode, *MISC_ALONE),
        "reduces": is_one_of(mode, *MISC_REDUCTIONS),
        "highest": mode == MiscMode.HIGHEST.value,
        "multiplies": is_one_of(mode, MiscMode.MUL, MiscMode.SLOPE),
        "by_sign": mode == MiscMode.SLOPE.value,
        "uses_y": is_one_of(mode, MiscMode.ADD, MiscMode.MAX, MiscMode.MIN),
        "compares": is_one_of(mode, MiscMode.MAX, MiscMode.MIN),
        "picks_less": mode == MiscMode.MIN.value,
        "constant": Cat(op.c_lo, op.c_hi).as_signed(),
        **{name: getattr(op, name) for name in _FIELDS},
    }


def slice_layout(config: MachineConfig) -> data.StructLayout:
    """``misc_lanes`` lanes of a word of each operand.

    ``one`` is the lane of B that all lanes see if ``b_one``. ``used`` marks the lanes that a reduction counts. ``part`` is the
    number of the slice in the word, and ``ends`` marks the last one. ``opens`` and ``closes`` mark the first and the last slice
    that a reduction takes in.
    """
    lanes = data.ArrayLayout(signed(8), config.misc_lanes)
    return data.StructLayout({
        "valid": unsigned(1),
        "a": lanes,
        "b": lanes,
        "one": signed(8),
        "used": unsigned(config.misc_lanes),
        "part": unsigned(max(1, (config.misc_parts - 1).bit_length())),
        "ends": unsigned(1),
        "opens": unsigned(1),
        "closes": unsigned(1),
    })
