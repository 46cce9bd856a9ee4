"""The layouts of the data that the parts of the window hand to each other."""

from __future__ import annotations

from typing import Any

from amaranth import signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out
from amaranth.utils import bits_for

from hw.interfaces import TICKET_BITS
from hw.window.fields import greatest, shape_of, shapes_of
from hw.window.pixels import Widths, pixel_layout
from isa.config import MachineConfig

_REACH = bits_for(max(greatest("k_h") * greatest("d_y"), greatest("k_w") * greatest("d_x")))
"""The bits of the distance from the first tap of a window to another."""

FLAGS = ("first", "last", "last_of_outer", "last_of_instruction")
"""The flags that tell where a step stands: the first or the last of a reduction, the last of an outer iteration or of the
instruction."""


def marks_of(taps: int) -> dict[str, int]:
    """The bits of the marks of a step: ``FLAGS``, and, if it may take several ``taps``, how many it takes and whether these are
    side by side."""
    return dict.fromkeys(FLAGS, 1) | ({"count": taps.bit_length(), "side_by_side": 1} if taps > 1 else {})


def taps_layout(config: MachineConfig, taps: int = 1) -> data.StructLayout:
    """The fields of an instruction that are still needed once the output pixels are known.

    With more than one of ``taps`` in a step: whether the instruction may take ``several``, and whether pixels and taps of a row
    are ``neighbours`` (both steps are 1, or there is one pixel lane). With ``act16``: whether channel vectors come in twos
    (``x16``), and the padding of the first of the two.
    """
    several: dict[str, Any] = {"several": 1, "neighbours": 1} if taps > 1 else {}
    return data.StructLayout({
        **shapes_of(config, "i_addr", "i_ring", "t_ys", "i_h", "i_w", "k_h", "k_w", "d_y", "d_x"),
        "outer_period": 12,
        "outer_step": config.fm_address_bits,
        "inner": shape_of(config, "vectors"),
        "inner_step": shape_of(config, "i_cs"),
        "pad_value": shape_of(config, "pad_value"),
        "ticket": TICKET_BITS,
        **several,
        **({"x16": 1, "pad_low": signed(8)} if config.act16 else {}),
    })


def window_layout(config: MachineConfig, taps: int = 1) -> data.StructLayout:
    """A window walk. Its fields are those of the instruction, and those of two loops around and inside it.

    ``outer`` iterations are the outermost loop. After every ``outer_period`` of them (0: never) the input moves on by
    ``outer_step`` words. ``inner`` channel vectors are the innermost loop, ``inner_step`` words apart.
    """
    return data.StructLayout({
        **taps_layout(config, taps).members,
        **shapes_of(config, "i_off", "i_ys", "pad_t", "pad_l", "s_y", "s_x", "o_h", "o_w"),
        "outer": 12,
    })


class TapSignature(wiring.Signature):
    """A step between the loop over taps and the addresses: its pixels, and the distance of its tap from their first one. The
    distance is in words (``row``, and ``offset`` from the column), rows (``y``) and columns (``x``). ``low``: the step reads
    low bytes of inputs of 16 bits."""

    def __init__(self, config: MachineConfig, lanes: int, taps: int = 1) -> None:
        address = config.fm_address_bits
        shapes = {
            "valid": 1,
            "pixels": data.ArrayLayout(pixel_layout(Widths.of_input(config)), lanes),
            "settings": taps_layout(config, taps),
            "row": address,
            "y": _REACH,
            "x": _REACH,
            "offset": address,
            **({"low": 1} if config.act16 else {}),
            **marks_of(taps),
        }
        super().__init__({name: Out(shape) for name, shape in shapes.items()})


def step_layout(config: MachineConfig, lanes: int, taps: int = 1) -> data.StructLayout:
    """A step of ``lanes`` pixels. A port reads a word, or it reads nothing and sees ``pad_value``."""
    word = data.StructLayout({"read": unsigned(1), "addr": unsigned(config.fm_address_bits)})
    return data.StructLayout({
        "lanes": data.ArrayLayout(word, lanes + taps - 1),
        "pad_value": signed(8),
        "ticket": unsigned(TICKET_BITS),
        **marks_of(taps),
    })
